package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/app-bootstrap/internal/cli"
)

func run(t *testing.T, environ []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, complaints bytes.Buffer
	code = cli.Run(t.Context(), cli.Process{Args: args, Environ: environ, Stdout: &out, Stderr: &complaints})
	return code, out.String(), complaints.String()
}

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "edgelimit.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRun_theExitCodeSaysWhoIsWrong(t *testing.T) {
	good, bad := write(t, "app: {}\n"), write(t, "app: {sever: {}}\n")
	for _, row := range []struct {
		sentence       string
		args           []string
		code           int
		stdout, stderr string
	}{
		{"no command", nil, 2, "", "edgelimit quickstart"},
		{"an unknown command", []string{"srve"}, 2, "", `unknown command "srve"`},
		{"help", []string{"help"}, 0, "edgelimit serve --config FILE", ""},
		{"version", []string{"version"}, 0, "edgelimit ", ""},
		{"no file", []string{"check"}, 2, "", "--config FILE"},
		{"a file that is not there", []string{"check", "--config", good + "x"}, 2, "", "no such file"},
		{"a directory", []string{"check", "--config", filepath.Dir(good)}, 2, "", "is a directory"},
		{"a good file", []string{"check", "--config", good}, 0, "is good; rate limiting is off", ""},
		{"a bad file", []string{"check", "--config", bad}, 2, "", "app.sever"},
		{"serve with a bad file", []string{"serve", "--config", bad}, 2, "", "app.sever"},
		{"an argument too many", []string{"check", "--config", good, "x"}, 2, "", `unexpected argument "x"`},
		{"a flag of another command", []string{"check", "--log-format", "json"}, 2, "", "log-format"},
		{"a format that is none", []string{"serve", "--log-format", "xml"}, 2, "", "text or json"},
		{"a level that is none", []string{"serve", "--log-level", "loud"}, 2, "", "loud"},
		{"a flag over the file", []string{"check", "--config", good, "--set", "app.server.listen=nowhere"}, 2, "", "app.server.listen (--set)"},
		{"the last of two flags", []string{"check", "--config", good, "--set", "app.server.listen=nowhere", "--set", "app.server.listen=127.0.0.1:0"}, 0, "is good", ""},
	} {
		code, stdout, stderr := run(t, nil, row.args...)
		if code != row.code || !strings.Contains(stdout, row.stdout) || !strings.Contains(stderr, row.stderr) ||
			code == 0 && stderr != "" || code != 0 && stdout != "" {
			t.Errorf("%s: got %d, %q, %q, want %d, %q, %q", row.sentence, code, stdout, stderr, row.code, row.stdout, row.stderr)
		}
	}
}

func TestRun_theEnvironmentStandsOverTheFileAndFlagsOverBoth(t *testing.T) {
	file := write(t, "app: {server: {listen: from-the-file}}\n")
	environ := []string{"EDGELIMIT_APP__SERVER__LISTEN=from-the-environment"}
	if _, _, stderr := run(t, environ, "check", "--config", file); !strings.Contains(stderr, "from-the-environment") {
		t.Errorf("got %q, want the environment's value", stderr)
	}
	if code, _, stderr := run(t, environ, "check", "--config", file, "--set", "app.server.listen=127.0.0.1:0"); code != 0 {
		t.Errorf("got %d, %q, want the flag's value", code, stderr)
	}
}
