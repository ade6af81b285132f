// Package memory is the cache in one process's memory, bounded in entries and in
// bytes.
//
// The one rule that matters: when it is full, the entry that was longest unused
// goes. That is no failure; a cache may forget anything.
package memory
