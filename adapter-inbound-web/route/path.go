package route

import (
	"net/url"
	"path"
	"strings"
)

// RawPaths says what happens to a request whose raw path has more than one
// reading.
type RawPaths uint8

// The choices. The zero value rejects.
const (
	// RejectRawPaths answers 400. Every server behind then reads the path as the
	// route rules read it.
	RejectRawPaths RawPaths = iota

	// ForwardRawPaths lets such a path through. It is matched in its cleaned
	// form, and a server behind that reads it otherwise can be reached under
	// another route's policy.
	ForwardRawPaths
)

// Fault is why a raw path has more than one reading; "" is none.
type Fault string

// The faults, worded to follow "the path has".
const (
	DotSegment   Fault = "a dot segment"
	EncodedSlash Fault = "an encoded slash"
	Backslash    Fault = "a backslash"
	DoubledSlash Fault = "a doubled slash"
)

// RawFault is what makes the path of u ambiguous: a segment "." or ".." (%2e is
// a dot, and what follows a semicolon does not make it another segment), %2f, a
// backslash plain or as %5c, or two slashes in a row. A path of "*", or none at
// all, has no fault.
func RawFault(u *url.URL) Fault {
	switch {
	case strings.Contains(u.Path, `\`):
		return Backslash
	case strings.Contains(u.RawPath, "%2f"), strings.Contains(u.RawPath, "%2F"):
		return EncodedSlash
	case strings.Contains(u.Path, "//"):
		return DoubledSlash
	}
	for segment := range strings.SplitSeq(u.Path, "/") {
		segment, _, _ = strings.Cut(segment, ";")
		if segment == "." || segment == ".." {
			return DotSegment
		}
	}
	return ""
}

// Clean is a decoded path in the one form that rules are matched with: rooted,
// without dot segments, doubled slashes or a slash at the end. It is idempotent.
func Clean(decoded string) string {
	if !strings.HasPrefix(decoded, "/") {
		decoded = "/" + decoded
	}
	return path.Clean(decoded)
}
