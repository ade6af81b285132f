package program_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
)

// forbidden are the ways in which Lua loses or invents digits, takes a second
// look at the clock, or touches what a cluster or an ACL does not expect.
var forbidden = []struct {
	sentence string
	form     *regexp.Regexp
}{
	{"tostring keeps 14 digits", regexp.MustCompile(`tostring`)},
	{".. keeps 14 digits of a number", regexp.MustCompile(`\.\.`)},
	{"a fraction or an exponent in a number", regexp.MustCompile(`\d\.\d|\b\d+[eE]\d`)},
	{"floor, ceil and % round in floating point", regexp.MustCompile(`math\.(floor|ceil|modf|pow|sqrt|huge|random)|[^'^./]%[^d.]`)},
	{"a format other than %.0f", regexp.MustCompile(`format\('[^']*%[^.'][^']*'|format\('%\.[1-9]`)},
	{"a key that is not in KEYS", regexp.MustCompile(`redis\.call\('[A-Z]+', '`)},
	{"pcall hides an error", regexp.MustCompile(`pcall`)},
	{"a global", regexp.MustCompile(`(?m)^\s*function |_G|setfenv`)},
}

var comment = regexp.MustCompile(`--[^\n]*`)

func TestSource_keepsToIntegersAndDeclaredKeys(t *testing.T) {
	for _, p := range program.Catalogue() {
		code := comment.ReplaceAllString(p.Source, "")
		if p.Name == program.RateBatch.Name { // it answers the errors of its decisions one by one
			code = strings.Replace(code, "local made, decision = pcall(decide, KEYS[i], cost)", "", 1)
		}
		for _, rule := range forbidden {
			if found := rule.form.FindString(code); found != "" {
				t.Errorf("%s: %s: %q", p.ID(), rule.sentence, found)
			}
		}
	}
}

func TestSource_callsRedisWhereTheProbeAsksForIt(t *testing.T) {
	for _, p := range program.Rates() {
		code := comment.ReplaceAllString(p.Source, "")
		for command, times := range map[string]int{"TIME": 1, "TYPE": 1, "HGETALL": 1, "HSET": 1, "PEXPIRE": 1} {
			if got := strings.Count(code, "redis.call('"+command+"'"); got != times {
				t.Errorf("%s calls %s in %d places, want %d", p.ID(), command, got, times)
			}
		}
		if got := strings.Count(code, "redis.call("); got != 5 {
			t.Errorf("%s calls Redis in %d places, want the 5 that the probe asks for", p.ID(), got)
		}
	}
}

func TestSource_namesItsKeysArgumentsReplyAndVersion(t *testing.T) {
	for _, p := range program.Catalogue() {
		for _, want := range []string{"-- " + p.Name + ", version 1\n", "-- KEYS  1 ", "-- ARGV  1 ", "-- Returns ", "-- State: "} {
			if !strings.Contains(p.Source, want) {
				t.Errorf("%s has no line %q", p.ID(), want)
			}
		}
	}
}

func TestVersion_readsTheFirstTwoNumbers(t *testing.T) {
	for text, want := range map[string]program.Version{
		"7.0.15": {Major: 7}, "7.4": {Major: 7, Minor: 4}, "8.0.2-rc1": {Major: 8}, "255.255.255": {Major: 255, Minor: 255},
	} {
		got, err := program.ParseVersion(text)
		if err != nil || got != want {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "7", "seven", "7.x.1", "-7.0", "7.-1", ".", "7."} {
		if got, err := program.ParseVersion(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}

func TestVersion_comparesAsNumbers(t *testing.T) {
	for _, row := range []struct {
		older, newer program.Version
	}{
		{program.Version{Major: 6, Minor: 2}, program.Version{Major: 7}},
		{program.Version{Major: 7}, program.Version{Major: 7, Minor: 4}},
		{program.Version{Major: 7, Minor: 9}, program.Version{Major: 7, Minor: 10}},
		{program.Version{Major: 9, Minor: 9}, program.Version{Major: 10}},
	} {
		if !row.older.Before(row.newer) || row.newer.Before(row.older) || row.newer.Before(row.newer) {
			t.Errorf("%v and %v are out of order", row.older, row.newer)
		}
	}
}
