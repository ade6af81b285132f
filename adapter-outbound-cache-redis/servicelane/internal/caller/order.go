package caller

import (
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// Order is one thing to do: the field that is set.
type Order struct {
	Open  *Target    `json:",omitempty"` // a provider there
	Begin *Load      `json:",omitempty"` // and go on with it in the background
	Mark  string     `json:",omitempty"` // note the moment under a name
	End   bool       `json:",omitempty"` // of the load: it is answered by the account since its beginning
	Drain []Question `json:",omitempty"` // ask each until it is denied: all that is asked is answered
	Ask   *Command   `json:",omitempty"` // a server
}

// Target is where a provider's Redis is: one server or the nodes of a cluster.
type Target struct {
	Addr     string
	Cluster  []string
	Prefix   string // of keys
	Secret   string
	Protocol int
	Limit    int64 // of every policy
}

// Load is questions that are asked in turn, one every so often, whether earlier ones were answered or not.
type Load struct {
	Questions []Question
	Every     time.Duration
	Rounds    int // 0: until the order to end
}

// Question is one evaluation of cost 1.
type Question struct{ PolicyID, Subject string }

// Command is for one server, past the provider.
type Command struct {
	Addr string
	Args []string
}

// Answer is what came of an order. A problem is one of the order itself, never what a server or a provider said.
type Answer struct {
	Problem string  `json:",omitempty"`
	Account Account `json:",omitzero"`
	Reply   any     `json:",omitempty"` // of a server: numbers come as json.Number
	Refused string  `json:",omitempty"` // by a server: its error reply
	Silent  bool    `json:",omitempty"` // no reply came from the server
}

// Account is what was asked and answered.
type Account struct {
	Calls []Call                   `json:",omitempty"`
	Marks map[string]time.Duration `json:",omitempty"`
}

// Call is one evaluation: of which of the questions, from when to when, and what was said. Moments are counted from when the
// caller started.
type Call struct {
	Question   int
	Start, End time.Duration
	Said       string // in the words of [rig.Say], without numbers
}

// Policies are one of each algorithm, of a limit, that free nothing within a test. Their ids are the algorithms' names.
func Policies(limit int64) ([]ratelimit.Policy, error) {
	var all []ratelimit.Policy
	for _, a := range []ratelimit.Algorithm{
		ratelimit.FixedWindow{Limit: limit, Window: 366 * 24 * time.Hour},
		ratelimit.SlidingWindowCounter{Limit: limit, Window: 100 * 24 * time.Hour},
		ratelimit.TokenBucket{Capacity: limit, RefillTokens: 1, RefillPeriod: 24 * time.Hour},
	} {
		p, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
			ID: string(a.Name()), Revision: 1, Algorithm: a, MaxCost: 1, FailureMode: ratelimit.FailClosed,
			MaxClockRegression: 2 * time.Second, CleanupGrace: 30 * time.Second,
		})
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}
