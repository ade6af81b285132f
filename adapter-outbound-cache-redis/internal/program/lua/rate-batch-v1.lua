-- rate-batch, version 1
-- Several decisions of one policy by one clock, each as its algorithm's program makes
-- it, on the same state. What they share is worked out once.
-- KEYS  1 and on: the states
-- ARGV  1 schema and whatever else the policy fixes, in the order of its algorithm's
--       program; then one cost a key
-- Returns an array of what that program returns, one a key, with the error of a
-- decision that failed in its place. An error instead of the array is from before
-- the first decision.
-- State: that of the algorithm's program.
local keys = #KEYS
local fixed = #ARGV - keys
local schema = ARGV[1]
local call, find, fmod = redis.call, string.find, math.fmod

-- divide is the frame's, without its look for the function.
local function divide(n, d)
  local rest = fmod(n, d)
  return (n - rest) / d, rest
end

-- written is what digits writes, of numbers that come in a row.
local function written()
  local last, text
  return function(n)
    if n ~= last then last, text = n, digits(n) end
    return text
  end
end
local instant, span = written(), written()

-- count is what digits writes, of numbers that are often 0.
local function count(n)
  if n == 0 then return '0' end
  return digits(n)
end

-- number reads what whole reads, of an argument, or of a state's field that may be
-- missing.
local function number(field, low, high)
  if not field or #field > 16 or field ~= '0' and not find(field, '^[1-9]%d*$') then return nil end
  local n = field + 0
  if n < low or n > high then return nil end
  return n
end

-- read answers the numbers of a state under the schema, of as many fields as size: as
-- texts, after whether there is a state; nil where there is something else.
local function read(key, size, second, third)
  local flat = call('HGETALL', key)
  if #flat == 0 then return false end
  if #flat ~= 2 * size then return nil end
  if flat[1] == 'schema' and flat[3] == 'observed' and flat[5] == second and flat[7] == third then
    if flat[2] ~= schema then return nil end
    return true, flat[4], flat[6], flat[8]
  end
  local fields = {} -- not in the order in which the programs write them
  for i = 1, #flat, 2 do fields[flat[i]] = flat[i + 1] end
  if fields['schema'] ~= schema then return nil end
  return true, fields['observed'], fields[second], third and fields[third]
end

local function fixed_window()
  local limit = number(ARGV[2], 1, MAX)
  local window = number(ARGV[3], 1, MAX_SPAN)
  local regression = number(ARGV[4], 0, MAX_SPAN)
  local grace = number(ARGV[5], 0, MAX_SPAN)
  if fixed ~= 5 or not (limit and window and regression and grace) then return nil end
  local present = divide(now, window)

  return limit, function(key, cost)
    local found, observed, consumed = read(key, 3, 'consumed')
    if found == nil then return refuse('STATE_INCOMPATIBLE') end
    local effective, ordinal, counted = now, present, 0
    if found then
      observed, consumed = number(observed, 0, MAX), number(consumed, 0, limit)
      if not (observed and consumed) then return refuse('STATE_INCOMPATIBLE') end
      if observed - now > regression then return clock_unsafe(observed, regression, limit) end
      local last = divide(observed, window)
      if now < observed then effective, ordinal = observed, last end
      if last == ordinal then counted = consumed end
    end

    local reset = (ordinal + 1) * window
    if cost > limit - counted then
      return {'DENIED', now, effective, limit, limit - counted, reset - now, reset}
    end
    if found then
      call('HSET', key, 'observed', instant(effective), 'consumed', digits(counted + cost))
    else
      call('HSET', key, 'schema', schema, 'observed', instant(effective), 'consumed', digits(counted + cost))
    end
    call('PEXPIRE', key, span(reset - now + grace))
    return {'ALLOWED', now, effective, limit, limit - counted - cost, 0, reset}
  end
end

