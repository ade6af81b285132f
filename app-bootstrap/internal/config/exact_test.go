package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/app-bootstrap/internal/config"
)

func TestLoad_numbersAreExact(t *testing.T) {
	const key = "app.rate-limit.redis.max-in-flight"
	for text, want := range map[string]int{"1": 1, "100000": 100000, "17 # comment": 17} {
		if got := load(t, config.Sources{File: only(key, text)}).RateLimit.Redis.MaxInFlight; got != want {
			t.Errorf("%s: got %d, want %d", text, got, want)
		}
	}
	for _, text := range []string{
		"0", "-1", "-0", "+1", "1.5", "1.0", "1e2", "1e309", `"1"`, "'1'", `""`, "null", "~", ".nan", ".inf", "NaN", "true",
		"2147483648", "9007199254740992", "9007199254740993", "9223372036854775807", "9223372036854775808", "99999999999999999999",
		"010", "0x10", "0o17", "0b1", "1_000", "١", "[1]", "{a: 1}", "1s", "|\n        1", "2001-01-01", "1:30",
	} {
		if got := problems(t, config.Sources{File: only(key, text)}); len(got) != 1 || got[0].Key != key {
			t.Errorf("%s: got %v, want one problem with %s", text, got, key)
		}
	}
}

func TestLoad_durationsAreExact(t *testing.T) {
	const key = "app.rate-limit.redis.breaker.probe-every"
	for text, want := range map[string]time.Duration{
		"1ms": time.Millisecond, "1s": time.Second, "1.5s": 1500 * time.Millisecond, "1m30s": 90 * time.Second,
		"1h": time.Hour, `"2s"`: 2 * time.Second, "5000us": 5 * time.Millisecond, "1000000ns": time.Millisecond,
		"0.001s": time.Millisecond, ".5s": 500 * time.Millisecond, "2.s": 2 * time.Second, "500µs500us": time.Millisecond,
		"0.5ms0.5ms": time.Millisecond,
	} {
		if got := load(t, config.Sources{File: only(key, text)}).RateLimit.Redis.BreakerProbeEvery; got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
	for text, message := range map[string]string{
		"10": "needs a unit", "0": "needs a unit", "-5": "needs a unit", `"10"`: "needs a unit",
		"0s": "must be between 1ms", "0ms": "must be between 1ms", "-1s": "must not be negative", "-0s": "must not be negative",
		"1ns": "whole number of milliseconds", "999us": "whole number of milliseconds", "1.0005s": "whole number of milliseconds",
		"1500us": "whole number of milliseconds", "0.0010000000001s": "whole number of milliseconds",
		"0.3333333333h": "whole number of milliseconds",
		"1d":            "a duration with a unit", "1 s": "a duration with a unit", "∞": "a duration with a unit", "1S": "a duration with a unit",
		"1e3s": "a duration with a unit", "1_0s": "a duration with a unit", "1.5": "a duration with a unit", `""`: "a duration with a unit",
		"0x1s": "a duration with a unit", "[1s]": "a duration with a unit", "true": "a duration with a unit",
		"99999999999h": "a duration with a unit", "1:30": "a duration with a unit",
		strings.Repeat("1s", 33): "a duration with a unit", "8784h1ms": "must be at most 366 days", "876000h": "must be at most 366 days",
		"2h": "must be between 1ms and 1h", "null": "is null",
	} {
		got := problems(t, config.Sources{File: only(key, text)})
		if len(got) != 1 || got[0].Key != key || !strings.Contains(got[0].Message, message) {
			t.Errorf("%s: got %v, want %s %s", text, got, key, message)
		}
	}
}

func TestLoad_theLongestWindowIs366Days(t *testing.T) {
	policy := "[{id: a, revision: 1, algorithm: fixed-window, limit: 1, window: 8784h, cleanup-grace: 0s, max-clock-regression: 0s}]"
	got := load(t, config.Sources{File: only("app.rate-limit.policies", policy)}).RateLimit.Policies[0].LongestState()
	if got != 366*24*time.Hour {
		t.Errorf("got %v, want 366 days", got)
	}
}
