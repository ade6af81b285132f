package slidinglog

import (
	"fmt"
	"strings"
)

// MaxKeyLen is the longest key, in bytes.
const MaxKeyLen = 1 << 10

// Check refuses, with ErrInvalid, a call of one layer that no implementation
// serves: an empty key or one over MaxKeyLen, or a negative limit.
func Check(key string, limit int) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: the key is empty", ErrInvalid)
	case len(key) > MaxKeyLen:
		return fmt.Errorf("%w: the key has %d bytes; the most is %d", ErrInvalid, len(key), MaxKeyLen)
	case limit < 0:
		return fmt.Errorf("%w: the limit %d is negative", ErrInvalid, limit)
	}
	return nil
}

// CheckDual refuses, with ErrInvalid, a call of two layers that no implementation
// serves: what Check refuses of either, equal keys, or keys that do not share one
// hash tag, without which a Redis Cluster could not decide both at once.
func CheckDual(outerKey string, outerLimit int, innerKey string, innerLimit int) error {
	if err := Check(outerKey, outerLimit); err != nil {
		return err
	}
	if err := Check(innerKey, innerLimit); err != nil {
		return err
	}
	tag, tagged := Tag(outerKey)
	other, otherTagged := Tag(innerKey)
	switch {
	case outerKey == innerKey:
		return fmt.Errorf("%w: both layers have one key", ErrInvalid)
	case !tagged || !otherTagged || tag != other:
		return fmt.Errorf("%w: the keys do not share a hash tag such as {tenant}", ErrInvalid)
	}
	return nil
}

// Tag is a key's hash tag by Redis Cluster's rule: what stands between the first
// { and the first } after it, if that is not empty.
func Tag(key string) (string, bool) {
	_, rest, opened := strings.Cut(key, "{")
	tag, _, closed := strings.Cut(rest, "}")
	return tag, opened && closed && tag != ""
}
