package caller

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/secret"
)

const (
	replyLimit = 500 * time.Millisecond // of a server that may be out of reach
	drainers   = 8
	between    = 10 * time.Millisecond // calls of one that drains where nothing is decided
)

// Serve follows orders until there are none.
func Serve(in io.Reader, out io.Writer) error {
	c := &caller{began: time.Now()}
	defer c.close()
	orders, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var o Order
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read an order: %w", err)
		}
		if err := answers.Encode(c.follow(o)); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
}

type caller struct {
	began    time.Time
	provider *redislimit.Provider
	stop     chan struct{} // ends the load
	load     sync.WaitGroup

	mu      sync.Mutex
	account Account
}

func (c *caller) follow(o Order) Answer {
	var err error
	switch {
	case o.Open != nil:
		err = c.open(*o.Open)
	case o.Begin != nil:
		err = c.begin(*o.Begin)
	case o.Mark != "":
		err = c.mark(o.Mark)
	case o.End:
		return c.end()
	case o.Drain != nil:
		return c.drain(o.Drain)
	case o.Ask != nil:
		return ask(*o.Ask)
	default:
		err = errors.New("an empty order")
	}
	if err != nil {
		return Answer{Problem: err.Error()}
	}
	return Answer{}
}

func (c *caller) open(t Target) error {
	if c.provider != nil {
		return errors.New("the provider is open")
	}
	own, err := secret.New([]byte(t.Secret))
	if err != nil {
		return err
	}
	policies, err := Policies(t.Limit)
	if err != nil {
		return err
	}
	c.provider, err = redislimit.Open(redislimit.Config{
		Redis: coordination.Config{
			Addr: t.Addr, Cluster: t.Cluster, Protocol: t.Protocol, DialTimeout: time.Second, CommandTimeout: rig.CommandTimeout,
			MaxInFlight: 64, AdmissionWait: 250 * time.Millisecond,
			BreakerFailures: 5, BreakerProbeEvery: 200 * time.Millisecond,
		},
		KeyPrefix: t.Prefix, Secret: own, Policies: policies,
	})
	return err
}

func (c *caller) begin(l Load) error {
	if c.provider == nil || c.stop != nil || len(l.Questions) == 0 || l.Every <= 0 {
		return errors.New("a load needs a provider, questions, a pace, and the end of the one before")
	}
	c.account, c.stop = Account{Marks: map[string]time.Duration{}}, make(chan struct{})
	stop := c.stop
	c.load.Go(func() {
		tick := time.NewTicker(l.Every)
		defer tick.Stop()
		for n := 0; l.Rounds == 0 || n < l.Rounds*len(l.Questions); n++ {
			which := n % len(l.Questions)
			c.load.Go(func() {
				made := c.call(which, l.Questions[which])
				c.mu.Lock()
				defer c.mu.Unlock()
				c.account.Calls = append(c.account.Calls, made)
			})
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	})
	if l.Rounds > 0 {
		c.load.Wait()
	}
	return nil
}

func (c *caller) mark(name string) error {
	if c.stop == nil {
		return errors.New("a mark needs a load")
	}
	c.account.Marks[name] = time.Since(c.began)
	return nil
}

func (c *caller) end() Answer {
	if c.stop == nil {
		return Answer{Problem: "there is no load"}
	}
	close(c.stop)
	c.load.Wait()
	c.stop = nil
	return Answer{Account: c.account}
}

// call evaluates once, with a deadline beyond the provider's budget.
func (c *caller) call(which int, q Question) Call {
	ctx, cancel := context.WithTimeout(context.Background(), rig.Patience)
	defer cancel()
	made := Call{Question: which, Start: time.Since(c.began)}
	said := rig.Say(c.provider.Evaluate(ctx, ratelimit.Request{PolicyID: q.PolicyID, SubjectDigest: q.Subject, Cost: 1}))
	made.End = time.Since(c.began)
	made.Said = said
	if word, _, _ := strings.Cut(said, " "); word == Allowed || word == Denied {
		made.Said = word
	}
	return made
}

// What a call is told where it is told a decision.
const (
	Allowed = "allowed"
	Denied  = "denied"
)

func (c *caller) drain(questions []Question) Answer {
	if c.provider == nil {
		return Answer{Problem: "to drain needs a provider"}
	}
	var a Answer
	var mu sync.Mutex
	var all sync.WaitGroup
	next := make(chan int)
	for range drainers {
		all.Go(func() {
			for which := range next {
				calls, problem := c.drainOne(which, questions[which])
				mu.Lock()
				a.Account.Calls = append(a.Account.Calls, calls...)
				a.Problem = cmp.Or(a.Problem, problem)
				mu.Unlock()
			}
		})
	}
	for which := range questions {
		next <- which
	}
	close(next)
	all.Wait()
	return a
}

// drainOne asks until it is denied. That this does not come is a problem.
func (c *caller) drainOne(which int, q Question) (calls []Call, problem string) {
	for began := time.Now(); ; {
		made := c.call(which, q)
		calls = append(calls, made)
		switch {
		case made.Said == Denied:
			return calls, ""
		case time.Since(began) > rig.Patience:
			return calls, fmt.Sprintf("question %d was not denied within %v: %s", which, rig.Patience, made.Said)
		case made.Said != Allowed:
			time.Sleep(between)
		}
	}
}

func ask(c Command) Answer {
	ctx, cancel := context.WithTimeout(context.Background(), replyLimit)
	defer cancel()
	reply, err := redistest.Witness{Addr: c.Addr}.Ask(ctx, c.Args...)
	if err != nil {
		return Answer{Silent: true}
	}
	if refused, ok := reply.(redistest.ServerError); ok {
		return Answer{Refused: string(refused)}
	}
	return Answer{Reply: reply}
}

func (c *caller) close() {
	if c.stop != nil {
		c.end()
	}
	if c.provider != nil {
		_ = c.provider.Close()
	}
}
