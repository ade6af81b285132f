package ablation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/edgelimit/edgelimit/bench/internal/contender"
	"github.com/edgelimit/edgelimit/bench/internal/load"
	"github.com/edgelimit/edgelimit/bench/internal/server"
)

// So many callers, and so many decisions, that some of them run together.
const (
	crowd     = 64
	decisions = 100 * crowd
	term      = time.Minute
)

// Of is the script by which a contender decides, overheard: for one caller, or for
// many at once.
func Of(ctx context.Context, s *server.Server, c contender.Contender, which Calls) (Script, error) {
	calls, err := Overhear(ctx, s.Addr(), func() (err error) {
		limiter, err := c.Open(s.Addr(), contender.Names(decisions))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, limiter.Close()) }()
		ctx, cancel := context.WithTimeout(ctx, term)
		defer cancel()
		if which == Batch {
			return load.Touch(ctx, limiter, decisions, crowd)
		}
		_, err = load.Insist(ctx, limiter.Caller(ctx), 0)
		return err
	})
	if err != nil {
		return Script{}, fmt.Errorf("overhear %s: %w", c.Name, err)
	}
	script, err := Heard(calls, which)
	if err != nil {
		return Script{}, fmt.Errorf("overhear %s: %w", c.Name, err)
	}
	return script.Named(c.Name), nil
}
