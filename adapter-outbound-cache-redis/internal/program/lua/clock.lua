-- The clock of every rate program: Redis TIME, read once, in milliseconds.
local time = redis.call('TIME')
local micros = tonumber(time[2])
local now = tonumber(time[1]) * 1000 + (micros - math.fmod(micros, 1000)) / 1000
