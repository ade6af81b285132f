-- cache-compare-and-replace, version 1
-- KEYS  1 the entry
-- ARGV  1 the token that was observed, 16 bytes  2 the new token and value  3 TTL in
-- milliseconds
-- Returns 1 if the entry was replaced, 0 if it has gone or is of another write.
-- State: a string, the token of its write and then the value.
if redis.call('GETRANGE', KEYS[1], 0, 15) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
