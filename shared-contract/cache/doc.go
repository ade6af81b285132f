// Package cache is the contract of a cache that services share: the port, the keys
// and entries it takes, and the results it answers with. It names no provider and
// imports only the standard library.
//
// The one rule that matters: a cache may forget anything at any time, and may be
// away. Whoever asks one must be able to go on without it, and nothing that has to
// be counted or kept belongs in it.
//
// Read port.go first, then result.go. Package memory is the port in one process's
// memory, package cachetest holds any implementation against the contract.
package cache
