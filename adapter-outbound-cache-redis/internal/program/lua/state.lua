-- State of the rate programs: one hash, and the rule for a clock that steps back.

-- load answers the hash's fields, {} where there is no key, and nil where the
-- key is not a hash of exactly count fields under this schema.
local function load(key, schema, count)
  local kind = redis.call('TYPE', key)
  if type(kind) == 'table' then kind = kind['ok'] end
  if kind == 'none' then return {} end
  if kind ~= 'hash' then return nil end
  local flat = redis.call('HGETALL', key)
  if #flat == 0 then return {} end -- expired since TYPE
  if #flat ~= 2 * count then return nil end
  local fields = {}
  for i = 1, #flat, 2 do fields[flat[i]] = flat[i + 1] end
  if fields['schema'] ~= schema then return nil end
  return fields
end

local function refuse(status) return {status, now, now, 0, 0, 0, 0} end

-- clock_unsafe answers a clock that stepped back by more than is clamped.
local function clock_unsafe(observed, regression, limit)
  local retry = observed - regression - now
  return {'CLOCK_UNSAFE', now, observed, limit, 0, retry, now + retry}
end
