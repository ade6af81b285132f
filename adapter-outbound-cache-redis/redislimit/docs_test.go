package redislimit_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

const docs = "../../docs/redis-protocol.md"

// TestDocs_giveTheRightsThatAreNeeded makes the user by the line that the docs give.
func TestDocs_giveTheRightsThatAreNeeded(t *testing.T) {
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "\n    ACL SETUSER edgelimit ")
	line, _, ended := strings.Cut(after, "\n")
	if !ended {
		t.Fatalf("%s has no user edgelimit", docs)
	}
	words := strings.Fields(line)
	for _, right := range rights {
		if !slices.Contains(words, right) {
			t.Errorf("%s does not give %s", docs, right)
		}
	}
	for _, word := range words {
		if strings.ContainsAny(word[:1], "+~&%") && !slices.Contains(rights, word) {
			t.Errorf("%s gives %s, which nothing needs", docs, word)
		}
	}
	server := redistest.Start(t)
	server.Do(t, append([]string{"ACL", "SETUSER", "edgelimit"}, words...)...)
	r := newRig(t, server, func(c *redislimit.Config) { c.Redis.Username, c.Redis.Password = "edgelimit", "password" })
	for _, p := range r.config.Policies {
		if outcomes := r.together(40, p.ID()); outcomes[allowed(policyLimit-1)] != 40 {
			t.Errorf("%s: outcomes %v, want 40 allowed", p.ID(), outcomes)
		}
	}
}
