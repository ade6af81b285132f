package cachetest_test

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/cache"
	"github.com/edgelimit/edgelimit/shared-contract/cache/cachetest"
	"github.com/edgelimit/edgelimit/shared-contract/cache/memory"
)

// brokenEnv names the fault with which the test binary runs the suite in place of
// its tests, as the child of a test that wants to see the suite fail.
const brokenEnv = "CACHETEST_BROKEN"

func TestMain(m *testing.M) {
	if fault := os.Getenv(brokenEnv); fault != "" {
		every := func(string, string) (bool, error) { return true, nil }
		testing.Main(every, []testing.InternalTest{{Name: "Broken", F: func(t *testing.T) {
			cachetest.Run(t, harness(t, func(c *memory.Cache) cache.CachePort { return faults[fault](c) }))
		}}}, nil, nil)
	}
	os.Exit(m.Run())
}

func harness(t *testing.T, wrap func(*memory.Cache) cache.CachePort) cachetest.Harness {
	var now time.Duration
	return cachetest.Harness{
		New: func(*testing.T) cache.CachePort {
			c, err := memory.New(memory.Config{MaxEntries: 1000, MaxBytes: 1 << 20, Clock: func() time.Duration { return now }})
			if err != nil {
				t.Fatal(err)
			}
			return wrap(c)
		},
		Pass: func(_ *testing.T, d time.Duration) { now += d },
	}
}

func TestRun_onMemory(t *testing.T) {
	cachetest.Run(t, harness(t, func(c *memory.Cache) cache.CachePort { return c }))
}

// broken is a cache with one method in place of its own.
type broken struct {
	*memory.Cache
	get     func(ctx context.Context, k cache.Key) cache.Reading
	put     func(ctx context.Context, k cache.Key, e cache.Entry) cache.Writing
	absent  func(ctx context.Context, k cache.Key, e cache.Entry) cache.Writing
	replace func(ctx context.Context, k cache.Key, observed cache.Token, e cache.Entry) cache.Writing
}

func (b broken) Get(ctx context.Context, k cache.Key) cache.Reading {
	if b.get != nil {
		return b.get(ctx, k)
	}
	return b.Cache.Get(ctx, k)
}

func (b broken) Put(ctx context.Context, k cache.Key, e cache.Entry) cache.Writing {
	if b.put != nil {
		return b.put(ctx, k, e)
	}
	return b.Cache.Put(ctx, k, e)
}

func (b broken) PutIfAbsent(ctx context.Context, k cache.Key, e cache.Entry) cache.Writing {
	if b.absent != nil {
		return b.absent(ctx, k, e)
	}
	return b.Cache.PutIfAbsent(ctx, k, e)
}

func (b broken) CompareAndReplace(ctx context.Context, k cache.Key, observed cache.Token, e cache.Entry) cache.Writing {
	if b.replace != nil {
		return b.replace(ctx, k, observed, e)
	}
	return b.Cache.CompareAndReplace(ctx, k, observed, e)
}

func hit(r cache.Reading) (cache.Hit, bool) {
	var found cache.Hit
	ok := cache.MatchReading(r, func(h cache.Hit) bool { found = h; return true },
		func(cache.Miss) bool { return false }, func(cache.Unavailable) bool { return false })
	return found, ok
}

// compareThenPut replaces in two steps, so that others come in between.
func compareThenPut(ctx context.Context, c *memory.Cache, k cache.Key, observed cache.Token, e cache.Entry) cache.Writing {
	if k.IsZero() || e.IsZero() || ctx.Err() != nil {
		return c.CompareAndReplace(ctx, k, observed, e)
	}
	if h, ok := hit(c.Get(ctx, k)); !ok || h.Token != observed {
		return c.CompareAndReplace(ctx, k, cache.Token{}, e)
	}
	time.Sleep(time.Millisecond)
	return c.Put(ctx, k, e)
}

