package server

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"
)

// Spent is how often the server ran a command, and how long that took it.
type Spent struct {
	Calls int64
	Time  time.Duration
}

// Bill is what each command took, by its name in small letters. A script's time
// has that of the commands which it calls within it, and they have it as well.
type Bill map[string]Spent

// Bill is the server's since its start. It counts in whole microseconds, rounded
// by chance: of few calls it says little.
func (s *Server) Bill(ctx context.Context) (Bill, error) {
	info, err := s.client.InfoMap(ctx, "commandstats").Result()
	if err != nil {
		return nil, fmt.Errorf("read what commands took: %w", err)
	}
	bill := Bill{}
	for name, figures := range info["Commandstats"] {
		spent, err := spentOf(figures)
		if err != nil {
			return nil, fmt.Errorf("read what %s took, %q: %w", name, figures, err)
		}
		bill[strings.TrimPrefix(name, "cmdstat_")] = spent
	}
	return bill, nil
}

// spentOf reads calls=2,usec=31,usec_per_call=15.50 and whatever follows.
func spentOf(figures string) (Spent, error) {
	var s Spent
	for part := range strings.SplitSeq(figures, ",") {
		name, value, _ := strings.Cut(part, "=")
		if name != "calls" && name != "usec" {
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return Spent{}, err
		}
		if name == "calls" {
			s.Calls = n
		} else {
			s.Time = time.Duration(n) * time.Microsecond
		}
	}
	return s, nil
}

// Since is what has been spent since an earlier bill.
func (b Bill) Since(before Bill) Bill {
	since := Bill{}
	for name, now := range b {
		was := before[name]
		if now.Calls > was.Calls {
			since[name] = Spent{Calls: now.Calls - was.Calls, Time: now.Time - was.Time}
		}
	}
	return since
}

// Scripts is the time within scripts, that of their commands included.
func (b Bill) Scripts() time.Duration { return b["evalsha"].Time + b["eval"].Time }

// Within are the commands that scripts gave, where nobody gives any otherwise.
func (b Bill) Within() Bill {
	within := maps.Clone(b)
	for _, outside := range []string{"evalsha", "eval", "info"} {
		delete(within, outside)
	}
	return within
}

// Given is the time within those commands.
func (b Bill) Given() (all time.Duration) {
	for _, spent := range b.Within() {
		all += spent.Time
	}
	return all
}
