// Package reply reads the bytes that a program answered, strictly: exactly the
// fields, syntax and ranges that the programs speak, and no contradiction
// between them. Whatever else arrives is an error, never a decision.
//
// The one rule that matters: the size of what is read is bounded before it is
// read. See Buffer.
package reply
