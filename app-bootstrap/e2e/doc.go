// Package e2e holds no code: its tests run the built binary from outside, with a
// real Redis, a real upstream and the operating system's signals.
//
// The one rule that matters: whatever a user can see of the program is checked
// here as the user sees it, in statuses, headers, bodies, exit codes and logs.
//
// Begin with absent_test.go: rate limiting that is off is not there.
package e2e
