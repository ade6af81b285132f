// Package faults is the suite of what goes wrong: one row a fault, each on a server of its own.
//
// The one rule that matters: a row says what callers heard, what the server itself says it charged for that, and that
// the provider served again with nobody's help. Counts are strict. A time is of the moment when the fault ended until the
// next decision, and where callers were served throughout none is told; only the crowd's is judged.
//
// A fault meets one caller alone under each algorithm, batches of eight callers where it breaks a command, and many
// callers at once. Rows that harm no server share one: those of a link, of a user's rights, and of states from another
// time.
//
// There is a file for each family: transport, shift, standstill, predicament, load, memory, rights, password,
// persistence, clock, step (of a binary's own clock), deadline and crowd.
package faults
