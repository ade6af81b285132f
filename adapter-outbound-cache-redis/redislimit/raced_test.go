//go:build race

package redislimit_test

// raced tells that the race detector slows this binary down many times over.
const raced = true
