// Package edge joins the questions that every way in asks about a request, in
// one order: is its path unambiguous, who sent it, what is it charged, and what
// does the port say.
//
// The one rule that matters: the port is asked at most once for a request, within
// a finite budget, and whatever is not an allowing answer does not pass.
//
// The sibling packages middleware and handler put a [Judge] to use.
package edge
