package config_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/app-bootstrap/internal/config"
)

const docs = "../../../docs/configuration.md"

func readDoc(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestDocs_listEveryKey holds the table of keys against the schema, both ways.
func TestDocs_listEveryKey(t *testing.T) {
	documented := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(app\\.[a-z0-9.-]+)` \\|").FindAllStringSubmatch(readDoc(t, docs), -1) {
		documented[row[1]] = true
	}
	for _, key := range config.Keys() {
		if !documented[key.Path] {
			t.Errorf("%s is not in %s", key.Path, docs)
		}
		delete(documented, key.Path)
	}
	for key := range documented {
		t.Errorf("%s lists %s, which is no key", docs, key)
	}
}

// TestDocs_examplesLoad loads every YAML block as it stands.
func TestDocs_examplesLoad(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	for _, name := range []string{docs, "../../../README.md"} {
		found := blocks.FindAllStringSubmatch(readDoc(t, name), -1)
		if len(found) == 0 {
			t.Errorf("%s has no YAML", name)
		}
		for _, block := range found {
			text := block[1]
			if strings.Contains(text, "routes:") { // stands beside the policies of the block before it
				text += strings.SplitAfterN(found[0][1], "rate-limit:\n", 2)[1]
			}
			_, report := config.Load(config.Sources{File: []byte(text), ReadFile: files})
			for _, problem := range append(report.Problems, report.Warnings...) {
				if !strings.Contains(problem.Message, "is used by no route") {
					t.Errorf("%s: %s\n%s", name, problem, text)
				}
			}
		}
	}
}
