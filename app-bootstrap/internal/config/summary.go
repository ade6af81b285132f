package config

import (
	"fmt"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// PolicySummary is what an operator wants to know of a policy.
type PolicySummary struct {
	ID              string
	Revision        int64
	Algorithm       ratelimit.AlgorithmName
	Limit           int64 // units a window, or the bucket's capacity
	Default         bool  // it judges what no route covers
	TTL             time.Duration
	BytesPerSubject int // of Redis memory, about
}

// String is the summary on one line.
func (s PolicySummary) String() string {
	note := ""
	if s.Default {
		note = ", the default"
	}
	return fmt.Sprintf("policy %s revision %d: %s of %d, state lives up to %v, about %d bytes a subject%s",
		s.ID, s.Revision, s.Algorithm, s.Limit, s.TTL, s.BytesPerSubject, note)
}

// What one subject's state costs beside the bytes of its key: the small hash,
// its expiry and the entries of two dictionaries, measured as used_memory over
// 100,000 subjects on Redis 7.0. The three algorithms differ by less than a tenth.
const (
	bytesBesideKey = 210
	digestLen      = 22
)

// Summary describes the policies in their order.
func (c Config) Summary() []PolicySummary {
	var out []PolicySummary
	for _, p := range c.RateLimit.Policies {
		key := len(c.RateLimit.Redis.KeyPrefix) + len(":v1:rate:") + len(p.ID()) + len(":state:") + digestLen
		out = append(out, PolicySummary{
			ID:              p.ID(),
			Revision:        p.Revision(),
			Algorithm:       p.Algorithm().Name(),
			Limit:           p.Limit(),
			Default:         p.ID() == c.RateLimit.DefaultPolicy.ID(),
			TTL:             p.LongestState(),
			BytesPerSubject: bytesBesideKey + key,
		})
	}
	return out
}
