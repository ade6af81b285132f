// Drill kills the Redis of two gateways under load, brings it back, and counts what
// was admitted meanwhile, under each outage policy.
//
//	drill -root ../.. -redis redis-server -report FILE [-short] [-only WORD]
//	drill -root ../.. -report FILE -check
//
// It fails, and writes nothing, if the figures do not bear out what is claimed. See
// internal/report for the claims and the page, internal/tally for how is counted,
// internal/stage for what is run, scenario.go for the course of an outage.
package main
