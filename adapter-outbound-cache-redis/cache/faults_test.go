package cache_test

import (
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	contract "github.com/edgelimit/edgelimit/shared-contract/cache"
	"github.com/edgelimit/edgelimit/shared-contract/cache/cachetest"
)

// A write whose answer was lost is sent once, and nobody claims to know.
func TestFaults_aLostAnswerIsUnknownAndIsNotSentAgain(t *testing.T) {
	for _, row := range []struct {
		sentence, command string
		write             func(r *rig, k contract.Key, token contract.Token, e contract.Entry) contract.Writing
	}{
		{"put", "SET", func(r *rig, k contract.Key, _ contract.Token, e contract.Entry) contract.Writing {
			return r.cache.Put(within(r.T), k, e)
		}},
		{"put if absent", "SET", func(r *rig, k contract.Key, _ contract.Token, e contract.Entry) contract.Writing {
			return r.cache.PutIfAbsent(within(r.T), k, e)
		}},
		{"compare and replace", "EVALSHA", func(r *rig, k contract.Key, token contract.Token, e contract.Entry) contract.Writing {
			return r.cache.CompareAndReplace(within(r.T), k, token, e)
		}},
		{"delete", "DEL", func(r *rig, k contract.Key, _ contract.Token, _ contract.Entry) contract.Writing {
			return r.cache.Delete(within(r.T), k)
		}},
	} {
		for fault, f := range map[string]redistest.Fault{
			"lost": redistest.LoseReply(), "halved": redistest.HalfReply(), "reset": redistest.ResetAfter(),
		} {
			t.Run(row.sentence+" "+fault, func(t *testing.T) {
				r := newRig(t)
				k, e := keyOf(t, "acme"), entryOf(t, "new", time.Minute)
				token := tokenOf(r.cache.Put(within(t), k, entryOf(t, "old", time.Minute)))
				r.cache.CompareAndReplace(within(t), keyOf(t, "other"), token, e) // the server knows the program
				if row.sentence == "put if absent" {
					r.cache.Delete(within(t), k)
				}
				sent := r.link.Forwarded(row.command)
				r.link.Fault(row.command, -1, f)
				if got := writing(row.write(r, k, token, e)); got != "unavailable UNKNOWN" {
					t.Errorf("got %s, want unavailable UNKNOWN", got)
				}
				r.link.Heal()
				if got := r.link.Forwarded(row.command) - sent; got != 1 {
					t.Errorf("%s was sent %d times, want 1", row.command, got)
				}
				want := "hit new"
				if row.sentence == "delete" {
					want = "miss"
				}
				if got := reading(r.cache.Get(within(t), k)); got != want {
					t.Errorf("afterwards: got %s, want %s", got, want)
				}
			})
		}
	}
}

func TestFaults_aReadWithoutAnAnswerIsUnavailable(t *testing.T) {
	r := newRig(t)
	k := keyOf(t, "acme")
	r.cache.Put(within(t), k, entryOf(t, "value", time.Minute))
	for _, command := range []string{"GETRANGE", "PTTL"} {
		r.link.Fault(command, 1, redistest.LoseReply())
		if got := reading(r.cache.Get(within(t), k)); got != "unavailable UNKNOWN" {
			t.Errorf("%s: got %s, want unavailable UNKNOWN", command, got)
		}
		if got := reading(r.cache.Get(within(t), k)); got != "hit value" {
			t.Errorf("%s, then: got %s, want hit value", command, got)
		}
	}
}

func TestFaults_theCausesAreToldApart(t *testing.T) {
	t.Run("a server that is away, and back", func(t *testing.T) {
		r := newRig(t)
		k, e := keyOf(t, "acme"), entryOf(t, "value", time.Minute)
		r.link.Refuse()
		r.link.Cut()
		if got := reading(r.cache.Get(within(t), k)); got != "unavailable CONNECTION" {
			t.Errorf("get: got %s, want unavailable CONNECTION", got)
		}
		if got := writing(r.cache.Put(within(t), k, e)); got != "unavailable CONNECTION" {
			t.Errorf("put: got %s, want unavailable CONNECTION", got)
		}
		r.link.Heal()
		if got := writing(r.cache.Put(within(t), k, e)); got != "stored" {
			t.Errorf("then: got %s, want stored", got)
		}
	})
	t.Run("a server that does not answer costs the command timeout", func(t *testing.T) {
		r := newRig(t)
		r.config.CommandTimeout = 20 * time.Millisecond
		impatient := open(t, r.config)
		k := keyOf(t, "acme")
		r.link.Fault("PTTL", 1, redistest.Silence())
		if got := reading(impatient.Get(within(t), k)); got != "unavailable UNKNOWN" {
			t.Errorf("got %s, want unavailable UNKNOWN", got)
		}
	})
	t.Run("a wrong password", func(t *testing.T) {
		r := newRig(t, "--requirepass", "right")
		r.config.Password = "wrong"
		if got := reading(open(t, r.config).Get(within(t), keyOf(t, "acme"))); got != "unavailable SERVER" {
			t.Errorf("got %s, want unavailable SERVER", got)
		}
	})
	t.Run("a right that is missing", func(t *testing.T) {
		r := newRig(t)
		r.server.Do(t, "ACL", "SETUSER", "reader", "on", ">pw", "~*", "+@all", "-set")
		r.config.Username, r.config.Password = "reader", "pw"
		if got := writing(open(t, r.config).Put(within(t), keyOf(t, "acme"), entryOf(t, "v", time.Minute))); got != "unavailable SERVER" {
			t.Errorf("got %s, want unavailable SERVER", got)
		}
	})
	t.Run("no right that the documentation leaves out", func(t *testing.T) {
		r := newRig(t)
		rights := strings.Fields("resetkeys ~test:* resetchannels -@all +getrange +pttl +set +del +evalsha +eval +info")
		r.server.Do(t, append([]string{"ACL", "SETUSER", "cache", "on", ">pw"}, rights...)...)
		r.config.Username, r.config.Password = "cache", "pw"
		cachetest.Run(t, cachetest.Harness{
			New:  func(t *testing.T) contract.CachePort { return open(t, r.config) },
			Pass: passOn(r.server),
		})
	})
	t.Run("a cache that was closed", func(t *testing.T) {
		r := newRig(t)
		closed := open(t, r.config)
		_ = closed.Close()
		if got := reading(closed.Get(within(t), keyOf(t, "acme"))); got != "unavailable CONNECTION" {
			t.Errorf("got %s, want unavailable CONNECTION", got)
		}
	})
}
