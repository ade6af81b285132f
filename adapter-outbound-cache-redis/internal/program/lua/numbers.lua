-- Numbers of every program: integers within 2^53-1.
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
