// Package report reads what a lane's tests printed and makes the page of it.
//
// The one rule that matters: a test that was skipped, or a suite in which none ran, fails the lane as a failed test
// does.
package report
