package caller_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/caller"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
)

const limit = 5

// served is a caller that follows orders in this process.
type served struct {
	t       *testing.T
	orders  *json.Encoder
	answers *json.Decoder
}

func serve(t *testing.T) *served {
	t.Helper()
	in, orders := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- caller.Serve(in, out) }()
	t.Cleanup(func() {
		_ = orders.Close()
		if err := <-ended; err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
	return &served{t, json.NewEncoder(orders), json.NewDecoder(answers)}
}

func (s *served) follow(o caller.Order) caller.Answer {
	s.t.Helper()
	var a caller.Answer
	if err := s.orders.Encode(o); err != nil {
		s.t.Fatal(err)
	}
	if err := s.answers.Decode(&a); err != nil {
		s.t.Fatal(err)
	}
	return a
}

// open has it open a provider and waits until that serves: the limit is whole again for the test's own subjects.
func (s *served) open(addr string) {
	s.t.Helper()
	o := caller.Order{Open: &caller.Target{Addr: addr, Prefix: "caller", Secret: "0123456789abcdef0123456789abcdef", Protocol: 2, Limit: limit}}
	if a := s.follow(o); a.Problem != "" {
		s.t.Fatal(a.Problem)
	}
	if a := s.follow(caller.Order{Drain: []caller.Question{{PolicyID: "fixed-window", Subject: "first-of-all-subjects"}}}); a.Problem != "" {
		s.t.Fatal(a.Problem)
	}
}

func heard(a caller.Account) string {
	var words []string
	for _, c := range a.Calls {
		words = append(words, fmt.Sprint(c.Question, " ", c.Said))
	}
	return strings.Join(words, ", ")
}

func TestServe_asksInTurnAndKeepsTheAccount(t *testing.T) {
	own := redistest.Start(t)
	s := serve(t)
	s.open(own.Addr())
	questions := []caller.Question{{PolicyID: "fixed-window", Subject: "subject-of-one-window"}, {PolicyID: "token-bucket", Subject: "subject-of-one-bucket"}}
	s.follow(caller.Order{Begin: &caller.Load{Questions: questions, Every: 20 * time.Millisecond, Rounds: 2}})
	s.follow(caller.Order{Mark: "after"})
	account := s.follow(caller.Order{End: true}).Account
	if got, want := heard(account), "0 allowed, 1 allowed, 0 allowed, 1 allowed"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, c := range account.Calls {
		if c.Start >= c.End || c.End > account.Marks["after"] {
			t.Errorf("a call from %v to %v, and %v after all of them", c.Start, c.End, account.Marks["after"])
		}
	}
	rest := s.follow(caller.Order{Drain: questions[:1]}).Account
	if got, want := heard(rest), "0 allowed, 0 allowed, 0 allowed, 0 denied"; got != want {
		t.Errorf("drained: got %s, want %s", got, want)
	}
	s.follow(caller.Order{Begin: &caller.Load{Questions: questions, Every: time.Millisecond}})
	if got := s.follow(caller.Order{End: true}).Account; len(got.Calls) == 0 || len(got.Marks) != 0 {
		t.Errorf("got %+v, want a new account of calls without an end", got)
	}
}

// What a server refuses for a while is asked for again until it is denied.
func TestServe_drainsWhatIsRefusedForAWhile(t *testing.T) {
	own := redistest.Start(t)
	s := serve(t)
	s.open(own.Addr())
	own.Do(t, "CONFIG", "SET", "min-replicas-to-write", "1")
	refused := own.Calls(t, "evalsha")
	var mend sync.WaitGroup
	mend.Go(func() {
		for began := time.Now(); own.Calls(t, "evalsha") < refused+2 && time.Since(began) < rig.Patience; {
			time.Sleep(time.Millisecond)
		}
		own.Do(t, "CONFIG", "SET", "min-replicas-to-write", "0")
	})
	rest := heard(s.follow(caller.Order{Drain: []caller.Question{{PolicyID: "fixed-window", Subject: "subject-of-one-window"}}}).Account)
	mend.Wait()
	all := strings.Repeat("0 allowed, ", limit) + "0 denied"
	before, found := strings.CutSuffix(rest, all)
	if other := strings.ReplaceAll(before, "0 unavailable SERVER, ", ""); !found || before == "" || other != "" {
		t.Errorf("got %s, want unavailable SERVER for a while, and then %s", rest, all)
	}
}

func TestServe_asksServersAndTellsTheirSilence(t *testing.T) {
	own := redistest.Start(t)
	s := serve(t)
	command := func(addr string, args ...string) caller.Answer {
		return s.follow(caller.Order{Ask: &caller.Command{Addr: addr, Args: args}})
	}
	if got := command(own.Addr(), "PING").Reply; got != "PONG" {
		t.Errorf("got %v, want PONG", got)
	}
	if got := command(own.Addr(), "NO-SUCH").Refused; !strings.HasPrefix(got, "ERR ") {
		t.Errorf("got %q, want an error reply", got)
	}
	if got := command(redistest.Absent(t).Addr(), "PING"); !got.Silent {
		t.Errorf("got %+v, want silence", got)
	}
}

func TestServe_refusesWhatHasNoPlace(t *testing.T) {
	s := serve(t)
	for sentence, o := range map[string]caller.Order{
		"nothing":                  {},
		"a load without provider":  {Begin: &caller.Load{Questions: []caller.Question{{}}, Every: 1}},
		"a mark without load":      {Mark: "here"},
		"an end without beginning": {End: true},
		"to drain with nothing":    {Drain: []caller.Question{{}}},
		"a provider nowhere":       {Open: &caller.Target{}},
	} {
		if a := s.follow(o); a.Problem == "" {
			t.Errorf("%s: got %+v, want a problem", sentence, a)
		}
	}
}
