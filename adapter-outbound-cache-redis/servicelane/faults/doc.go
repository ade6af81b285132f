// Package faults is the suite of what goes wrong: one row a fault and limiter, on a server of its own where it harms one.
//
// The one rule that matters: a row says what callers heard, what the server itself says it charged for that, and that
// the limiter served again with nobody's help. Counts are strict. A time is of the moment when the fault ended until the
// next decision, and where callers were served throughout none is told; only the crowd's is judged.
//
// Both limiters meet the same rows, the edge port under each algorithm and the sliding log in one layer and in two. The
// edge port alone has batches, forty callers with limits of their own, too short a deadline, a key of a batch that holds
// something else, and states from another time; the log alone a breaker that answers open, and a caller who has gone; each has
// its own steps of a clock, and eviction meets the log in one layer. A fault meets one caller alone, batches of eight
// callers where it breaks a command of the edge port, and many callers at once. Rows that harm no server share one: those
// of a link, of a user's rights, and of states from another time.
//
// Read limiter_test.go and scene_test.go first. There is a file for each family: transport, shift, standstill,
// predicament, load, memory, rights, password, persistence, clock, step (of a binary's own clock), deadline and crowd.
package faults
