package faults_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/duallog"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/certainty"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/reply"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// slidingLog is the limiter of the inbound web.
var slidingLog = kind{
	name: "sliding log",
	open: openLog,
	word: func(said string) string {
		switch word := first(said); {
		case word == "indeterminate":
			return "unknown"
		case said == "unavailable SERVER", said == "unavailable CREDENTIALS", said == "incompatible PROGRAM":
			return said // its errors hold the server's own
		case word == "unavailable", word == "incompatible":
			return word
		default:
			return said
		}
	},
	wait:   func(c coordination.Config) time.Duration { return c.CommandTimeout }, // the whole of a call
	bound:  func(c coordination.Config) time.Duration { return c.CommandTimeout*3/2 + crowdSlack },
	rights: logRights,
	keys:   func(string) string { return "rl:*" },

	countsAnswers: true,
}

// The ways in which a log is asked. A subject is a tenant, and in two layers its user too, both of one limit: whatever
// befalls a call, their logs must stay equally long. A server that evicts takes each by itself.
const (
	oneLayer  = "one layer"
	twoLayers = "two layers"
)

// log is the limiter as a fault meets it.
type log struct {
	line    *rig.Line
	limiter *duallog.RedisLimiter
	most    int
	tenants string // how the keys of its tenants begin, which nobody else has
}

func openLog(t *testing.T, own server.Server, changes []func(*options)) (*rig.Line, limiter) {
	t.Helper()
	line := rig.NewLine(t, own.Addr(), own)
	o := options{Config: &line.Redis, window: 366 * 24 * time.Hour}
	for _, change := range changes {
		change(&o)
	}
	l := log{line: line, most: rig.Limit, tenants: "rl:{" + rig.Subject()}
	if o.unlimited {
		l.most = duallog.MaxLimit
	}
	var err error
	if l.limiter, err = duallog.Open(duallog.Config{Redis: line.Redis, Window: o.window}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.limiter.Close() })
	line.Connection = l.limiter.Connection()
	return line, l
}

func (l log) ways() []string { return []string{oneLayer, twoLayers} }

func (l log) limit(string) int64 { return int64(l.most) }

func (l log) keys(subject string) (tenant, user string) {
	tenant = l.tenants + "." + subject + "}"
	return tenant, tenant + ":user:ann"
}

func (l log) evaluate(ctx context.Context, q question) string {
	tenant, user := l.keys(q.subject)
	if q.way == oneLayer {
		return sayLog(l.limiter.AllowContext(ctx, tenant, l.most))
	}
	v, err := l.limiter.Dual().AllowDualContext(ctx, tenant, l.most, user, l.most)
	if err == nil && v.Inner.Remaining != v.Outer.Remaining {
		return fmt.Sprintf("%d left to the tenant and %d to the user", v.Outer.Remaining, v.Inner.Remaining)
	}
	return sayLog(v, err)
}

// sayLog is a verdict or an error, which must be of one kind, in a few words.
func sayLog(v slidinglog.Verdict, err error) string {
	switch {
	case err == nil && v.Allowed:
		return rig.Allowed(int64(v.Outer.Remaining))
	case err == nil:
		return fmt.Sprintf("denied %d", v.Outer.Remaining)
	case v != (slidinglog.Verdict{}):
		return fmt.Sprintf("%v beside a verdict", err)
	}
	said := ""
	for _, of := range []struct {
		word     string
		sentinel error
	}{
		{"unavailable", slidinglog.ErrUnavailable}, {"unknown", slidinglog.ErrUnknown},
		{"incompatible", slidinglog.ErrIncompatible}, {"clock unsafe", slidinglog.ErrClockUnsafe},
	} {
		switch {
		case !errors.Is(err, of.sentinel):
		case said == "":
			said = of.word
		default:
			return fmt.Sprintf("an error of two kinds: %v", err)
		}
	}
	if said == "" {
		return fmt.Sprintf("an error of no kind: %v", err)
	}
	return strings.TrimSpace(said + " " + causeOf(err))
}

// causeOf is the category of the server's own error behind err; "" if none is.
func causeOf(err error) string {
	var answered *reply.ServerError
	var refused *coordination.RefusedError
	var shaken redis.Error
	var code string
	switch {
	case errors.As(err, &refused):
		code = refused.Code
	case errors.As(err, &answered):
		if redis.IsMaxClientsError(answered) {
			return "SERVER"
		}
		code = answered.Code
	case errors.As(err, &shaken):
		code, _, _ = strings.Cut(shaken.Error(), " ")
	default:
		return ""
	}
	switch certainty.OfServerError(code) {
	case certainty.Server:
		return "SERVER"
	case certainty.Credentials:
		return "CREDENTIALS"
	default:
		return "PROGRAM"
	}
}

func (l log) charged(q question) int64 {
	l.line.T.Helper()
	tenant, user := l.keys(q.subject)
	length := func(key string) int64 {
		n, ok := l.line.Server.Do(l.line.T, "ZCARD", key).(int64)
		if !ok {
			l.line.T.Fatalf("%s is no log", key)
		}
		return n
	}
	n := length(tenant)
	if q.way == twoLayers { // whose calls may go on meanwhile
		if inner, outer := length(user), length(tenant); inner < n || inner > outer {
			l.line.T.Errorf("%s: %d to %d calls are counted to the tenant, %d to the user", q.subject, n, outer, inner)
		}
	}
	return n
}

func (l log) patterns() (states, probes string) { return l.tenants + ".*", "rl:{probe:*" }
