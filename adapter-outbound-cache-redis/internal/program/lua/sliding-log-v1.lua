-- sliding-log, version 1
-- KEYS  1 the outer log (a tenant's, or the only one)  2 the inner log, if there are two
-- ARGV  1 window in microseconds  2 limit of KEYS 1  3 limit of KEYS 2, if there is one
-- Returns status, remaining outer, remaining inner, retry-after, reset-after outer,
-- reset-after inner (milliseconds from the server's now; inner ones 0 without KEYS 2).
-- State: a sorted set a key. A counted call is a member <score>-<n>, scored by its
-- time in microseconds; n tells calls of one microsecond apart.
local WINDOW_MAX = 31622400000000 -- 366 days in microseconds

local window = whole(ARGV[1], 1, WINDOW_MAX)
local layers = {}
for i, key in ipairs(KEYS) do
  layers[i] = {key = key, limit = whole(ARGV[i + 1], 0, MAX)}
end
local outer, inner = layers[1], layers[2]
if #KEYS < 1 or #KEYS > 2 or #ARGV ~= #KEYS + 1 or not (window and outer.limit and (not inner or inner.limit)) then
  return {'INVALID', 0, 0, 0, 0, 0}
end

-- newest is the last counted call's time, 0 for an empty log, nil for a key that is
-- no log.
local function newest(key)
  local kind = redis.call('TYPE', key)
  if type(kind) == 'table' then kind = kind['ok'] end
  if kind == 'none' then return 0 end
  if kind ~= 'zset' then return nil end
  return whole(redis.call('ZRANGE', key, '-1', '-1', 'WITHSCORES')[2] or '0', 0, MAX)
end

local effective = now
for _, layer in ipairs(layers) do
  layer.newest = newest(layer.key)
  if not layer.newest then return {'STATE_INCOMPATIBLE', 0, 0, 0, 0, 0} end
  effective = math.max(effective, layer.newest)
end
if effective - now > window then return {'CLOCK_UNSAFE', 0, 0, 0, 0, 0} end

local function millis(at) return (divide_up(at - now, 1000)) end

local gone = effective - window -- a call of then no longer counts
local retry = now
for _, layer in ipairs(layers) do
  layer.live = redis.call('ZCOUNT', layer.key, string.format('(%.0f', gone), '+inf')
  if layer.limit == 0 then
    retry = math.max(retry, effective + window)
  elseif layer.live >= layer.limit then
    local nth = string.format('-%.0f', layer.limit)
    local score = whole(redis.call('ZRANGE', layer.key, nth, nth, 'WITHSCORES')[2], 0, MAX)
    if not score then return {'STATE_INCOMPATIBLE', 0, 0, 0, 0, 0} end
    retry = math.max(retry, score + window)
  end
end

local status = 'DENIED'
if retry == now then
  status = 'ALLOWED'
  local score = digits(effective)
  -- ZADD of every layer first: it is what a full server refuses.
  for _, layer in ipairs(layers) do
    local same = redis.call('ZCOUNT', layer.key, score, score)
    redis.call('ZADD', layer.key, score, string.format('%.0f-%.0f', effective, same))
    layer.live, layer.newest = layer.live + 1, effective
  end
  for _, layer in ipairs(layers) do
    redis.call('ZREMRANGEBYSCORE', layer.key, '-inf', digits(gone))
    redis.call('PEXPIRE', layer.key, digits(divide_up(window, 1000) + 1000))
  end
end

local reply = {status, 0, 0, millis(retry), 0, 0}
for i, layer in ipairs(layers) do
  reply[i + 1] = math.max(0, layer.limit - layer.live)
  if layer.live > 0 then reply[i + 4] = millis(layer.newest + window) end
end
return reply
