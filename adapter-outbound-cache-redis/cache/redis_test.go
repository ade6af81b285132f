package cache_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/cache"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	contract "github.com/edgelimit/edgelimit/shared-contract/cache"
	"github.com/edgelimit/edgelimit/shared-contract/cache/cachetest"
)

func TestContract(t *testing.T) {
	server := redistest.Start(t)
	cachetest.Run(t, cachetest.Harness{
		New:  func(t *testing.T) contract.CachePort { return open(t, configOf(t, server.Addr())) },
		Pass: passOn(server),
	})
}

// passOn waits until a time has passed by the server's clock, which cannot be moved,
// and with it the last millisecond of what ends then.
func passOn(server *redistest.Server) func(t *testing.T, d time.Duration) {
	now := func(t *testing.T) time.Duration {
		parts, _ := server.Do(t, "TIME").([]any)
		var seconds, micros int64
		if _, err := fmt.Sscan(fmt.Sprintln(parts...), &seconds, &micros); err != nil {
			t.Fatal(err)
		}
		return time.Duration(seconds)*time.Second + time.Duration(micros)*time.Microsecond
	}
	return func(t *testing.T, d time.Duration) {
		for end := now(t) + d + time.Millisecond; now(t) <= end; {
			time.Sleep(time.Millisecond)
		}
	}
}

func TestState_isOneStringUnderTheCanonicalKey(t *testing.T) {
	r := newRig(t)
	k, e := keyOf(t, "tenant acme"), entryOf(t, "the value", 90*time.Second)
	token := tokenOf(r.cache.PutIfAbsent(within(t), k, e))
	name := r.physical()
	if form := regexp.MustCompile(`^test:v1:cache:limits:entry:[A-Za-z0-9_-]{22}$`); !form.MatchString(name) {
		t.Errorf("got key %q, want the form %s", name, form)
	}
	if got, want := r.server.Do(t, "GET", name), string(token.Bytes())+"the value"; got != want {
		t.Errorf("got %q, want the token and the value, %q", got, want)
	}
	for verb, write := range map[string]func() contract.Writing{
		"put":     func() contract.Writing { return r.cache.Put(within(t), k, e) },
		"replace": func() contract.Writing { return r.cache.CompareAndReplace(within(t), k, token, e) },
	} {
		token = contract.Token{}
		contract.MatchReading(r.cache.Get(within(t), k), func(h contract.Hit) bool { token = h.Token; return true },
			func(contract.Miss) bool { return false }, func(contract.Unavailable) bool { return false })
		if got := writing(write()); got != "stored" {
			t.Errorf("%s: got %s, want stored", verb, got)
		}
		if left, _ := r.server.Do(t, "PTTL", name).(int64); left <= 60_000 || left > 90_000 {
			t.Errorf("%s: got %d ms left, want 90000 and hardly less", verb, left)
		}
	}
}

func TestState_whatWasNotWrittenHereIsNeitherReadNorReplaced(t *testing.T) {
	for _, row := range []struct {
		sentence string
		store    []string // after the key's name has taken the place of KEY
	}{
		{"a value without a token", []string{"SET", "KEY", "short", "PX", "90000"}},
		{"a value of the zero token", []string{"SET", "KEY", strings.Repeat("\x00", 16) + "v", "PX", "90000"}},
		{"a value too long", []string{"SET", "KEY", strings.Repeat("v", 16+contract.MaxValueLen+1), "PX", "90000"}},
		{"an entry without an end", []string{"SET", "KEY", strings.Repeat("t", 16) + "v"}},
		{"a hash", []string{"HSET", "KEY", "f", "v"}},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			r := newRig(t)
			k, e := keyOf(t, "acme"), entryOf(t, "value", time.Minute)
			r.cache.Put(within(t), k, e)
			name := r.physical()
			r.server.Do(t, "DEL", name)
			for i := range row.store {
				row.store[i] = strings.ReplaceAll(row.store[i], "KEY", name)
			}
			r.server.Do(t, row.store...)
			before := r.server.Do(t, "DUMP", name)
			if got := reading(r.cache.Get(within(t), k)); got != "unavailable STATE" {
				t.Errorf("got %s, want unavailable STATE", got)
			}
			if got := writing(r.cache.CompareAndReplace(within(t), k, contract.NewToken(), e)); got != "conflict" && got != "unavailable STATE" {
				t.Errorf("got %s, want conflict or unavailable STATE", got)
			}
			if got := writing(r.cache.PutIfAbsent(within(t), k, e)); got != "conflict" {
				t.Errorf("got %s, want conflict", got)
			}
			if r.server.Do(t, "DUMP", name) != before {
				t.Error("what was there has changed")
			}
			if got := writing(r.cache.Put(within(t), k, e)); got != "stored" {
				t.Errorf("got %s, want put to begin anew", got)
			}
		})
	}
}

