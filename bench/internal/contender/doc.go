// Package contender holds all that is measured, each behind the same few names:
// the limiters of this repository through the ports that a service uses, other
// projects' limiters with their own defaults, and floors, which limit nothing.
//
// The one rule that matters: a contender does the work that its users get. Keys,
// and a ctx with a deadline for each caller, are made before the clock starts;
// everything else is inside.
package contender