var faults = map[string]func(c *memory.Cache) cache.CachePort{
	"put if absent looks, then puts": func(c *memory.Cache) cache.CachePort {
		return broken{Cache: c, absent: func(ctx context.Context, k cache.Key, e cache.Entry) cache.Writing {
			if _, ok := hit(c.Get(ctx, k)); ok {
				return cache.Conflict{}.Writing()
			}
			time.Sleep(time.Millisecond)
			return c.Put(ctx, k, e)
		}}
	},
	"replace compares, then puts": func(c *memory.Cache) cache.CachePort {
		return broken{Cache: c, replace: func(ctx context.Context, k cache.Key, observed cache.Token, e cache.Entry) cache.Writing {
			return compareThenPut(ctx, c, k, observed, e)
		}}
	},
	"replace does not notice a delete meanwhile": func(c *memory.Cache) cache.CachePort {
		var mu sync.Mutex // of all writes but deletes
		alone := func(write func() cache.Writing) cache.Writing {
			mu.Lock()
			defer mu.Unlock()
			return write()
		}
		return broken{Cache: c,
			put: func(ctx context.Context, k cache.Key, e cache.Entry) cache.Writing {
				return alone(func() cache.Writing { return c.Put(ctx, k, e) })
			},
			absent: func(ctx context.Context, k cache.Key, e cache.Entry) cache.Writing {
				return alone(func() cache.Writing { return c.PutIfAbsent(ctx, k, e) })
			},
			replace: func(ctx context.Context, k cache.Key, observed cache.Token, e cache.Entry) cache.Writing {
				return alone(func() cache.Writing { return compareThenPut(ctx, c, k, observed, e) })
			}}
	},
	"replace compares values": func(c *memory.Cache) cache.CachePort {
		values := map[cache.Token]string{}
		return broken{Cache: c,
			put: func(ctx context.Context, k cache.Key, e cache.Entry) cache.Writing {
				w := c.Put(ctx, k, e)
				if h, ok := hit(c.Get(ctx, k)); ok {
					values[h.Token] = string(h.Value)
				}
				return w
			},
			replace: func(ctx context.Context, k cache.Key, observed cache.Token, e cache.Entry) cache.Writing {
				if h, ok := hit(c.Get(ctx, k)); ok && values[observed] == string(h.Value) && values[observed] != "" {
					observed = h.Token
				}
				return c.CompareAndReplace(ctx, k, observed, e)
			}}
	},
	"replace stores where nothing is": func(c *memory.Cache) cache.CachePort {
		return broken{Cache: c, replace: func(ctx context.Context, k cache.Key, observed cache.Token, e cache.Entry) cache.Writing {
			if w := c.PutIfAbsent(ctx, k, e); w == (cache.Conflict{}).Writing() {
				return c.CompareAndReplace(ctx, k, observed, e)
			} else {
				return w
			}
		}}
	},
	"replace keeps the old end": func(c *memory.Cache) cache.CachePort {
		return broken{Cache: c, replace: func(ctx context.Context, k cache.Key, observed cache.Token, e cache.Entry) cache.Writing {
			if h, ok := hit(c.Get(ctx, k)); ok && !e.IsZero() {
				e, _ = cache.NewEntry(e.Value(), h.TTL.Truncate(time.Millisecond))
			}
			return c.CompareAndReplace(ctx, k, observed, e)
		}}
	},
	"put has a deadline of its own": func(c *memory.Cache) cache.CachePort {
		return broken{Cache: c, put: func(_ context.Context, k cache.Key, e cache.Entry) cache.Writing {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			return c.Put(ctx, k, e)
		}}
	},
	"put knows one region alone": func(c *memory.Cache) cache.CachePort {
		return broken{Cache: c, put: func(ctx context.Context, k cache.Key, e cache.Entry) cache.Writing {
			if short, err := cache.NewKey("cachetest", k.Name()); err == nil {
				k = short
			}
			return c.Put(ctx, k, e)
		}}
	},
	"get answers what has ended": func(c *memory.Cache) cache.CachePort {
		var last cache.Reading
		return broken{Cache: c, get: func(ctx context.Context, k cache.Key) cache.Reading {
			r := c.Get(ctx, k)
			if _, ok := hit(r); ok {
				last = r
				return r
			}
			if k.IsZero() || ctx.Err() != nil {
				return r
			}
			if _, ok := hit(last); ok {
				return last
			}
			return r
		}}
	},
	"a failure is a miss": func(c *memory.Cache) cache.CachePort {
		return broken{Cache: c, get: func(ctx context.Context, k cache.Key) cache.Reading {
			return cache.MatchReading(c.Get(ctx, k), cache.Hit.Reading, cache.Miss.Reading,
				func(cache.Unavailable) cache.Reading { return cache.Miss{}.Reading() })
		}}
	},
}

func TestRun_noticesEachFault(t *testing.T) {
	for fault := range faults {
		t.Run(fault, func(t *testing.T) {
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), brokenEnv+"="+fault)
			printed, err := child.CombinedOutput()
			if child.ProcessState == nil {
				t.Fatalf("run the suite in a process of its own: %v", err)
			}
			if err == nil {
				t.Errorf("the suite passed:\n%s", printed)
			}
		})
	}
}
