package program

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a Redis server's version, as far as it matters here.
type Version struct{ Major, Minor int }

// ParseVersion reads the first two numbers of a version such as 7.0.15.
func ParseVersion(s string) (Version, error) {
	major, rest, _ := strings.Cut(s, ".")
	minor, _, _ := strings.Cut(rest, ".")
	v, err := Version{}, error(nil)
	if v.Major, err = strconv.Atoi(major); err == nil {
		v.Minor, err = strconv.Atoi(minor)
	}
	if err != nil || v.Major < 0 || v.Minor < 0 {
		return Version{}, fmt.Errorf("%q is not a server version", s)
	}
	return v, nil
}

// Before tells whether v is older than other.
func (v Version) Before(other Version) bool {
	return v.Major < other.Major || v.Major == other.Major && v.Minor < other.Minor
}

// String is major.minor.
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }
