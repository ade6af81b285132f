package cache_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	contract "github.com/edgelimit/edgelimit/shared-contract/cache"
)

func TestGet_aFullServerServesReadsAndRefusesWrites(t *testing.T) {
	r := newRig(t)
	k, e := keyOf(t, "acme"), entryOf(t, "value", time.Minute)
	token := tokenOf(r.cache.Put(within(t), k, e))
	r.server.Do(t, "CONFIG", "SET", "maxmemory-policy", "noeviction")
	r.server.Do(t, "CONFIG", "SET", "maxmemory", "1")
	for verb, write := range map[string]func() contract.Writing{
		"put":           func() contract.Writing { return r.cache.Put(within(t), k, e) },
		"put if absent": func() contract.Writing { return r.cache.PutIfAbsent(within(t), keyOf(t, "other"), e) },
		"replace":       func() contract.Writing { return r.cache.CompareAndReplace(within(t), k, token, e) },
	} {
		if got := writing(write()); got != "unavailable SERVER" {
			t.Errorf("%s: got %s, want unavailable SERVER", verb, got)
		}
		if got := reading(r.cache.Get(within(t), k)); got != "hit value" {
			t.Errorf("after %s: got %s, want hit value", verb, got)
		}
	}
	if got := reading(r.cache.Get(within(t), keyOf(t, "other"))); got != "miss" {
		t.Errorf("got %s, want miss", got)
	}
	if got := writing(r.cache.Delete(within(t), k)); got != "stored" {
		t.Errorf("delete: got %s, want stored", got)
	}
}

func TestGet_aForeignValueIsNotReadWhole(t *testing.T) {
	const huge, most = 10 << 20, 1 << 20
	r := newRig(t)
	k := keyOf(t, "acme")
	r.cache.Put(within(t), k, entryOf(t, "value", time.Minute))
	r.server.Do(t, "SET", r.physical(), strings.Repeat("v", huge), "PX", "90000")
	sent := func() (bytes int) {
		info, _ := r.server.Do(t, "INFO", "stats").(string)
		for line := range strings.Lines(info) {
			if _, err := fmt.Sscanf(line, "total_net_output_bytes:%d", &bytes); err == nil {
				return bytes
			}
		}
		t.Fatal("the server does not tell what it has sent")
		return 0
	}
	before := sent()
	if got := reading(r.cache.Get(within(t), k)); got != "unavailable STATE" {
		t.Errorf("got %.80s, want unavailable STATE", got)
	}
	if got := sent() - before; got > most {
		t.Errorf("the server sent %d bytes, want at most %d of %d", got, most, huge)
	}
}

// The link gives the value of a write that has gone; the rest is of the one that is
// there.
func TestGet_whatIsOfTwoWritesIsReadAgain(t *testing.T) {
	r := newRig(t)
	k := keyOf(t, "acme")
	r.cache.Put(within(t), k, entryOf(t, "there", time.Hour))
	gone := string(contract.NewToken().Bytes()) + "gone"
	r.link.Fault("GETRANGE", 1, redistest.Replace(fmt.Appendf(nil, "$%d\r\n%s\r\n", len(gone), gone)))
	if got := reading(r.cache.Get(within(t), k)); got != "hit there" {
		t.Errorf("got %s, want hit there", got)
	}
	if got := r.link.Forwarded("PTTL"); got != 2 {
		t.Errorf("looked %d times, want 2", got)
	}
}

// A healthy server whose entry changes too often is none that fails.
func TestGet_whatIsReplacedDuringEveryLookIsAMiss(t *testing.T) {
	r := newRig(t)
	k := keyOf(t, "acme")
	r.cache.Put(within(t), k, entryOf(t, "there", time.Hour))
	r.link.Fault("GETRANGE", -1, redistest.Replace([]byte("$20\r\nanother write's text\r\n")))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if got := reading(r.cache.Get(ctx, k)); got != "miss" {
		t.Errorf("got %s, want miss", got)
	}
	if got := r.link.Forwarded("PTTL"); got != 3 {
		t.Errorf("looked %d times, want 3", got)
	}
}

// The link passes on one command after the other, so that writes come in between.
func TestGet_noValueHasTheTTLOfAnother(t *testing.T) {
	const rounds = 3000
	r := newRig(t)
	writer := open(t, configOf(t, r.server.Addr()))
	k := keyOf(t, "acme")
	brief, lasting := entryOf(t, "brief", 10*time.Second), entryOf(t, "lasting", 1000*time.Second)
	writer.Put(within(t), k, lasting)
	ctx, stop := within(t), make(chan struct{})
	var writes sync.WaitGroup
	writes.Go(func() {
		for {
			writer.Put(ctx, k, brief)
			writer.Put(ctx, k, lasting)
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	seen := map[string]int{}
	for range rounds {
		contract.MatchReading(r.cache.Get(ctx, k), func(h contract.Hit) bool {
			value := string(h.Value)
			seen[value]++
			if value == "brief" && h.TTL > brief.TTL() || value == "lasting" && h.TTL <= brief.TTL() {
				t.Errorf("%s has %v left", value, h.TTL)
			}
			return true
		}, func(contract.Miss) bool { // replaced during every look
			seen["none"]++
			return false
		}, func(u contract.Unavailable) bool {
			t.Errorf("got unavailable %s", u.Cause)
			return false
		})
	}
	close(stop)
	writes.Wait()
	if seen["none"] > rounds/2 || seen["brief"] < rounds/100 || seen["lasting"] < rounds/100 {
		t.Errorf("got %v, want either value often, and mostly one", seen)
	}
	t.Logf("%v, and %d looks", seen, r.link.Forwarded("PTTL"))
}
