package coordination

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/certainty"
)

// Endpoint is where the calls of a limiter go: a Client or a Cluster.
type Endpoint interface {
	Dispatch(ctx context.Context, call Call) certainty.Result
	Budget() time.Duration
	Health() Health
	Stats() Stats
	Breaker() string
	AwaitFirstAttempt(ctx context.Context) error
	Close() error
}

// Connect opens a Cluster if config names one, else a Client, whose verifier has
// the empty tag.
func Connect(config Config, verifier func(tag string) Verifier) (Endpoint, error) {
	if len(config.Cluster) > 0 {
		return OpenCluster(config, verifier)
	}
	return Open(config, verifier(""))
}

// Cluster is the dedicated connection to a Redis Cluster: a Client for each master,
// with a breaker and connections of its own, and a map of which slot is where. It
// is safe for concurrent use. Make one with OpenCluster, and Close it.
//
// A node that says that another one has the slot, or that it cannot tell yet, has
// run nothing: those answers are followed within the call's time. Nothing else is
// sent twice, so a call is charged at most once here too.
type Cluster struct {
	config   Config
	verifier func(tag string) Verifier
	logger   *slog.Logger

	context context.Context // ends with Close
	cancel  context.CancelFunc
	tasks   sync.WaitGroup // the map's goroutine and clients that close

	slots     atomic.Pointer[slotMap] // nil until it was read once
	lost      atomic.Pointer[refusal] // why the last look for it failed; nil if it did not
	stale     atomic.Bool             // an answer puts it in doubt
	attempted chan struct{}           // closed after the first look
	mute      map[string]bool         // who did not tell it when last asked; for watchSlots alone

	resharding reshardingCounts

	mu    sync.Mutex
	nodes map[string]*node // by address; nil once closed
}

// node is a master, or one that a redirection named.
type node struct {
	client *Client
	used   atomic.Int64 // when a call last went there, in Unix nanoseconds
}

// OpenCluster starts the connection to the cluster that config names. It returns at
// once: if the cluster is away the Cluster lives, is not ready, and finds it when
// it comes. The keys of verifier(tag) all have the slot of its ProbeKey, which tag
// decides; each node is verified by keys of its own slots.
func OpenCluster(config Config, verifier func(tag string) Verifier) (*Cluster, error) {
	if err := config.validateCluster(); err != nil {
		return nil, err
	}
	logger := config.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	c := &Cluster{
		config: config, verifier: verifier, logger: logger,
		attempted: make(chan struct{}), mute: map[string]bool{}, nodes: map[string]*node{},
	}
	c.context, c.cancel = context.WithCancel(context.Background())
	c.tasks.Go(c.watchSlots)
	return c, nil
}

func (c Config) validateCluster() error {
	var errs []error
	if len(c.Cluster) == 0 {
		errs = append(errs, errors.New("coordination: Cluster needs an address"))
	}
	for _, addr := range c.Cluster {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			errs = append(errs, fmt.Errorf("coordination: Cluster: %w", err))
		}
	}
	if c.Addr != "" || c.Resolve != nil {
		errs = append(errs, errors.New("coordination: Cluster takes the place of Addr and Resolve"))
	}
	if c.Database != 0 {
		errs = append(errs, errors.New("coordination: a cluster has database 0 alone"))
	}
	return errors.Join(append(errs, c.at("any").validate())...)
}

// at is the config of one node of the cluster.
func (c Config) at(addr string) Config {
	c.Addr, c.Resolve, c.Cluster, c.node = addr, nil, nil, true
	return c
}

// Close ends every connection and waits for them, as [Client.Close] does.
func (c *Cluster) Close() error {
	c.cancel()
	c.mu.Lock()
	for _, n := range c.nodes {
		c.retire(n)
	}
	c.nodes = nil
	c.mu.Unlock()
	c.tasks.Wait()
	return nil
}

// Budget is [Config.Budget].
func (c *Cluster) Budget() time.Duration { return c.config.Budget() }

