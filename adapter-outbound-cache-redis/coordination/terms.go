package coordination

import (
	"context"
	"time"
)

// terms are how long one call may wait and take.
type terms struct {
	deadline   time.Time     // the end of the call; zero is none, which leaves no time
	admitUntil time.Time     // the end of the wait for a place in flight
	command    time.Duration // what each command may take; 0 is what is left of the budget
	budgetEnd  time.Time     // with one budget: its end, which the caller need not wait for
}

// termsOf are a call's terms. With one budget, waiting and commands share the
// command timeout. Otherwise the command timeout is fixed, and the wait is the
// admission wait or what the deadline leaves beside a command.
func (c Config) termsOf(ctx context.Context) terms {
	now := time.Now()
	deadline, given := ctx.Deadline()
	if c.OneBudget {
		end := now.Add(c.CommandTimeout)
		if !given || end.Before(deadline) {
			deadline = end
		}
		return terms{deadline: deadline, admitUntil: end, budgetEnd: end}
	}
	t := terms{deadline: deadline, admitUntil: now.Add(c.AdmissionWait), command: c.CommandTimeout}
	if latest := deadline.Add(-t.command); latest.Before(t.admitUntil) {
		t.admitUntil = latest
	}
	return t
}

// leaveTime tells whether the caller is still there and a command may be sent.
func (t terms) leaveTime(ctx context.Context) bool {
	left := time.Until(t.deadline)
	return ctx.Err() == nil && left > 0 && left >= t.command
}

// timeout is what a command that is sent now may take.
func (t terms) timeout() time.Duration {
	if t.command > 0 {
		return t.command
	}
	return time.Until(t.budgetEnd)
}
