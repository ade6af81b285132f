package e2e_test

import (
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// awaitQuickstart waits until p has printed its session, and reads the addresses
// of gateway and admin listener from it.
func (p *process) awaitQuickstart(t testing.TB) {
	t.Helper()
	eventually(t, "session of the quickstart", func() bool {
		select {
		case <-p.ended:
			t.Fatalf("it ended before it printed its session:\n%s%s", p.stdout.String(), p.stderr.String())
		default:
		}
		return strings.Contains(p.stdout.String(), "Ctrl-C")
	})
	p.listen = printed(t, p.stdout.String(), `http://([0-9.:]+)/ *\n`)
	p.admin = printed(t, p.stdout.String(), `http://([0-9.:]+)/readyz`)
}

func printed(t testing.TB, output, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(output)
	if found == nil {
		t.Fatalf("nothing printed matches %s:\n%s", pattern, output)
	}
	return found[1]
}

// shell runs one command line as a user would.
func shell(t testing.TB, line string) string {
	t.Helper()
	command := exec.Command("bash", "-o", "pipefail", "-c", line)
	command.WaitDelay = patience
	out, err := command.Output()
	if err != nil {
		t.Errorf("%s: %v", line, err)
	}
	return string(out)
}

// occupy makes sure that somebody has the port.
func occupy(t *testing.T, addr string) {
	t.Helper()
	if listener, err := net.Listen("tcp", addr); err == nil {
		t.Cleanup(func() { _ = listener.Close() })
	}
}

func TestQuickstart_runsWhatItPrints(t *testing.T) {
	t.Parallel()
	occupy(t, "127.0.0.1:8080")
	occupy(t, "127.0.0.1:9090")
	p := start(t, nil, "quickstart")
	p.awaitQuickstart(t)
	if p.listen == "127.0.0.1:8080" || p.admin == "127.0.0.1:9090" {
		t.Errorf("it claims the taken ports: %s, %s", p.listen, p.admin)
	}

	var lines []string
	for line := range strings.Lines(p.stdout.String()) {
		if strings.HasPrefix(line, "  ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if len(lines) != 5 {
		t.Fatalf("got %d command lines, want 5:\n%s", len(lines), p.stdout.String())
	}
	begun := time.Now()
	if out := shell(t, lines[0]); !strings.Contains(out, "200 OK") || !strings.Contains(out, "hello from the upstream") {
		t.Errorf("%s: got\n%s", lines[0], out)
	}
	statuses := strings.Fields(shell(t, lines[1]))
	// Four are left, and one more for each refill period that the lines took.
	refilled := int(time.Since(begun)/(2*time.Second)) + 1
	allowed := 0
	for _, status := range statuses {
		if status == "200" {
			allowed++
		}
	}
	if len(statuses) != 7 || allowed < 4 || allowed > 4+refilled || statuses[0] != "200" {
		t.Errorf("%s: got %v", lines[1], statuses)
	}
	if out := shell(t, lines[2]); !strings.Contains(out, `"allowed":true`) || !strings.Contains(out, `"remaining":3`) {
		t.Errorf("%s: got %s", lines[2], out)
	}
	if out := shell(t, lines[3]); !strings.Contains(out, `"ready": true`) {
		t.Errorf("%s: got %s", lines[3], out)
	}
	if out := shell(t, lines[4]); !strings.Contains(out, `edgelimit_decisions_total{outcome="evaluated",policy="demo",verdict="allowed"}`) {
		t.Errorf("%s: got %s", lines[4], out)
	}

	denied := reply{}
	eventually(t, "denial", func() bool {
		denied = get(t, "http://"+p.listen+"/")
		return denied.status == http.StatusTooManyRequests
	})
	denied.problem(t, "evaluated").says(t, "X-RateLimit-Limit: 5", "X-RateLimit-Remaining: 0")
	retry := time.Duration(denied.number(t, "Retry-After")) * time.Second
	if retry < time.Second || retry > 2*time.Second {
		t.Errorf("Retry-After: got %v, want at most the refill period", retry)
	}
	time.Sleep(retry) // the promise itself: not a moment longer
	get(t, "http://"+p.listen+"/").must(t, http.StatusOK)

	if err := interrupt(p.command); err != nil {
		t.Fatal(err)
	}
	if code := p.exit(t); code != 0 {
		t.Errorf("got exit code %d after Ctrl-C, want 0", code)
	}
	if p.stderr.String() != "" {
		t.Errorf("it complains: %s", p.stderr.String())
	}
}

func TestVersion_prints(t *testing.T) {
	t.Parallel()
	p := start(t, nil, "version")
	if code := p.exit(t); code != 0 || !regexp.MustCompile(`^edgelimit \S+\n$`).MatchString(p.stdout.String()) {
		t.Errorf("got exit code %d and %q", code, p.stdout.String())
	}
}

func TestUsage_isShownForWhatIsNoCommand(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		arguments []string
		code      int
	}{
		{nil, 2}, {[]string{"sevre"}, 2}, {[]string{"serve", "--no-such-flag"}, 2}, {[]string{"serve", "extra"}, 2},
		{[]string{"help"}, 0}, {[]string{"serve", "--help"}, 0},
	} {
		p := start(t, nil, row.arguments...)
		if code := p.exit(t); code != row.code || p.stdout.String()+p.stderr.String() == "" {
			t.Errorf("%q: got exit code %d and %q, want %d and some help", row.arguments, code, p.stdout.String()+p.stderr.String(), row.code)
		}
	}
}