const (
	mostRedirections = 4
	firstPause       = 2 * time.Millisecond // before a call goes again to a slot that moves
	longestPause     = 16 * time.Millisecond
)

// Dispatch runs call at most once, as [Client.Dispatch] does, on the master of its
// keys' slot. Keys of several slots are refused. If the keys are on their way from
// one node to another, it tries again within the budget, less what the last command
// needs, and then answers TRYAGAIN. With one budget that is a quarter of it.
func (c *Cluster) Dispatch(ctx context.Context, call Call) certainty.Result {
	slot, err := slotOf(call.keys())
	if err != nil {
		return certainty.Result{Fate: certainty.Refused, Refusal: certainty.Program, Err: err}
	}
	c.resharding.calls.Add(1)
	terms := c.config.termsOf(ctx)
	if !terms.leaveTime(ctx) {
		return certainty.Result{Fate: certainty.Refused, Refusal: certainty.Deadline, Err: errShortDeadline}
	}
	if refused := c.awaitSlots(ctx, terms); refused != nil {
		return certainty.Result{Fate: certainty.Refused, Refusal: refused.why, Err: refused.err}
	}
	result := c.follow(ctx, terms, call, slot)
	if codeOf(result) == "TRYAGAIN" {
		return c.again(ctx, terms, call, slot, result)
	}
	return result
}

// again repeats a call that was answered TRYAGAIN until it is answered otherwise or
// its time ends, of which the cause then is that answer.
func (c *Cluster) again(ctx context.Context, terms terms, call Call, slot int, last certainty.Result) certainty.Result {
	c.resharding.met.Add(1)
	for pause := firstPause; c.rest(ctx, terms, pause); pause = min(2*pause, longestPause) {
		result := c.follow(ctx, terms, call, slot)
		if result.Fate == certainty.Refused && result.Refusal == certainty.Deadline {
			break
		}
		if codeOf(result) != "TRYAGAIN" {
			return result
		}
		last = result
	}
	c.resharding.refused.Add(1)
	return last
}

// follow runs call on the slot's master, or where that one sends it.
func (c *Cluster) follow(ctx context.Context, terms terms, call Call, slot int) certainty.Result {
	addr := c.slots.Load().owner(slot)
	if addr == "" {
		c.stale.Store(true)
		err := fmt.Errorf("no node serves slot %d", slot)
		return certainty.Result{Fate: certainty.Refused, Refusal: certainty.Server, Err: err}
	}
	for followed := 0; ; followed++ {
		client, refused := c.clientAt(addr)
		if refused != nil {
			return certainty.Result{Fate: certainty.Refused, Refusal: refused.why, Err: refused.err}
		}
		result := client.dispatch(ctx, terms, call)
		if doubtsSlots(result) {
			c.stale.Store(true)
		}
		next, elsewhere := redirectionOf(result)
		if !elsewhere || followed == mostRedirections {
			return result
		}
		addr, call.asking = next.from(addr), next.ask
	}
}

// rest pauses before a call goes again. It answers false if the call's time does
// not allow it.
func (c *Cluster) rest(ctx context.Context, terms terms, pause time.Duration) bool {
	latest := terms.admitUntil // of a fixed command timeout: it leaves a command's time
	if terms.command == 0 {
		latest = terms.deadline.Add(-c.config.CommandTimeout / 4)
	}
	if time.Until(latest) < pause {
		return false
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-c.context.Done():
	}
	return false
}

// doubtsSlots tells whether r may come from a map that is out of date.
func doubtsSlots(r certainty.Result) bool {
	switch r.Fate {
	case certainty.Refused:
		return r.Refusal == certainty.Unreachable || r.Refusal == certainty.BreakerOpen || r.Refusal == certainty.Dialing
	case certainty.Answered:
		code := codeOf(r)
		return code == "MOVED" || code == "READONLY" || code == "CLUSTERDOWN" || code == "MASTERDOWN" || code == "LOADING"
	default:
		return !r.CallerLeft
	}
}
