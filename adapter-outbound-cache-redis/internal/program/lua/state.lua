-- The frame of every rate program, between the clock (which sets now) and the
-- algorithm. Numbers are integers within 2^53-1 throughout.
local MAX = 9007199254740991
local MAX_SPAN = 31622400000 -- 366 days in milliseconds

-- whole reads a canonical decimal within [low, high]; nil is anything else.
local function whole(text, low, high)
  if type(text) ~= 'string' or #text > 16 or not string.find(text, '^%d+$') then return nil end
  if #text > 1 and string.byte(text) == 48 then return nil end
  local n = tonumber(text)
  if n < low or n > high then return nil end
  return n
end

local function digits(n) return string.format('%.0f', n) end

-- divide is quotient and remainder; divide_up rounds up without n + d - 1.
local function divide(n, d)
  local rest = math.fmod(n, d)
  return (n - rest) / d, rest
end

local function divide_up(n, d)
  local quotient, rest = divide(n, d)
  if rest > 0 then return quotient + 1 end
  return quotient
end

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
