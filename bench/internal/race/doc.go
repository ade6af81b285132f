// Package race measures contenders against each other: in rounds, in each of which
// all of them run a slice of time under the same load, so that whatever else the
// machine does meets all of them alike. The figures are medians over the rounds.
package race
