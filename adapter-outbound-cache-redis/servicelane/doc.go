// Command servicelane holds every promise of the limiter to one real server, by any of three sources: an image, a
// binary or a server that runs. It prints what it counted and writes a page of docs/evidence.
//
//	go run .                 every suite, over RESP2 and RESP3
//	go run . -suites faults  those alone; no page is written
//
// The suites are packages of tests, and go test runs each of them alone too:
//
//   - promises: the programs over the vectors, states, lifetimes, boundaries; it needs no server of its own and harms
//     none
//   - faults: each fault, what callers hear, and what the server has charged
//   - history: histories of many clients in several processes, checked for linearizability
//
// Over RESP3 a server of its own is asked for the promises alone: faults do not depend on the protocol.
package main