func TestCompareAndReplace_runsByItsSHAAndAfterAFlush(t *testing.T) {
	r := newRig(t)
	k, e := keyOf(t, "acme"), entryOf(t, "value", time.Minute)
	token := tokenOf(r.cache.Put(within(t), k, e))
	for range 3 {
		r.server.Do(t, "SCRIPT", "FLUSH")
		for range 2 {
			w := r.cache.CompareAndReplace(within(t), k, token, e)
			if got := writing(w); got != "stored" {
				t.Fatalf("got %s, want stored", got)
			}
			token = tokenOf(w)
		}
	}
	if got := r.server.Calls(t, "eval"); got != 3 {
		t.Errorf("the source was sent %d times, want 3: once after each flush", got)
	}
	if got := r.server.Calls(t, "set"); got != 1+6 {
		t.Errorf("got %d writes, want 7", got)
	}
}

// A hundred writers over four clients with connections of their own.
func TestCompareAndReplace_oneWriterOfAHundredWinsPerToken(t *testing.T) {
	server := redistest.Start(t)
	var clients []*cache.Redis
	for range 4 {
		clients = append(clients, open(t, configOf(t, server.Addr())))
	}
	k := keyOf(t, "acme")
	token := tokenOf(clients[0].Put(within(t), k, entryOf(t, "first", time.Minute)))
	for round := range 10 {
		var won atomic.Int64
		var next atomic.Value
		var all sync.WaitGroup
		for i := range 100 {
			e := entryOf(t, fmt.Sprint(round, " by ", i), time.Minute)
			all.Go(func() {
				w := clients[i%len(clients)].CompareAndReplace(within(t), k, token, e)
				switch got := writing(w); got {
				case "stored":
					won.Add(1)
					next.Store(tokenOf(w))
				case "conflict":
				default:
					t.Errorf("got %s, want stored or conflict", got)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 {
			t.Fatalf("round %d: %d writers won, want 1", round, won.Load())
		}
		token = next.Load().(contract.Token)
	}
}

func TestOpen_saysAllThatCannotWork(t *testing.T) {
	_, err := cache.Open(cache.Config{Database: -1})
	if err == nil {
		t.Fatal("got no error")
	}
	for _, want := range []string{"prefix", "Addr", "Database", "DialTimeout", "CommandTimeout", "MaxConnections"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want it to name %s", err, want)
		}
	}
}

// Only a server that will never tell does not tell: what else it refuses may pass.
func TestRunID_isUnknownOrNotYetKnown(t *testing.T) {
	for _, row := range []struct {
		sentence string
		spoil    func(r *rig)
		want     string // of the id, or "error"
	}{
		{"a server that tells", func(*rig) {}, "an id"},
		{"a right that is missing", func(r *rig) {
			r.server.Do(r.T, "ACL", "SETUSER", "cache", "on", ">pw", "~*", "+@all", "-info")
			r.config.Username, r.config.Password = "cache", "pw"
		}, "none"},
		{"a command that is unknown", func(r *rig) {
			r.link.Fault("INFO", 1, redistest.Replace([]byte("-ERR unknown command 'info', with args beginning with: 'server'\r\n")))
		}, "none"},
		{"a server that is full", func(r *rig) {
			r.link.Fault("INFO", 1, redistest.Replace([]byte("-ERR max number of clients reached\r\n")))
		}, "error"},
		{"a server that loads", func(r *rig) {
			r.link.Fault("INFO", 1, redistest.Replace([]byte("-LOADING Redis is loading the dataset in memory\r\n")))
		}, "error"},
		{"a password that is wrong", func(r *rig) { r.config.Username, r.config.Password = "nobody", "wrong" }, "error"},
		{"a server that is away", func(r *rig) { r.link.Refuse() }, "error"},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			r := newRig(t)
			row.spoil(r)
			got := "an id"
			switch id, err := open(t, r.config).RunID(within(t)); {
			case err != nil:
				got = "error"
			case id == "":
				got = "none"
			}
			if got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}
