// Package ablation takes the programs of limiters apart and measures what each step
// of a decision costs Redis.
//
// The one rule that matters: what is taken apart is what a limiter sends, overheard
// on the server, and no copy of it. A program that no longer has a step where it is
// cut is an error, so the page cannot speak of another text than that which runs.
package ablation
