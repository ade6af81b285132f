package programtest

import "github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"

// SetClock takes the time from the last argument, so that a test sets it, and makes
// every lifetime ExtraMillis longer, so that none passes during a test, however
// short it is and however long the server is kept waiting. It is for
// [program.WithClock].
const SetClock = `
local now = tonumber(table.remove(ARGV))
local server = redis
local redis = {call = function(command, key, value, ...)
  if command == 'PEXPIRE' then value = string.format('%.0f', tonumber(value) + 3600000) end
  if key == nil then return server.call(command) end
  if value == nil then return server.call(command, key) end
  return server.call(command, key, value, ...)
end}
`

// ExtraMillis is how much longer a key lives behind SetClock.
const ExtraMillis = 3600000

// The slowest that a server may be between PEXPIRE and PTTL.
const ttlSlackMillis = 50

// Lifetime is what PTTL told of a key that a program behind SetClock wrote.
func Lifetime(pttl int64) int64 {
	if pttl < 0 {
		return pttl
	}
	return pttl - ExtraMillis
}

// TimedBatch is the batch program behind SetClock.
var TimedBatch = program.WithClock(program.RateBatch, SetClock)
