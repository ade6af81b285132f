// Package history is a suite of the lane: what many clients in several processes were answered, each by the interval
// in which it asked, must be explainable as one sequence of calls to the model, in an order that nobody could have
// seen otherwise (linearizability, checked by porcupine). It holds for the three algorithms of the edge port, alone
// and in batches, and for the sliding log of one and of two layers; with a healthy server and with a link that loses
// replies, resets and cuts connections, and a server that forgets its scripts.
//
// The one rule that matters: a call of unknown outcome may have been charged at any time after it was made, or never,
// and every other failure must not have been charged at all.
//
// Read operation_test.go for what a client notes, workload_test.go for who asks what, the *_model_test.go files for
// what is demanded, and seed_test.go for proof that the same checker finds programs with a fault.
package history
