package faults_test

import (
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
)

const (
	user          = "app"
	otherPassword = "another one"
)

// A wrong password is named, nothing is sent, and made right on the server the limiter serves by itself.
func TestPassword_thatIsWrongIsNamedAndNothingIsSent(t *testing.T) {
	each(t, passwordIsWrong)
}

func passwordIsWrong(t *testing.T, k *kind) {
	own := server.Start(t)
	k.grant(t, own, user, "")
	own.Do(t, "ACL", "SETUSER", user, "resetpass", ">"+otherPassword)
	s := k.unready(t, own, k.as(user))
	err := s.firstAttempt()
	if err == nil || !strings.Contains(err.Error(), "WRONGPASS") || strings.Contains(err.Error(), password) {
		t.Errorf("the first attempt says %v, want WRONGPASS and no password", err)
	}
	for _, q := range s.alone("unavailable CREDENTIALS") {
		s.expectCharged(q, 0)
	}
	s.crowd(lanesCallers)
	s.expectHeard("unavailable CREDENTIALS")
	if sent := s.Link.Forwarded("EVALSHA") + s.Link.Forwarded("EVAL"); sent != 0 {
		t.Errorf("%d programs were sent, want 0", sent)
	}
	own.Do(t, "ACL", "SETUSER", user, ">"+password)
	s.record("the password is wrong", "named; nothing was sent; served within %v of its being right", round(s.recovers()))
}

// A password that is rotated under load costs nothing while connections live. Once they end, calls are refused and
// nothing is charged, until the password is back.
func TestPassword_thatIsRotatedUnderLoad(t *testing.T) {
	each(t, passwordIsRotated)
}

func passwordIsRotated(t *testing.T, k *kind) {
	own := server.Start(t)
	k.grant(t, own, user, "")
	s := k.at(t, own, underLoad, unlimited, k.as(user))
	l := s.begin(loadCallers)
	l.awaitCalls("allowed", 500)
	own.Do(t, "ACL", "SETUSER", user, "resetpass", ">"+otherPassword)
	l.awaitCalls("allowed", 1000)
	s.mu.Lock()
	s.expectHeard("allowed")
	s.mu.Unlock()
	own.Do(t, "CLIENT", "KILL", "USER", user)
	l.awaitCalls("unavailable CREDENTIALS", loadCallers)
	s.Eventually("say that the password is refused", func() bool {
		health := s.Connection.Health()
		return !health.Ready && health.Refused && says(health.Problems, "WRONGPASS")
	})
	l.stop()
	l.expectCharged()
	refused := s.alone("unavailable CREDENTIALS")
	for _, q := range refused {
		s.expectCharged(q, 0)
	}
	s.expectHeard("allowed", "indeterminate", "unavailable CONNECTION", "unavailable CREDENTIALS")
	own.Do(t, "ACL", "SETUSER", user, ">"+password)
	s.record("the password is rotated under load",
		"open connections went on, new ones were refused; served within %v of the password's return", round(s.recovers()))
}
