package duallog_test

import (
	"errors"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

func TestResharding_isUnavailableByANameOfItsOwnAndOpensNoBreaker(t *testing.T) {
	r := newRig(t, redistest.Start(t), failures(1))
	r.link.Fault("EVALSHA", -1, redistest.Replace([]byte("-TRYAGAIN Multiple keys request during rehashing of slot\r\n")))
	for _, f := range forms {
		for range 3 {
			v, err := f.call(t.Context(), r, newSubject())
			if v.Allowed || !errors.Is(err, slidinglog.ErrUnavailable) || errors.Is(err, slidinglog.ErrUnknown) {
				t.Errorf("%s call: got %+v, %v; want ErrUnavailable", f, v, err)
			}
			if got := slidinglog.Reason(err); got != "resharding" || !slidinglog.IsOutage(err) {
				t.Errorf("%s call: reason %q, an outage %t; want resharding, which is one", f, got, slidinglog.IsOutage(err))
			}
			r.expectBreaker("closed")
		}
	}
}
