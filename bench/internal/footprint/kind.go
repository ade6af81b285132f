package footprint

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/bench/internal/contender"
	"github.com/edgelimit/edgelimit/bench/internal/server"
)

// Kind is one way to keep a subject's state under one key, and what that takes.
type Kind struct {
	Name  string
	Bytes float64 // of used_memory, by the subject
	Usage int64   // what MEMORY USAGE says of one key: without its TTL and the tables
}

// State is what a contender keeps of a subject after its first decision: a hash's
// fields and values in turn, by the fields' names, or one string.
type State struct {
	Key  string
	Hash []string
	Text string
}

// StateOf has a contender decide once, on an emptied server, and reads what it kept.
func StateOf(ctx context.Context, s *server.Server, c contender.Contender) (state State, err error) {
	if err := s.Flush(ctx); err != nil {
		return State{}, err
	}
	if err := fill(ctx, s, c, contender.Names(1)); err != nil {
		return State{}, fmt.Errorf("the state of %s: %w", c.Name, err)
	}
	client := redis.NewClient(&redis.Options{Addr: s.Addr()})
	defer func() { err = errors.Join(err, client.Close()) }()
	keys, err := client.Keys(ctx, "*").Result()
	keys = slices.DeleteFunc(keys, func(key string) bool { return strings.Contains(key, ":probe:") })
	if err != nil || len(keys) != 1 {
		return State{}, fmt.Errorf("the keys of %s are %q and not one: %w", c.Name, keys, err)
	}
	state.Key = keys[0]
	kind, err := client.Type(ctx, state.Key).Result()
	if err != nil {
		return State{}, err
	}
	if kind != "hash" {
		state.Text, err = client.Get(ctx, state.Key).Result()
		return state, err
	}
	fields, err := client.HGetAll(ctx, state.Key).Result()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		state.Hash = append(state.Hash, name, fields[name])
	}
	return state, err
}

// Renamed is a hash with names of one letter.
func (s State) Renamed() State {
	s.Hash = slices.Clone(s.Hash)
	for i := 0; i < len(s.Hash); i += 2 {
		s.Hash[i] = s.Hash[i][:1]
	}
	return s
}

// Without is a hash less a field.
func (s State) Without(field string) State {
	var kept []string
	for i := 0; i < len(s.Hash); i += 2 {
		if s.Hash[i] != field {
			kept = append(kept, s.Hash[i], s.Hash[i+1])
		}
	}
	s.Hash = kept
	return s
}

// Packed is a hash's values in one string, a space between them.
func (s State) Packed() State {
	var values []string
	for i := 1; i < len(s.Hash); i += 2 {
		values = append(values, s.Hash[i])
	}
	return State{Key: s.Key, Text: strings.Join(values, " ")}
}

// TTL is whether keys have one.
type TTL string

// The two.
const (
	Mortal  TTL = "with a TTL"
	Forever TTL = "without a TTL"
)

const (
	kindTTL = 24 * time.Hour
	inOne   = 1000 // keys of one write
)

// MeasureKind keeps a state for each of that many subjects, on an emptied server. All
// keys are as long as length says.
func MeasureKind(ctx context.Context, s *server.Server, name string, state State, ttl TTL, length, subjects int) (Kind, error) {
	if err := s.Flush(ctx); err != nil {
		return Kind{}, err
	}
	before, err := settled(ctx, s)
	if err != nil {
		return Kind{}, err
	}
	usage, err := keepAll(ctx, s, state, ttl, length, subjects)
	if err != nil {
		return Kind{}, fmt.Errorf("keep %s: %w", name, err)
	}
	after, err := settled(ctx, s)
	return Kind{Name: name, Bytes: float64(after-before) / float64(subjects), Usage: usage}, err
}

// keepAll returns what one key uses, once its connection has gone.
func keepAll(ctx context.Context, s *server.Server, state State, ttl TTL, length, subjects int) (usage int64, err error) {
	client := redis.NewClient(&redis.Options{Addr: s.Addr(), PoolSize: 1})
	for first := 0; first < subjects && err == nil; first += inOne {
		pipe := client.Pipeline()
		for i := first; i < min(first+inOne, subjects); i++ {
			keep(ctx, pipe, numbered(i, length), state, ttl)
		}
		_, err = pipe.Exec(ctx)
	}
	if err == nil {
		usage, err = client.MemoryUsage(ctx, numbered(0, length)).Result()
	}
	if err := errors.Join(err, client.Close()); err != nil {
		return 0, err
	}
	return usage, alone(ctx, s)
}

func keep(ctx context.Context, pipe redis.Pipeliner, key string, state State, ttl TTL) {
	if len(state.Hash) > 0 {
		pipe.HSet(ctx, key, state.Hash)
	} else {
		pipe.Set(ctx, key, state.Text, 0)
	}
	if ttl == Mortal {
		pipe.PExpire(ctx, key, kindTTL)
	}
}

func numbered(n, length int) string { return fmt.Sprintf("%0"+strconv.Itoa(length)+"d", n) }
