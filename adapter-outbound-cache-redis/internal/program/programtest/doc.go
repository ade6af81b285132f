// Package programtest holds the Lua programs to the vectors, and to what they owe a state that is not theirs, on any
// server that a client reaches.
//
// The one rule that matters: a check touches the keys under its prefix and no others, and changes nothing else of the
// server, so that it may be run on one that has other work. Whoever gives the prefix deletes what is left under it.
//
// The checks are [Vectors], [LogVectors] and [BatchVectors]; [RefusesStates], [BatchRefusesStates] and [LogRefusesKeys];
// [KeepsStates], [BatchKeepsStates] and [LogKeepsLogs]. Each says how much it went through. Read [SetClock] for how a
// program is given the time, and [Eval] and [Bed] for how one is run.
package programtest
