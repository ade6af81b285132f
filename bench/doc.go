// Command bench measures the limiters of this repository against other projects'
// on one throwaway Redis, judges the figures by the bars that are set, and writes
// docs/evidence/performance.md.
//
// The one rule that matters: speeds that are compared ran in the same rounds. Memory
// is measured by one contender after the other, and each number of subjects has
// rounds of its own. Read on in internal/race for how, in internal/contender for who.
package main
