package duallog

import (
	"strconv"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
)

// SetClock makes l take the time from now, in microseconds, and keep its logs for
// an hour more than it would.
func (l *RedisLimiter) SetClock(now func() int64) {
	const clock = `
local now = tonumber(table.remove(ARGV))
local server = redis
local redis = {call = function(command, key, value, ...)
  if command == 'PEXPIRE' then value = string.format('%.0f', tonumber(value) + 3600000) end
  if value == nil then return server.call(command, key) end
  return server.call(command, key, value, ...)
end}
`
	l.single, l.dual = program.WithClock(program.SlidingLog, clock), program.WithClock(program.SlidingLogDual, clock)
	l.more = func() []string { return []string{strconv.FormatInt(now(), 10)} }
}
