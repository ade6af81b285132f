package redislimit_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// closeInTime closes from four goroutines at once.
func closeInTime(t *testing.T, provider *redislimit.Provider) {
	t.Helper()
	began := time.Now()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := provider.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if took := time.Since(began); took > time.Second {
		t.Errorf("closed after %v, want 1s at most", took)
	}
}

func TestClose_leavesNoGoroutineWhateverWasUnderWay(t *testing.T) {
	for sentence, prepare := range map[string]func(r *rig){
		"before the first use":          func(*rig) {},
		"once ready":                    func(r *rig) { r.awaitReady() },
		"while a handshake hangs":       func(r *rig) { r.link.Fault("HELLO", -1, redistest.Silence()) },
		"while nothing can be reached":  func(r *rig) { r.link.Refuse(); r.link.Cut() },
		"while the network is black":    func(r *rig) { r.awaitReady(); r.link.Blackhole() },
		"while the server stands still": func(r *rig) { r.awaitReady(); r.server.Pause(r.t) },
		"after connections were cut":    func(r *rig) { r.awaitReady(); r.link.Cut() },
		"while the breaker is open":     func(r *rig) { r.link.Refuse(); r.link.Cut(); r.failSome() },
		"while commands are in the pool": func(r *rig) {
			r.awaitReady()
			r.link.Fault("EVALSHA", -1, redistest.Delay(50*time.Millisecond))
			r.startSome()
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newUnreadyRig(t, redistest.Start(t))
			_ = r.provider.Close()
			r.open()
			prepare(r)
			closeInTime(t, r.provider)
			r.expect("token-bucket", subject(), 1, "unavailable CONNECTION")
			if health := r.health(); health.Ready || len(health.Problems) == 0 {
				t.Errorf("closed, health is %+v", health)
			}
			r.link.Heal()
			r.eventually("end its goroutines", func() bool { return !strings.Contains(stacks(), "/coordination.") })
		})
	}
}

// stacks are those of all goroutines.
func stacks() string {
	text := make([]byte, 1<<20)
	return string(text[:runtime.Stack(text, true)])
}

func (r *rig) failSome() {
	for range 10 {
		r.evaluate("token-bucket", subject(), 1)
	}
}

func (r *rig) startSome() {
	before := r.link.Forwarded("EVALSHA")
	for range 100 {
		go r.evaluate("token-bucket", subject(), 1)
	}
	r.eventually("send", func() bool { return r.link.Forwarded("EVALSHA") > before })
}

func TestClose_duringCallsAnswersEachAndAllowsNoneAfter(t *testing.T) {
	r := newRig(t, redistest.Start(t))
	r.link.Fault("EVALSHA", -1, redistest.Delay(20*time.Millisecond))
	who := subject()
	outcomes := make(chan string, 100)
	for range 100 {
		go func() { outcomes <- say(r.evaluate("token-bucket", who, 1)) }()
	}
	r.eventually("be busy", func() bool { return r.provider.Connection().Stats().InFlight == 16 })
	closeInTime(t, r.provider)
	var admitted int64
	for range 100 {
		switch got := <-outcomes; {
		case strings.HasPrefix(got, "allowed"):
			admitted++
		case got != "unavailable CONNECTION":
			t.Errorf("got %s", got)
		}
	}
	// Commands in flight ran to their end, and nothing else ran.
	r.expectCharged("token-bucket", who, admitted)
	if admitted < 16 {
		t.Errorf("%d admitted, want the 16 in flight at least", admitted)
	}
	r.expect("token-bucket", who, 1, "unavailable CONNECTION")
}

func TestClose_endsAWaitForTheFirstAttempt(t *testing.T) {
	r := newUnreadyRig(t, redistest.Start(t))
	r.link.Fault("HELLO", -1, redistest.Silence())
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	waited := make(chan error, 1)
	go func() { waited <- r.provider.Connection().AwaitFirstAttempt(ctx) }()
	closeInTime(t, r.provider)
	if <-waited; ctx.Err() != nil {
		t.Errorf("waited for the first attempt of a closed client until %v had passed", patience)
	}
}
