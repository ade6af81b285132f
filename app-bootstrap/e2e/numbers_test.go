package e2e_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

func numeral(n int) string { return strconv.Itoa(n) }

func integer(t testing.TB, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("%q is no integer", text)
	}
	return n
}

// member is an integer member of a JSON body.
func member(t testing.TB, object map[string]any, name string) int64 {
	t.Helper()
	n, ok := object[name].(json.Number)
	if !ok {
		t.Fatalf("%s: got %v, want a number", name, object[name])
	}
	return integer(t, n.String())
}

// redisMillis is the server's clock.
func redisMillis(t testing.TB, s *redistest.Server) int64 {
	t.Helper()
	parts, ok := s.Do(t, "TIME").([]any)
	if !ok || len(parts) != 2 {
		t.Fatal("TIME has no answer")
	}
	return integer(t, parts[0].(string))*1000 + integer(t, parts[1].(string))/1000
}

// keysOf lists every key of the server.
func keysOf(t testing.TB, s *redistest.Server) []string {
	t.Helper()
	var keys []string
	for cursor := "0"; ; {
		page, ok := s.Do(t, "SCAN", cursor, "COUNT", "1000").([]any)
		if !ok || len(page) != 2 {
			t.Fatal("SCAN has no answer")
		}
		for _, key := range page[1].([]any) {
			keys = append(keys, key.(string))
		}
		if cursor = page[0].(string); cursor == "0" {
			return keys
		}
	}
}

// text is a plain value of JSON.
func text(value any) string { return fmt.Sprint(value) }
