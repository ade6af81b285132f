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
	ReplyFields int // elements of the array that it answers
	MinRedis    Version
	Source      string
	SHA         string // lower-case hex SHA-1 of Source, as EVALSHA takes it
}

// MinRedis is the oldest server that the programs are tested on.
var MinRedis = Version{Major: 7, Minor: 0}

//go:embed lua/clock.lua
var clock string

//go:embed lua/state.lua
var state string

//go:embed lua/rate-fixed-window-v1.lua
var fixedWindow string

//go:embed lua/rate-sliding-counter-v1.lua
var slidingCounter string

//go:embed lua/rate-token-bucket-v1.lua
var tokenBucket string

// The rate programs.
var (
	FixedWindow    = rate("rate-fixed-window", 6, fixedWindow, clock)
	SlidingCounter = rate("rate-sliding-counter", 6, slidingCounter, clock)
	TokenBucket    = rate("rate-token-bucket", 7, tokenBucket, clock)
)

// Catalogue lists every program.
func Catalogue() []Program { return []Program{FixedWindow, SlidingCounter, TokenBucket} }

// For is the program of an algorithm.
func For(a ratelimit.Algorithm) Program {
	return ratelimit.MatchAlgorithm(a,
		func(ratelimit.FixedWindow) Program { return FixedWindow },
		func(ratelimit.SlidingWindowCounter) Program { return SlidingCounter },
		func(ratelimit.TokenBucket) Program { return TokenBucket })
}

// WithClock is p, one of the rate programs, behind another clock: Lua that sets
// the local now. It is for tests.
func WithClock(p Program, clock string) Program {
	body := map[string]string{
		FixedWindow.Name: fixedWindow, SlidingCounter.Name: slidingCounter, TokenBucket.Name: tokenBucket,
	}[p.Name]
	return rate(p.Name, p.Args, body, clock)
}

// ID is the program's name with its version.
func (p Program) ID() string { return fmt.Sprintf("%s-v%d", p.Name, p.Version) }

func rate(name string, args int, body, clock string) Program {
	source := clock + state + body
	sum := sha1.Sum([]byte(source))
	return Program{
		Name: name, Version: 1, Keys: 1, Args: args, ReplyFields: 7, MinRedis: MinRedis,
		Source: source, SHA: hex.EncodeToString(sum[:]),
	}
}
