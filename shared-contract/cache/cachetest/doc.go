// Package cachetest holds an implementation of the cache port against the contract.
//
// The one rule that matters: the suite is exact. What a check stores is under keys
// that no other check has, so a shared store disturbs nothing.
//
// Read run.go first: the list of what is promised.
package cachetest
