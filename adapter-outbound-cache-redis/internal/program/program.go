package program

import (
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"fmt"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// Program is one Lua text with its manifest. It is immutable.
type Program struct {
	Name        string
	Version     int
	Keys        int // KEYS that a call passes
	Args        int // ARGV that a call passes
	ReplyFields int // elements of the array that it answers; 0: it answers one integer
	Many        int // a call makes up to this many decisions, and each has Keys, Args and ReplyFields; 0: it makes one
	MinRedis    Version
	Source      string
	SHA         string // lower-case hex SHA-1 of Source, as EVALSHA takes it
}

// MinRedis is the oldest server that the programs are tested on.
var MinRedis = Version{Major: 7, Minor: 0}

//go:embed lua/clock.lua
var clock string

//go:embed lua/numbers.lua
var numbers string

//go:embed lua/state.lua
var state string

//go:embed lua/rate-fixed-window-v1.lua
var fixedWindow string

//go:embed lua/rate-sliding-counter-v1.lua
var slidingCounter string

//go:embed lua/rate-token-bucket-v1.lua
var tokenBucket string

//go:embed lua/rate-batch-v1.lua
var rateBatch string

//go:embed lua/clock-micros.lua
var clockMicros string

//go:embed lua/sliding-log-v1.lua
var slidingLog string

//go:embed lua/cache-compare-and-replace-v1.lua
var cacheCompareAndReplace string

// The rate programs.
var (
	FixedWindow    = rate("rate-fixed-window", 6, fixedWindow, clock)
	SlidingCounter = rate("rate-sliding-counter", 6, slidingCounter, clock)
	TokenBucket    = rate("rate-token-bucket", 7, tokenBucket, clock)
)

// SlidingLog and SlidingLogDual are one text, called with one log or with two.
var (
	SlidingLog     = log(1, clockMicros)
	SlidingLogDual = log(2, clockMicros)
)

// CacheCompareAndReplace is the cache's: it answers one integer.
var CacheCompareAndReplace = compile(Program{Name: "cache-compare-and-replace", Version: 1, Keys: 1, Args: 3}, cacheCompareAndReplace)

// RateBatch makes several decisions of one policy: KEYS are one a decision; ARGV are
// what the policy fixes, as its algorithm's program takes it, then one cost a
// decision. It answers an array of what that program alone would answer to each.
var RateBatch = batch(clock)

// MaxBatch is how many decisions one batch makes: while they are made the server
// serves nobody else.
const MaxBatch = 64

// Rates lists the programs of the edge port.
func Rates() []Program { return []Program{FixedWindow, SlidingCounter, TokenBucket} }

// Catalogue lists every program.
func Catalogue() []Program {
	return append(Rates(), RateBatch, SlidingLog, SlidingLogDual, CacheCompareAndReplace)
}

// For is the program of an algorithm.
func For(a ratelimit.Algorithm) Program {
	return ratelimit.MatchAlgorithm(a,
		func(ratelimit.FixedWindow) Program { return FixedWindow },
		func(ratelimit.SlidingWindowCounter) Program { return SlidingCounter },
		func(ratelimit.TokenBucket) Program { return TokenBucket })
}

// WithClock is p behind another clock: Lua that sets the local now, in the unit of
// p's own clock. It is for tests.
func WithClock(p Program, clock string) Program {
	switch p.Name {
	case SlidingLog.Name:
		return log(p.Keys, clock)
	case RateBatch.Name:
		return batch(clock)
	}
	body := map[string]string{
		FixedWindow.Name: fixedWindow, SlidingCounter.Name: slidingCounter, TokenBucket.Name: tokenBucket,
	}[p.Name]
	return rate(p.Name, p.Args, body, clock)
}

// ID is the program's name with its version.
func (p Program) ID() string { return fmt.Sprintf("%s-v%d", p.Name, p.Version) }

func rate(name string, args int, body, clock string) Program {
	return compile(Program{Name: name, Version: 1, Keys: 1, Args: args, ReplyFields: 7}, clock+numbers+state+body)
}

func batch(clock string) Program {
	return compile(Program{Name: "rate-batch", Version: 1, Keys: 1, Args: 1, ReplyFields: 7, Many: MaxBatch}, clock+numbers+state+rateBatch)
}

func log(layers int, clock string) Program {
	return compile(Program{Name: "sliding-log", Version: 1, Keys: layers, Args: layers + 1, ReplyFields: 6}, clock+numbers+slidingLog)
}

func compile(p Program, source string) Program {
	sum := sha1.Sum([]byte(source))
	p.MinRedis, p.Source, p.SHA = MinRedis, source, hex.EncodeToString(sum[:])
	return p
}
