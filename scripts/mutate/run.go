package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// modules are what a copy holds: the modules under mutation and all that their
// go.mod files reach by replace.
var modules = []string{"shared-contract", "adapter-outbound-cache-redis", "adapter-inbound-web", "app-bootstrap"}

// The verdicts on a mutant.
const (
	dead     = "killed"
	survived = "SURVIVED"
	broken   = "BROKEN" // it did not compile, or no test ran
)

// result is what became of one mutant.
type result struct {
	verdict string
	killer  string // the first test that failed
	took    time.Duration
	output  string // of a mutant that was not killed
}

// check demands that every mutant's text is there exactly once.
func check(root string, mutants []mutant) error {
	var errs []error
	for _, m := range mutants {
		if _, err := m.apply(root); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// apply is the file's content with the change made.
func (m mutant) apply(root string) (string, error) {
	content, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return "", fmt.Errorf("mutant %q: %w", m.sentence, err)
	}
	if found := strings.Count("\n"+string(content), "\n"+m.old); found != 1 {
		return "", fmt.Errorf("mutant %q: its text is in %s %d times, want once", m.sentence, m.file, found)
	}
	return strings.Replace("\n"+string(content), "\n"+m.old, "\n"+m.new, 1)[1:], nil
}

// try tests m in a copy of its own.
func (m mutant) try(ctx context.Context, root string) result {
	began := time.Now()
	r, err := m.test(ctx, root)
	if err != nil {
		r = result{verdict: broken, output: err.Error()}
	}
	r.took = time.Since(began)
	return r
}

func (m mutant) test(ctx context.Context, root string) (result, error) {
	copied, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return result{}, err
	}
	defer func() { _ = os.RemoveAll(copied) }()
	for _, module := range modules {
		if err := os.CopyFS(filepath.Join(copied, module), source{os.DirFS(filepath.Join(root, module))}); err != nil {
			return result{}, fmt.Errorf("copy %s: %w", module, err)
		}
	}
	if m.file != "" {
		changed, err := m.apply(root)
		if err != nil {
			return result{}, err
		}
		if err := os.WriteFile(filepath.Join(copied, m.file), []byte(changed), 0o600); err != nil {
			return result{}, err
		}
	}
	return m.goTest(ctx, copied), nil
}

// source is a folder as CopyFS may take it: regular files and folders alone.
type source struct{ fs.FS }

// ReadDir implements fs.ReadDirFS.
func (s source) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(s.FS, name)
	kept := all[:0]
	for _, entry := range all {
		if entry.IsDir() || entry.Type().IsRegular() {
			kept = append(kept, entry)
		}
	}
	return kept, err
}

// otherDeath is of a run that ends without naming a test: the code's, or that its time
// is up, or that it left goroutines behind.
var otherDeath = regexp.MustCompile(`panic: test timed out|panic: |fatal error: |found unexpected goroutines`)

var failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// goTest runs the selection. Paths are trimmed so that copies share compiled
// packages. The pinned catalogue is passed over: it notices every change of a
// program, which shows nothing.
func (m mutant) goTest(ctx context.Context, copied string) result {
	args := []string{"test", "-trimpath", "-ldflags=-s -w", "-vet=off", "-failfast", "-count=1", "-timeout=90s", "-skip=TestCatalogue_pinned"}
	cmd := exec.CommandContext(ctx, "go", append(args, m.tests.args...)...)
	cmd.Dir = filepath.Join(copied, m.tests.module)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	text := string(out)
	switch {
	case strings.Contains(text, "[build failed]") || strings.Contains(text, "[setup failed]") || strings.Contains(text, "no tests to run"):
		return result{verdict: broken, output: tail(text)}
	case err == nil:
		return result{verdict: survived, output: tail(text)}
	case ctx.Err() != nil:
		return result{verdict: broken, output: "interrupted"}
	}
	if names := failedTest.FindStringSubmatch(text); names != nil {
		return result{verdict: dead, killer: names[1], output: tail(text)}
	}
	if word := otherDeath.FindString(text); word != "" {
		return result{verdict: dead, killer: word, output: tail(text)}
	}
	return result{verdict: broken, output: tail(text)}
}

func tail(text string) string {
	const most = 3000
	if len(text) > most {
		return "..." + text[len(text)-most:]
	}
	return text
}
