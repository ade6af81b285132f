package config_test

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/app-bootstrap/internal/config"
)

// contents are the secret files of the tests.
var contents = map[string]string{
	"/run/secrets/edgelimit-hmac":         strings.Repeat("h", 32),
	"/run/secrets/edgelimit-limits-token": "limits-token",
	"secret":                              strings.Repeat("s", 32) + "\n",
	"token":                               strings.Repeat("t", 32) + "\r\n",
	"password":                            "pass word\n",
	"short":                               strings.Repeat("s", 31) + "\n",
	"binary":                              strings.Repeat("\x00", 32),
	"huge":                                strings.Repeat("h", 1<<16+1),
	"empty":                               "\n",
	"bearer":                              "abc.DEF-123~==\n",
}

func files(name string) ([]byte, error) {
	content, ok := contents[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return []byte(content), nil
}

// noFiles fails the test when a secret file is read.
func noFiles(t *testing.T) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		t.Errorf("%s was read, and nothing needs it", name)
		return files(name)
	}
}

func example(t *testing.T) []byte {
	t.Helper()
	content, err := os.ReadFile("testdata/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// load loads what must be clean.
func load(t *testing.T, s config.Sources) config.Config {
	t.Helper()
	if s.ReadFile == nil {
		s.ReadFile = files
	}
	c, report := config.Load(s)
	if err := report.Err(); err != nil {
		t.Fatalf("%v\nin:\n%s", err, s.File)
	}
	return c
}

// problems loads what must not be clean.
func problems(t *testing.T, s config.Sources) []config.Problem {
	t.Helper()
	if s.ReadFile == nil {
		s.ReadFile = files
	}
	_, report := config.Load(s)
	if len(report.Problems) == 0 {
		t.Fatalf("got no problem in:\n%s", s.File)
	}
	return report.Problems
}
