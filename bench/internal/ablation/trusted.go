package ablation

// The names of programs that trust their state, and of the counter.
const (
	Trusted   = "a hash of three fields"
	Packed    = "one string of decimals"
	Binary    = "one string of binary numbers"
	OneNumber = "that, answering one number"
	Counter   = "a counter: INCRBY"
)

// seven is the answer of a program that allows.
const seven = "{'ALLOWED', now, now, limit, math.floor(tokens / 1000), 0, reset}"

// trusting is a token bucket that checks nothing, clamps no clock, writes no schema
// and rounds as floating point does; load and store are its state's.
func trusting(name, load, store, answer string) Script {
	return Script{Name: name, Keys: 1, Args: []string{"100000000", "100000000", "25920000000", "86400000", "1"}, Source: `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local limit, refill, period, grace = ARGV[1] + 0, ARGV[2] + 0, ARGV[3] + 0, ARGV[4] + 0
local capacity, rate = limit * 1000, refill * 1000
local decisions = {}
for i, key in ipairs(KEYS) do
  local price = ARGV[4 + i] * 1000
  local tokens, remainder = capacity, 0
  ` + load + `
  if observed then
    local gained = (now - observed) * rate + left
    remainder = math.fmod(gained, period)
    tokens = math.min(capacity, held + (gained - remainder) / period)
  end
  if price > tokens then
    decisions[i] = {'DENIED', now, now, limit, math.floor(tokens / 1000), math.ceil((price - tokens) * period / rate), now + math.ceil((capacity - tokens) * period / rate)}
  else
    tokens = tokens - price
    local reset = now + math.ceil((capacity - tokens) * period / rate)
    ` + store + `
    decisions[i] = ` + answer + `
  end
end
if #KEYS == 1 then return decisions[1] end
return decisions`}
}

// Trusting are token buckets that trust their state, each giving up more than the one
// before: a hash without its schema, the same numbers in one string as decimals and
// then as nobody reads them, and an answer of nothing but what remains.
func Trusting() []Script {
	const (
		loadBinary = `local text = redis.call('GET', key)
  local observed, held, left
  if text then observed, held, left = struct.unpack('>ddd', text) end`
		storeBinary = `redis.call('SET', key, struct.pack('>ddd', now, tokens, remainder), 'PX', string.format('%.0f', reset - now + grace))`
	)
	return []Script{
		trusting(Trusted,
			`local fields = redis.call('HMGET', key, 'observed', 'tokens', 'remainder')
  local observed, held, left = fields[1], fields[2], fields[3]`,
			`redis.call('HSET', key, 'observed', string.format('%.0f', now), 'tokens', string.format('%.0f', tokens), 'remainder', string.format('%.0f', remainder))
    redis.call('PEXPIRE', key, string.format('%.0f', reset - now + grace))`, seven),
		trusting(Packed,
			`local text = redis.call('GET', key)
  local observed, held, left
  if text then observed, held, left = string.match(text, '(%d+) (%d+) (%d+)') end`,
			`redis.call('SET', key, string.format('%.0f %.0f %.0f', now, tokens, remainder), 'PX', string.format('%.0f', reset - now + grace))`, seven),
		trusting(Binary, loadBinary, storeBinary, seven),
		trusting(OneNumber, loadBinary, storeBinary, "math.floor(tokens / 1000)"),
	}
}

// Counters is the least that limits at all, for as many keys as it is given.
func Counters() Script {
	return Script{Name: Counter, Keys: 1, Args: []string{"86400000", "1"}, Source: `
local counts = {}
for i, key in ipairs(KEYS) do
  local n = redis.call('INCRBY', key, ARGV[1 + i])
  if n == ARGV[1 + i] + 0 then redis.call('PEXPIRE', key, ARGV[1]) end
  counts[i] = n
end
return counts`}
}
