package cache

import (
	"slices"
	"time"
)

// Cause is why a cache gave no answer.
type Cause string

// The causes of Unavailable.
const (
	CauseRequest    Cause = "REQUEST"    // the key or the entry is zero; nothing ran
	CauseDeadline   Cause = "DEADLINE"   // the ctx has no deadline, or has ended; nothing ran
	CauseConnection Cause = "CONNECTION" // the store could not be reached; nothing ran
	CauseServer     Cause = "SERVER"     // the store refused; nothing ran
	CauseState      Cause = "STATE"      // what is there was not written through this port
	CauseUnknown    Cause = "UNKNOWN"    // no answer came: a write may have happened
)

// Reading is the answer to Get: exactly one of Hit, Miss and Unavailable. Read it
// with [MatchReading]. The zero Reading is Unavailable UNKNOWN.
type Reading struct {
	found  found
	hit    Hit
	failed Unavailable
}

type found uint8

const (
	foundUnknown found = iota
	foundEntry
	foundNothing
)

// Hit is an entry that is there.
type Hit struct {
	Value []byte
	Token Token
	TTL   time.Duration // what is left, above 0, by the store's clock
}

// Miss is an entry that is not there.
type Miss struct{}

// Unavailable is no answer.
type Unavailable struct{ Cause Cause }

// Reading makes a Reading of h, whose value it copies.
func (h Hit) Reading() Reading {
	h.Value = slices.Clone(h.Value)
	return Reading{found: foundEntry, hit: h}
}

// Reading makes a Reading of m.
func (m Miss) Reading() Reading { return Reading{found: foundNothing} }

// Reading makes a Reading of u.
func (u Unavailable) Reading() Reading { return Reading{failed: u} }

// MatchReading calls the function of what r is and returns its answer.
func MatchReading[T any](r Reading, hit func(Hit) T, miss func(Miss) T, unavailable func(Unavailable) T) T {
	switch r.found {
	case foundEntry:
		return hit(r.hit)
	case foundNothing:
		return miss(Miss{})
	case foundUnknown:
	}
	return unavailable(r.failed.known())
}

// Writing is the answer to a write: exactly one of Stored, Conflict and
// Unavailable. Read it with [MatchWriting]. The zero Writing is Unavailable UNKNOWN.
type Writing struct {
	written written
	stored  Stored
	failed  Unavailable
}

type written uint8

const (
	writtenUnknown written = iota
	writtenEntry
	writtenNothing
)

// Stored is a write that took effect.
type Stored struct {
	Token Token // of this write
}

// Conflict is a write that took no effect, because of what is or is not there.
type Conflict struct{}

// Writing makes a Writing of s.
func (s Stored) Writing() Writing { return Writing{written: writtenEntry, stored: s} }

// Writing makes a Writing of c.
func (c Conflict) Writing() Writing { return Writing{written: writtenNothing} }

// Writing makes a Writing of u.
func (u Unavailable) Writing() Writing { return Writing{failed: u} }

// MatchWriting calls the function of what w is and returns its answer.
func MatchWriting[T any](w Writing, stored func(Stored) T, conflict func(Conflict) T, unavailable func(Unavailable) T) T {
	switch w.written {
	case writtenEntry:
		return stored(w.stored)
	case writtenNothing:
		return conflict(Conflict{})
	case writtenUnknown:
	}
	return unavailable(w.failed.known())
}

func (u Unavailable) known() Unavailable {
	if u.Cause == "" {
		u.Cause = CauseUnknown
	}
	return u
}
