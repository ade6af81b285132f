package config

import (
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/identity"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/limitkey"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

var (
	stringType   = reflect.TypeFor[string]()
	boolType     = reflect.TypeFor[bool]()
	intType      = reflect.TypeFor[int64]()
	durationType = reflect.TypeFor[time.Duration]()
)

// exact reads a scalar of type t by its source text, so that no conversion has
// a chance to be generous. The error is the second half of a sentence that
// begins with the key.
func exact(n *yaml.Node, t reflect.Type) (any, error) {
	switch t {
	case stringType:
		return exactString(n)
	case boolType:
		return exactBool(n)
	case intType:
		return exactInt(n)
	case durationType:
		return exactDuration(n)
	default:
		return nil, fmt.Errorf("has the type %v, which this program cannot read", t)
	}
}

func exactString(n *yaml.Node) (any, error) {
	switch {
	case n.Kind != yaml.ScalarNode:
		return nil, errors.New("must be a string")
	case n.Tag != "!!str":
		return nil, errors.New("must be a string: put it in quotes")
	case !utf8.ValidString(n.Value) || strings.ContainsFunc(n.Value, unicode.IsControl):
		return nil, errors.New("must be one line of printable text")
	}
	return n.Value, nil
}

// exactID checks a key of a table, which is a tenant's id.
func exactID(n *yaml.Node) error {
	if _, err := exactString(n); err != nil {
		return fmt.Errorf("is an id, which %w", err)
	}
	_, err := limitkey.NewRandom().Keys(identity.Principal{Tenant: n.Value}, netip.Prefix{})
	if err != nil {
		return fmt.Errorf("is an id, which must have 1 to %d bytes in its percent-encoded form", limitkey.MaxIDLen)
	}
	return nil
}

func exactBool(n *yaml.Node) (any, error) {
	if plain(n) && (n.Value == "true" || n.Value == "false") {
		return n.Value == "true", nil
	}
	return nil, errors.New("must be true or false, without quotes")
}

var integer = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

func exactInt(n *yaml.Node) (any, error) {
	if !plain(n) || !integer.MatchString(n.Value) {
		return nil, errors.New("must be a whole number in plain digits, without quotes")
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil || v > ratelimit.MaxSafeInteger || v < -ratelimit.MaxSafeInteger {
		return nil, fmt.Errorf("must be at most %d", ratelimit.MaxSafeInteger)
	}
	return v, nil
}

var durationPart = regexp.MustCompile(`([0-9]*\.?[0-9]*)(ns|us|µs|μs|ms|s|m|h)`)

// exactDuration takes Go's syntax, and only a whole number of milliseconds. The
// sum is checked in rationals: Go's parser drops what is below a nanosecond.
func exactDuration(n *yaml.Node) (any, error) {
	if n.Kind != yaml.ScalarNode || len(n.Value) > 64 {
		return nil, errors.New("must be a duration with a unit, as in 1s or 250ms")
	}
	d, err := time.ParseDuration(n.Value)
	switch {
	case integer.MatchString(n.Value):
		return nil, fmt.Errorf("needs a unit, as in %ss or %[1]sms", strings.TrimPrefix(n.Value, "-"))
	case err != nil || n.Tag != "!!str":
		return nil, errors.New("must be a duration with a unit, as in 1s or 250ms, up to 8784h")
	case strings.HasPrefix(n.Value, "-"):
		return nil, errors.New("must not be negative")
	}
	sum := new(big.Rat)
	for _, part := range durationPart.FindAllStringSubmatch(n.Value, -1) {
		amount, ok := new(big.Rat).SetString(part[1])
		unit, err := time.ParseDuration("1" + part[2])
		if !ok || err != nil {
			return nil, errors.New("must be a duration with a unit, as in 1s or 250ms")
		}
		sum.Add(sum, amount.Mul(amount, big.NewRat(int64(unit), int64(time.Millisecond))))
	}
	switch {
	case !sum.IsInt():
		return nil, errors.New("must be a whole number of milliseconds")
	case d > ratelimit.MaxSpan:
		return nil, errors.New("must be at most 366 days (8784h)")
	}
	return d, nil
}

// plain tells whether n is a scalar without quotes or block style.
func plain(n *yaml.Node) bool {
	const styled = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	return n.Kind == yaml.ScalarNode && n.Style&styled == 0
}

// but ends a sentence with what was found instead.
func but(n *yaml.Node, key string) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "; it is a section"
	case n.Kind == yaml.SequenceNode:
		return "; it is a list"
	case secretive(key):
		return ""
	}
	return "; it is " + shown(n.Value)
}
