package cache

import (
	"fmt"
	"regexp"
)

// The most bytes of a key's parts.
const (
	MaxRegionLen = 64
	MaxNameLen   = 1024
)

var regionForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// Key names an entry: a region, which is the kind of thing that is kept, and a name
// within it. Two keys are of one entry if and only if both are equal. The zero Key
// is none. Keys can be compared.
type Key struct{ region, name string }

// NewKey makes a Key. The region is [a-z0-9][a-z0-9._-]{0,63}, the name 1 to
// MaxNameLen bytes of any kind.
func NewKey(region, name string) (Key, error) {
	if !regionForm.MatchString(region) {
		return Key{}, fmt.Errorf("cache region %.80q must be 1 to 64 characters of a-z 0-9 . _ - and begin with a letter or a digit", region)
	}
	if len(name) < 1 || len(name) > MaxNameLen {
		return Key{}, fmt.Errorf("a name in the cache region %s must be 1 to %d bytes; it is %d", region, MaxNameLen, len(name))
	}
	return Key{region: region, name: name}, nil
}

// Region is what NewKey was given.
func (k Key) Region() string { return k.region }

// Name is what NewKey was given.
func (k Key) Name() string { return k.name }

// IsZero tells whether k is none.
func (k Key) IsZero() bool { return k == Key{} }
