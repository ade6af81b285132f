package coordination

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"time"
)

// Config says where the coordination Redis is and how long anything may take.
// There are no defaults: every bound is stated.
type Config struct {
	// Addr is host:port.
	Addr string

	// Resolve, if set, names the address at each dial in place of Addr: the
	// present master of a Sentinel group, for example.
	Resolve func(ctx context.Context) (string, error)

	// Cluster, if set, makes [Connect] open a Redis Cluster in place of Addr and
	// Resolve: host:port of some of its nodes, of which one that answers is enough
	// to find the others. MaxInFlight then is of each master.
	Cluster []string

	// Username and Password are for ACL users; Password alone for requirepass.
	Username, Password string

	Database int

	// TLS, if set, encrypts every connection.
	TLS *tls.Config

	// Protocol is the RESP version, 2 or 3; 0 means 2. The programs need
	// nothing of 3.
	Protocol int

	// DialTimeout bounds a dial with its handshake. A dial goes on without the
	// caller who caused it.
	DialTimeout time.Duration

	// CommandTimeout bounds a command from its first byte to its whole reply.
	CommandTimeout time.Duration

	// OneBudget makes CommandTimeout the whole of a call, from its entry: waiting,
	// dialling and commands share it. A ctx may shorten it and needs no deadline;
	// AdmissionWait is not used.
	OneBudget bool

	// MaxInFlight is how many calls are at Redis at once, and therefore the most
	// connections. Calls share connections, so few are needed; one more watches health.
	MaxInFlight int

	// AdmissionWait is how long a caller waits for a place in flight; 0 does not
	// wait.
	AdmissionWait time.Duration

	// BreakerFailures consecutive failures to reach the server or to be
	// answered in time open the breaker; then one call per BreakerProbeEvery
	// tries again.
	BreakerFailures   int
	BreakerProbeEvery time.Duration

	// EveryFailure makes the breaker count every call that the server did not serve,
	// such as one that was answered LOADING or CLUSTERDOWN, and not those alone that
	// could not be sent or timed out. A caller who leaves never counts, nor does a
	// cluster's word that keys are elsewhere or on their way.
	EveryFailure bool

	// Logger receives changes of health; nil discards them.
	Logger *slog.Logger

	// node says that Addr is a node of a cluster. What such a node says of the whole
	// cluster may open its breaker, and must not keep it open: with EveryFailure the
	// breaker closes as soon as the node passes a verification.
	node bool
}

func (c Config) validate() error {
	var errs []error
	need := func(ok bool, problem string) {
		if !ok {
			errs = append(errs, errors.New("coordination: "+problem))
		}
	}
	need(c.Addr != "" || c.Resolve != nil, "Addr or Resolve is needed")
	need(c.Database >= 0, "Database must not be negative")
	need(c.Protocol == 0 || c.Protocol == 2 || c.Protocol == 3, "Protocol must be 2 or 3")
	need(c.DialTimeout > 0, "DialTimeout must be above 0")
	need(c.CommandTimeout > 0, "CommandTimeout must be above 0")
	need(c.MaxInFlight > 0, "MaxInFlight must be above 0")
	need(c.AdmissionWait >= 0, "AdmissionWait must not be negative")
	need(c.BreakerFailures > 0, "BreakerFailures must be above 0")
	need(c.BreakerProbeEvery > 0, "BreakerProbeEvery must be above 0")
	return errors.Join(errs...)
}

// Budget is the wait for a place and one command. A call that meets NOSCRIPT takes
// one command more, if its ctx leaves time for it.
func (c Config) Budget() time.Duration { return c.AdmissionWait + c.CommandTimeout }