local function sliding_counter()
  local SCALE = 1000000
  local LARGEST = 9007199254 -- MAX / SCALE
  local limit = number(ARGV[2], 1, LARGEST)
  local window = number(ARGV[3], 1, LARGEST)
  local regression = number(ARGV[4], 0, MAX_SPAN)
  local grace = number(ARGV[5], 0, MAX_SPAN)
  if fixed ~= 5 or not (limit and window and regression and grace) then return nil end
  local present, passed = divide(now, window)

  return limit, function(key, cost)
    local found, observed, before, within = read(key, 4, 'previous', 'current')
    if found == nil then return refuse('STATE_INCOMPATIBLE') end
    local effective, ordinal, elapsed, previous, current = now, present, passed, 0, 0
    if found then
      observed, before, within = number(observed, 0, MAX), number(before, 0, limit), number(within, 0, limit)
      if not (observed and before and within) then return refuse('STATE_INCOMPATIBLE') end
      if observed - now > regression then return clock_unsafe(observed, regression, limit) end
      local last, into = divide(observed, window)
      if now < observed then effective, ordinal, elapsed = observed, last, into end
      if last == ordinal then
        previous, current = before, within
      elseif last == ordinal - 1 then
        previous = within
      end
    end

    local start = effective - elapsed
    local used = current
    if previous > 0 then
      used = used + divide_up(previous * divide_up((window - elapsed) * SCALE, window), SCALE)
    end
    if cost > limit - used then
      -- The count that must decay may weigh at most heaviest millionths.
      local decaying, free, gone = previous, limit - cost - current, start + window
      if free < 0 then decaying, free, gone = current, limit - cost, start + 2 * window end
      local heaviest = divide(free * SCALE, decaying)
      local at = gone - divide(heaviest * window, SCALE)
      local reset = start + window
      if current > 0 then reset = reset + window end
      return {'DENIED', now, effective, limit, math.max(0, limit - used), at - now, reset}
    end
    local reset = start + 2 * window
    if found then
      call('HSET', key, 'observed', instant(effective), 'previous', count(previous), 'current', digits(current + cost))
    else
      call('HSET', key, 'schema', schema, 'observed', instant(effective),
        'previous', count(previous), 'current', digits(current + cost))
    end
    call('PEXPIRE', key, span(reset - now + grace))
    return {'ALLOWED', now, effective, limit, limit - used - cost, 0, reset}
  end
end

local function token_bucket()
  local SCALE = 1000
  local LARGEST = 9007199254740 -- MAX / SCALE
  local limit = number(ARGV[2], 1, LARGEST)
  local refill = number(ARGV[3], 1, LARGEST)
  local period = number(ARGV[4], 1, MAX_SPAN)
  local regression = number(ARGV[5], 0, MAX_SPAN)
  local grace = number(ARGV[6], 0, MAX_SPAN)
  if fixed ~= 6 or not (limit and refill and period and regression and grace) or
    refill * SCALE > divide(MAX, period) - 1 then
    return nil
  end
  local periods, rest = divide(limit, refill) -- from empty to full
  if periods * period + divide_up(rest * period, refill) > MAX_SPAN then return nil end
  local capacity, rate = limit * SCALE, refill * SCALE

  -- wait is ceil((deficit * period - remainder) / rate), by parts.
  local function wait(deficit, remainder)
    local periods, rest = divide(deficit, rate)
    local due = rest * period - remainder
    if due >= 0 then return periods * period + divide_up(due, rate) end
    return periods * period - divide(-due, rate)
  end

  return limit, function(key, cost)
    local found, observed, held, left = read(key, 4, 'tokens', 'remainder')
    if found == nil then return refuse('STATE_INCOMPATIBLE') end
    local effective, tokens, remainder = now, capacity, 0
    if found then
      observed, held, left = number(observed, 0, MAX), number(held, 0, capacity), number(left, 0, period - 1)
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

    local price = cost * SCALE
    if price > tokens then
      local at = effective + wait(price - tokens, remainder)
      return {'DENIED', now, effective, limit, divide(tokens, SCALE), at - now, effective + wait(capacity - tokens, remainder)}
    end
    tokens = tokens - price
    local reset = effective + wait(capacity - tokens, remainder)
    if found then
      call('HSET', key, 'observed', instant(effective), 'tokens', digits(tokens), 'remainder', count(remainder))
    else
      call('HSET', key, 'schema', schema, 'observed', instant(effective),
        'tokens', digits(tokens), 'remainder', count(remainder))
    end
    call('PEXPIRE', key, span(reset - now + grace))
    return {'ALLOWED', now, effective, limit, divide(tokens, SCALE), 0, reset}
  end
end

local algorithms = {
  ['fixed-window'] = fixed_window,
  ['sliding-window-counter'] = sliding_counter,
  ['token-bucket'] = token_bucket,
}
local algorithm = keys > 0 and fixed > 0 and algorithms[string.match(schema, '^%d+/([a-z-]+)/%d+$')]
if not algorithm then return redis.error_reply('ERR rate-batch takes the arguments of a policy and one cost a key') end

local limit, decide = algorithm()
local decisions, costs = {}, {}
for i = 1, keys do
  local price = ARGV[fixed + i]
  local cost = costs[price] or limit and number(price, 1, limit)
  if not cost then
    decisions[i] = refuse('INVALID')
  else
    costs[price] = cost
    local made, decision = pcall(decide, KEYS[i], cost)
    if not made then
      if type(decision) ~= 'table' then decision = {err = decision} end
      if find(decision.err or '', '^WRONGTYPE') then decision = refuse('STATE_INCOMPATIBLE') end
    end
    decisions[i] = decision
  end
end
return decisions
