// Package promises holds what this adapter promises of its Lua programs, its limiters and its cache against any server:
// the vectors, boundaries to the millisecond, states that are not ours, clocks that step back, remainders, lifetimes.
//
// The one rule that matters: the server may be somebody's. A test keeps to keys under a prefix that nobody else has and
// deletes them; it changes no setting, empties nothing and flushes no script. What it cannot keep under the prefix are
// the keys of the limiters' own probes, rl:{probe:}: and a random word, which live for two seconds.
//
// What package programtest checks is run here as it is there; the rest asks through the provider, the limiters and the
// cache, or runs the production text on the server's own clock. Read promises_test.go first, then
// scene_test.go.
package promises
