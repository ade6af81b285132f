// Package program is the catalogue of Lua programs: each with the manifest of
// what it takes and returns, and the SHA that Redis knows it by.
//
// The one rule that matters: a program's text is frozen under its version. A
// golden test pins every SHA; a changed text needs a new version.
//
// A rate program's text is the clock (clock.lua, which reads Redis TIME once), the
// frame (numbers.lua, state.lua) and the algorithm's body; the log program has a
// clock of microseconds and needs the numbers alone. Tests compile the same frame
// and body behind a clock that they set, so no argument of a production program
// can set the time.
package program
