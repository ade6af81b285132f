-- rate-fixed-window, version 1
-- KEYS  1 state
-- ARGV  1 schema  2 limit  3 window  4 max clock regression  5 cleanup grace
--       6 cost    (durations in milliseconds)
-- Returns status, server now, effective now, limit, remaining, retry-after, reset-at.
-- State: schema, observed, consumed (units in the window of observed).
local schema = ARGV[1]
local limit = whole(ARGV[2], 1, MAX)
local window = whole(ARGV[3], 1, MAX_SPAN)
local regression = whole(ARGV[4], 0, MAX_SPAN)
local grace = whole(ARGV[5], 0, MAX_SPAN)
local cost = whole(ARGV[6], 1, limit or 0)
if #KEYS ~= 1 or #ARGV ~= 6 or schema == '' or not (limit and window and regression and grace and cost) then
  return refuse('INVALID')
end

local fields = load(KEYS[1], schema, 3)
if not fields then return refuse('STATE_INCOMPATIBLE') end
local effective, consumed = now, 0
if fields['schema'] then
  local observed = whole(fields['observed'], 0, MAX)
  local counted = whole(fields['consumed'], 0, limit)
  if not (observed and counted) then return refuse('STATE_INCOMPATIBLE') end
  if observed - now > regression then return clock_unsafe(observed, regression, limit) end
  if now < observed then effective = observed end
  if divide(observed, window) == divide(effective, window) then consumed = counted end
end

local reset = (divide(effective, window) + 1) * window
if cost > limit - consumed then
  return {'DENIED', now, effective, limit, limit - consumed, reset - now, reset}
end
redis.call('HSET', KEYS[1], 'schema', schema, 'observed', digits(effective), 'consumed', digits(consumed + cost))
redis.call('PEXPIRE', KEYS[1], digits(reset - now + grace))
return {'ALLOWED', now, effective, limit, limit - consumed - cost, 0, reset}
