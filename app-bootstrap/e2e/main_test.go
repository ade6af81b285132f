package e2e_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// atOnce bounds how many tests run side by side, so that a small machine keeps
// the times that are promised.
const atOnce = 3

// binary is the program under test, built with the race detector.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if err := flag.Set("test.parallel", strconv.Itoa(atOnce)); err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("", "edgelimit-e2e-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary = filepath.Join(dir, "edgelimit")
	if err := build(binary, "-race"); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

func build(output string, flags ...string) error {
	arguments := append([]string{"build", "-o", output}, flags...)
	compile := exec.Command("go", append(arguments, "../cmd/edgelimit")...)
	compile.Env = append(os.Environ(), "GOWORK=off")
	if said, err := compile.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w\n%s", err, said)
	}
	return nil
}

// hourAhead builds, once, a second program from the same sources in which the
// wall clock is an hour fast and monotonic time is right. The replaced file is
// made from the standard library in use, so that it is never of another version.
var hourAhead = sync.OnceValues(func() (string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("find the standard library: %w", err)
	}
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	source, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	const reading = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	if strings.Count(string(source), reading) != 1 {
		return "", fmt.Errorf("%s: Now does not begin as expected: adapt the overlay", original)
	}
	dir := filepath.Dir(binary)
	replaced, overlay := filepath.Join(dir, "time.go"), filepath.Join(dir, "overlay.json")
	mapping, err := json.Marshal(map[string]any{"Replace": map[string]string{original: replaced}})
	if err != nil {
		return "", err
	}
	skewed := filepath.Join(dir, "edgelimit-hour-ahead")
	return skewed, errors.Join(
		os.WriteFile(replaced, []byte(strings.Replace(string(source), reading, reading+"\tsec += 3600\n", 1)), 0o600),
		os.WriteFile(overlay, mapping, 0o600),
		build(skewed, "-trimpath", "-overlay", overlay),
	)
})
