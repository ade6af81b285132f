package rig

import (
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

const pollEvery = 2 * time.Millisecond

// Witness asks a server past the link.
type Witness interface {
	Do(tb testing.TB, args ...string) any
}

// Line is a link, the server behind it, and a limiter's connection over it.
type Line struct {
	T          testing.TB
	Server     Witness
	Link       *redistest.Link
	Redis      coordination.Config
	Connection coordination.Endpoint // of the limiter, once one is opened by Redis
}

// NewLine is a line to addr without a connection. Its config is for whoever opens one, who may alter it before.
func NewLine(tb testing.TB, addr string, server Witness) *Line {
	tb.Helper()
	link := redistest.NewLink(tb, addr)
	return &Line{T: tb, Server: server, Link: link, Redis: coordination.Config{
		Addr: link.Addr(), Protocol: Protocol(tb), DialTimeout: time.Second, CommandTimeout: CommandTimeout,
		MaxInFlight: 64, AdmissionWait: 250 * time.Millisecond,
		BreakerFailures: 5, BreakerProbeEvery: 200 * time.Millisecond,
	}}
}

// AwaitReady waits until the limiter serves, with a few connections open.
func (l *Line) AwaitReady() {
	l.T.Helper()
	warm := min(8, l.Redis.MaxInFlight)
	l.Eventually("be ready and warm", func() bool {
		stats := l.Connection.Stats()
		return l.Connection.Health().Ready && stats.Dialing == 0 && stats.Idle >= warm
	})
}

// Eventually polls for what must come by itself, and says how long it took.
func (l *Line) Eventually(what string, holds func() bool) time.Duration {
	l.T.Helper()
	began := time.Now()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !holds() {
		if time.Since(began) > Patience {
			l.T.Fatalf("did not %s within %v: health %+v, stats %+v", what, Patience, l.Connection.Health(), l.Connection.Stats())
		}
		<-tick.C
	}
	return time.Since(began)
}
