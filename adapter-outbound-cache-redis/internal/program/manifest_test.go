package program_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
)

// TestCatalogue_pinned fails when a program's text changes under its version.
func TestCatalogue_pinned(t *testing.T) {
	pinned, err := os.ReadFile("testdata/catalogue.txt")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, p := range program.Catalogue() {
		fmt.Fprintf(&got, "%s keys=%d args=%d fields=%d", p.ID(), p.Keys, p.Args, p.ReplyFields)
		if p.Many > 0 {
			fmt.Fprintf(&got, " each of %d", p.Many)
		}
		fmt.Fprintf(&got, " redis>=%s %s\n", p.MinRedis, p.SHA)
	}
	if got.String() != string(pinned) {
		t.Errorf("a program or its manifest changed: bump the version or revert\n got:\n%swant:\n%s", &got, pinned)
	}
}
