// Package model is the legible reading of the three edge algorithms: pure
// functions over integers with no clock, lock or I/O. The Lua programs of the
// Redis provider are the atomic reading of the same rules; the vectors are the
// law for both.
//
// The one rule that matters: no intermediate leaves 2^53-1, so that a reading in
// IEEE doubles computes the same numbers. Divisions are quotient and remainder;
// nothing is rounded but where the rule says up or down.
//
// Read model.go for the frame that all three share (clock, state, expiry), then
// the file of one algorithm.
package model
