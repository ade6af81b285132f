package ablation

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/bench/internal/server"
)

// depth is how many decisions go in one write: so many that sockets are no part of
// what a script costs.
const depth = 256

// Cost is what a decision by a script costs Redis, in microseconds, in the round in
// which the script took least: what else the machine does only adds.
type Cost struct {
	Name   string
	Script float64            // from the script's start to its end
	Within map[string]float64 // of that, by the command that it gives
	CPU    float64            // of the process, reading and answering the call included
}

// Given is what all commands within the script take.
func (c Cost) Given() (all float64) {
	for _, micros := range c.Within {
		all += micros
	}
	return all
}

// Pipeline is how scripts are run: Decisions a round, over the subjects in a
// pseudo-random walk.
type Pipeline struct {
	Subjects, Rounds, Decisions int
}

// Family is scripts that work on the same states. The first one makes them.
type Family []Script

// Run runs all scripts of all families in every round.
func (p Pipeline) Run(ctx context.Context, s *server.Server, families []Family) (costs [][]Cost, err error) {
	client := redis.NewClient(&redis.Options{Addr: s.Addr(), PoolSize: 1})
	defer func() { err = errors.Join(err, client.Close()) }()
	for f, family := range families {
		costs = append(costs, make([]Cost, len(family)))
		for _, one := range family {
			if err := client.ScriptLoad(ctx, one.Source).Err(); err != nil {
				return nil, fmt.Errorf("%s: %w", one.Name, err)
			}
		}
		if err := send(ctx, client, family[0], p.Subjects, sequence(f)); err != nil {
			return nil, err
		}
	}
	for range p.Rounds {
		for f, family := range families {
			for i, one := range family {
				cost, err := p.lap(ctx, s, client, one, walk(f, p.Subjects))
				if err != nil {
					return nil, err
				}
				if least := &costs[f][i]; least.Name == "" || cost.Script < least.Script {
					*least = cost
				}
			}
		}
	}
	return costs, nil
}

func (p Pipeline) lap(ctx context.Context, s *server.Server, client *redis.Client, one Script, key func() string) (Cost, error) {
	billed, err := s.Bill(ctx)
	if err != nil {
		return Cost{}, err
	}
	before, err := s.Figures(ctx)
	if err != nil {
		return Cost{}, err
	}
	if err := send(ctx, client, one, p.Decisions, key); err != nil {
		return Cost{}, err
	}
	after, err := s.Figures(ctx)
	if err != nil {
		return Cost{}, err
	}
	bill, err := s.Bill(ctx)
	if err != nil {
		return Cost{}, err
	}
	spent, by := bill.Since(billed), float64(p.Decisions)
	cost := Cost{Name: one.Name, Script: micros(spent.Scripts()) / by, CPU: micros(after.CPU-before.CPU) / by, Within: map[string]float64{}}
	for name, command := range spent.Within() {
		cost.Within[name] = micros(command.Time) / by
	}
	return cost, nil
}

func micros(d time.Duration) float64 { return d.Seconds() * 1e6 }

// send has a script make that many decisions, or up to a call more.
func send(ctx context.Context, client *redis.Client, one Script, decisions int, key func() string) error {
	sha, args := digest(one.Source), make([]any, len(one.Args))
	for i, arg := range one.Args {
		args[i] = arg
	}
	for made := 0; made < decisions; {
		pipe := client.Pipeline()
		for sent := 0; sent < depth && made < decisions; sent, made = sent+one.Keys, made+one.Keys {
			keys := make([]string, one.Keys)
			for i := range keys {
				keys[i] = key()
			}
			pipe.EvalSha(ctx, sha, keys, args...)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("run %s: %w", one.Name, err)
		}
	}
	return nil
}

// sequence names the subjects of a family one after the other, walk at random, the
// same way every time.
func sequence(family int) func() string {
	next := -1
	return func() string { next++; return keyOf(family, next) }
}

func walk(family, subjects int) func() string {
	steps := rand.New(rand.NewPCG(1, 1))
	return func() string { return keyOf(family, steps.IntN(subjects)) }
}

// keyOf is as long as a key of the provider's: its form says nothing of a script.
func keyOf(family, subject int) string {
	return "edgelimit:v1:rate:allowed:state:" + fmt.Sprintf("%02d", family) + "-" + pad(subject, 19)
}

func pad(n, length int) string {
	return fmt.Sprintf("%0"+strconv.Itoa(length)+"d", n)
}

func digest(source string) string {
	sum := sha1.Sum([]byte(source))
	return hex.EncodeToString(sum[:])
}
