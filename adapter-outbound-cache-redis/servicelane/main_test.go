package main

import "testing"

func TestFileName_isTheServerAndTwoNumbers(t *testing.T) {
	for server, want := range map[string]string{"redis 7.0.15": "redis-7.0", "valkey 8.0.1": "valkey-8.0", "redis 7": "redis-7"} {
		if got := fileName(server); got != want {
			t.Errorf("%q: got %q, want %q", server, got, want)
		}
	}
}
