-- rate-token-bucket, version 1
-- KEYS  1 state
-- ARGV  1 schema  2 capacity  3 refill tokens  4 refill period
--       5 max clock regression  6 cleanup grace  7 cost
--       (refill reduced to lowest terms; durations in milliseconds)
-- Returns status, server now, effective now, limit, remaining, retry-after, reset-at.
-- State: schema, observed (also the last refill), tokens (thousandths) and
-- remainder (what the last refill's division left).
local SCALE = 1000
local LARGEST = 9007199254740 -- MAX / SCALE

local schema = ARGV[1]
local limit = whole(ARGV[2], 1, LARGEST)
local refill = whole(ARGV[3], 1, LARGEST)
local period = whole(ARGV[4], 1, MAX_SPAN)
local regression = whole(ARGV[5], 0, MAX_SPAN)
local grace = whole(ARGV[6], 0, MAX_SPAN)
local cost = whole(ARGV[7], 1, limit or 0)

-- filling is the time from empty to full, rounded up, for a refill that passed
-- the bound before it; above MAX_SPAN it need not be exact.
local function filling()
  local periods, rest = divide(limit, refill)
  return periods * period + divide_up(rest * period, refill)
end

if #KEYS ~= 1 or #ARGV ~= 7 or schema == '' or
  not (limit and refill and period and regression and grace and cost) or
  refill * SCALE > divide(MAX, period) - 1 or filling() > MAX_SPAN then
  return refuse('INVALID')
end
local capacity, rate, price = limit * SCALE, refill * SCALE, cost * SCALE

local fields = load(KEYS[1], schema, 4)
if not fields then return refuse('STATE_INCOMPATIBLE') end
local effective, tokens, remainder = now, capacity, 0
if fields['schema'] then
  local observed = whole(fields['observed'], 0, MAX)
  local held = whole(fields['tokens'], 0, capacity)
  local left = whole(fields['remainder'], 0, period - 1)
  if not (observed and held and left) then return refuse('STATE_INCOMPATIBLE') end
  if observed - now > regression then return clock_unsafe(observed, regression, limit) end
  if now < observed then effective = observed end
  -- Refill by whole periods, then by the rest; a full bucket carries no remainder.
  local missing = capacity - held
  local periods, rest = divide(effective - observed, period)
  if periods <= divide(missing, rate) then
    missing = missing - periods * rate
    local gained, carried = divide(rest * rate + left, period)
    if gained < missing then tokens, remainder = capacity - missing + gained, carried end
  end
end

-- wait is ceil((deficit * period - remainder) / rate), by parts.
local function wait(deficit)
  local periods, rest = divide(deficit, rate)
  local due = rest * period - remainder
  if due >= 0 then return periods * period + divide_up(due, rate) end
  return periods * period - divide(-due, rate)
end

if price > tokens then
  local at = effective + wait(price - tokens)
  return {'DENIED', now, effective, limit, divide(tokens, SCALE), at - now, effective + wait(capacity - tokens)}
end
tokens = tokens - price
local reset = effective + wait(capacity - tokens)
redis.call('HSET', KEYS[1], 'schema', schema, 'observed', digits(effective),
  'tokens', digits(tokens), 'remainder', digits(remainder))
redis.call('PEXPIRE', KEYS[1], digits(reset - now + grace))
return {'ALLOWED', now, effective, limit, divide(tokens, SCALE), 0, reset}
