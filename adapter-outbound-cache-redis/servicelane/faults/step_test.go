package faults_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
)

// A server whose own clock steps, by a preload. A binary alone can be started with one, so a server from an image has no
// such rows, which its page tells; states from another time are for all. The environment of the server is the
// process's, so this test runs beside no other.
func TestStep_ofTheServersOwnClock(t *testing.T) {
	source, err := server.Find()
	if err != nil {
		t.Fatal(err)
	}
	rows := []struct {
		sentence string
		step     func(t *testing.T, c *clock)
	}{
		{"an hour forth and back", anHourForthAndBack},
		{"back within what policies allow", backWithinWhatPoliciesAllow},
		{"a log's window and more forth and back", beyondALogsWindow},
	}
	if source.Binary == "" {
		rows = nil
	}
	evidence.Record(t, "steps of the server's own clock, which a binary alone can make", "%d", len(rows))
	for _, row := range rows {
		t.Run(row.sentence, func(t *testing.T) {
			c := preload(t, source.Binary)
			row.step(t, c)
		})
	}
}

// Who spent in an hour that the clock then takes back is refused until it is safe, to the millisecond, while others are
// served; once the hour has come he goes on from what he had spent.
func anHourForthAndBack(t *testing.T, c *clock) {
	s := edgePort.stage(t, nil)
	spent := s.admit(1)
	c.set(t, time.Hour)
	safe := map[question]int64{}
	for _, q := range spent {
		s.demand(q, rig.Allowed(rig.Limit-2))
		safe[q] = s.observed(q) - clamped.Milliseconds()
	}
	c.set(t, 0)
	for _, q := range spent {
		s.expectUnsafe(q, safe[q])
	}
	s.recovers()
	c.set(t, time.Hour-clamped/2)
	for _, q := range spent {
		seen := s.observed(q)
		s.demand(q, rig.Allowed(rig.Limit-3))
		if s.observed(q) != seen {
			t.Errorf("%s: the state has seen %d, want %d still", q.way, s.observed(q), seen)
		}
	}
	c.set(t, time.Hour)
	for _, q := range spent {
		seen := s.observed(q)
		s.demand(q, rig.Allowed(rig.Limit-4))
		if s.observed(q) <= seen {
			t.Errorf("%s: the state has seen %d, want more than %d", q.way, s.observed(q), seen)
		}
		s.expectChargedSince(q, 1, 3)
	}
	s.recovers()
	s.record("the server's own clock steps an hour forth and back", "refused to the millisecond, others served; went on once the hour had come")
}

func backWithinWhatPoliciesAllow(t *testing.T, c *clock) {
	s := edgePort.stage(t, nil)
	spent := s.admit(1)
	c.set(t, -clamped/2)
	for _, q := range spent {
		seen := s.observed(q)
		s.demand(q, rig.Allowed(rig.Limit-2))
		if s.observed(q) != seen {
			t.Errorf("%s: the state has seen %d, want %d still", q.way, s.observed(q), seen)
		}
		s.expectChargedSince(q, 1, 1)
	}
	c.set(t, 0)
	s.goesOn(spent...)
	s.recovers()
	s.record("the server's own clock steps back by 1 s of the 2 s allowed", "counted on from the time that was seen")
}

// A log whose newest call is more than a window ahead is refused and left as it is, while others are served; from within
// a window on it counts at that call's time.
func beyondALogsWindow(t *testing.T, c *clock) {
	const window = time.Hour
	s := slidingLog.stage(t, nil, func(o *options) { o.window = window })
	spent := s.admit(1)
	c.set(t, 2*window)
	for _, q := range spent {
		s.demand(q, admitted) // the log of before has ended
	}
	c.set(t, 0)
	for _, q := range spent {
		before := s.logs(q)
		s.demand(q, "clock unsafe")
		if left := s.logs(q); left != before {
			t.Errorf("%s: the refusal left %s, was %s", q.way, left, before)
		}
	}
	s.recovers()
	c.set(t, window)
	for _, q := range spent {
		before := s.newest(q)
		s.demand(q, rig.Allowed(rig.Limit-2))
		if after := s.newest(q); !slices.Equal(after, before) {
			t.Errorf("%s: counted at %v, want %v", q.way, after, before)
		}
	}
	c.set(t, 2*window)
	for _, q := range spent {
		s.demand(q, rig.Allowed(rig.Limit-3))
		s.expectCharged(q, 3)
	}
	s.recovers()
	s.record("the server's own clock steps two windows forth and back", "refused while more than a window ahead, others served; then counted on from the newest call")
}

// logsOf are the keys of a subject's logs.
func (s *scene) logsOf(q question) []string {
	tenant, user := s.limiter.(log).keys(q.subject)
	if q.way == oneLayer {
		return []string{tenant}
	}
	return []string{tenant, user}
}

// logs is all that the server says of a subject's logs: members, times, and when they end.
func (s *scene) logs(q question) string {
	s.t.Helper()
	var all strings.Builder
	for _, key := range s.logsOf(q) {
		fmt.Fprintln(&all, s.do("ZRANGE", key, "0", "-1", "WITHSCORES"), s.do("PEXPIRETIME", key))
	}
	return all.String()
}

// newest are the times of their newest calls.
func (s *scene) newest(q question) (times []string) {
	s.t.Helper()
	for _, key := range s.logsOf(q) {
		reply := s.do("ZRANGE", key, "-1", "-1", "WITHSCORES").([]any)
		if len(reply) != 2 {
			s.t.Fatalf("%s: %s has no newest call", q.way, key)
		}
		times = append(times, reply[1].(string))
	}
	return times
}

// clock is what the server's clock is beside the machine's.
type clock struct {
	offset *os.File
	base   time.Duration
}

// preload has the servers that this test starts run with a clock of their own, at a moment that is far from the end of any
// window.
func preload(t *testing.T, program string) *clock {
	t.Helper()
	start := time.Date(2027, time.June, 1, 0, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	library, offset, wrapper := filepath.Join(dir, "clock.so"), filepath.Join(dir, "offset"), filepath.Join(dir, "redis-server")
	if printed, err := exec.Command("../../../scripts/redis-clock/build.sh", library).CombinedOutput(); err != nil {
		t.Fatalf("build the preload that moves a server's clock: %v\n%s", err, printed)
	}
	program, err := filepath.Abs(program)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(offset)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	c := &clock{offset: file, base: time.Until(start)}
	c.set(t, 0)
	script := fmt.Sprintf("#!/bin/sh\nEDGELIMIT_CLOCK_FILE='%s' LD_PRELOAD='%s' exec '%s' \"$@\"\n", offset, library, program)
	if err := os.WriteFile(wrapper, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv(server.BinaryVariable, wrapper)
	return c
}

// set moves the clock to so far from where it began, in place: a server that runs has mapped the file.
func (c *clock) set(t *testing.T, from time.Duration) {
	t.Helper()
	micros := binary.NativeEndian.AppendUint64(nil, uint64((c.base + from).Microseconds()))
	if _, err := c.offset.WriteAt(micros, 0); err != nil {
		t.Fatal(err)
	}
}
