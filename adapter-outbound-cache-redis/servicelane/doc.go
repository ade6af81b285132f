// Command servicelane holds every promise of the limiter to one real server, by any of three sources: an image, a
// binary or a server that runs. It prints what it counted and writes a page of docs/evidence.
//
//	go run .                    every suite, over RESP2 and RESP3
//	go run . -suites faults     those alone; no page is written
//	go run . -suites partition  with a page of its own
//
// The suites are packages of tests, and go test runs each of them alone too:
//
//   - promises: the programs over the vectors, states, lifetimes, boundaries; it needs no server of its own and harms
//     none
//   - faults: each fault, what callers hear, and what the server has charged
//   - history: histories of many clients in several processes, checked for linearizability
//
// The suite partition is no part of every suite: it cuts networks of containers in two, and needs an image.
//
// Over RESP3 the histories and the millions of refills are left out: promises and faults show what the protocol could
// change.
package main
