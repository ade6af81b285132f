-- rate-sliding-counter, version 1
-- KEYS  1 state
-- ARGV  1 schema  2 limit  3 window  4 max clock regression  5 cleanup grace
--       6 cost    (durations in milliseconds)
-- Returns status, server now, effective now, limit, remaining, retry-after, reset-at.
-- State: schema, observed, previous and current (units in the window before the
-- window of observed, and in it).
local SCALE = 1000000
local LARGEST = 9007199254 -- MAX / SCALE

local schema = ARGV[1]
local limit = whole(ARGV[2], 1, LARGEST)
local window = whole(ARGV[3], 1, LARGEST)
local regression = whole(ARGV[4], 0, MAX_SPAN)
local grace = whole(ARGV[5], 0, MAX_SPAN)
local cost = whole(ARGV[6], 1, limit or 0)
if #KEYS ~= 1 or #ARGV ~= 6 or schema == '' or not (limit and window and regression and grace and cost) then
  return refuse('INVALID')
end

local fields = load(KEYS[1], schema, 4)
if not fields then return refuse('STATE_INCOMPATIBLE') end
local effective, previous, current = now, 0, 0
if fields['schema'] then
  local observed = whole(fields['observed'], 0, MAX)
  local before = whole(fields['previous'], 0, limit)
  local within = whole(fields['current'], 0, limit)
  if not (observed and before and within) then return refuse('STATE_INCOMPATIBLE') end
  if observed - now > regression then return clock_unsafe(observed, regression, limit) end
  if now < observed then effective = observed end
  local passed = divide(effective, window) - divide(observed, window)
  if passed == 0 then
    previous, current = before, within
  elseif passed == 1 then
    previous = within
  end
end

local elapsed = math.fmod(effective, window)
local start = effective - elapsed
local weight = divide_up((window - elapsed) * SCALE, window)
local used = divide_up(previous * weight, SCALE) + current

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
redis.call('HSET', KEYS[1], 'schema', schema, 'observed', digits(effective),
  'previous', digits(previous), 'current', digits(current + cost))
redis.call('PEXPIRE', KEYS[1], digits(reset - now + grace))
return {'ALLOWED', now, effective, limit, limit - used - cost, 0, reset}
