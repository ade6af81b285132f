package e2e_test

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// root is the repository.
var root = filepath.Join("..", "..")

// fenced is one fenced block of the README.
type fenced struct{ language, text string }

func readme(t *testing.T) (text string, blocks []fenced) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$").FindAllStringSubmatch(string(content), -1) {
		blocks = append(blocks, fenced{found[1], found[2]})
	}
	return string(content), blocks
}

// step is one command of the README, and the output that it shows, if any.
type step struct{ command, output string }

// session is every command in order. A block with an output holds one command.
func session(t *testing.T) []step {
	t.Helper()
	_, blocks := readme(t)
	var steps []step
	for i, block := range blocks {
		if block.language != "sh" {
			continue
		}
		lines := strings.Split(strings.TrimSpace(block.text), "\n")
		for _, line := range lines {
			steps = append(steps, step{command: line})
		}
		if i+1 < len(blocks) && blocks[i+1].language == "text" {
			if len(lines) != 1 {
				t.Fatalf("README: %q is followed by one output", lines)
			}
			steps[len(steps)-1].output = blocks[i+1].text
		}
	}
	return steps
}

// refill is how often the quickstart's bucket gets a token back. A session that
// takes longer shows other numbers than the README's.
const refill = 2 * time.Second

func TestReadme_itsCommandsDoWhatItShows(t *testing.T) {
	t.Parallel()
	steps := session(t)
	var curls, runs int
	for _, s := range steps {
		switch verb, isMake := strings.CutPrefix(s.command, "make "); {
		case s.command == "make run":
			runs++
		case isMake:
			out, err := makeIn("-n", verb).CombinedOutput()
			if said := strings.TrimSpace(string(out)); err != nil || said == "" || strings.Contains(said, "Nothing to be done") {
				t.Errorf("make -n %s does nothing: %v\n%s", verb, err, out)
			}
		case s.output == "":
			t.Errorf("README: %s: its output is not shown", s.command)
		default:
			curls++
		}
	}
	if runs != 1 || curls < 3 {
		t.Fatalf("README: got %d of make run and %d commands with an output, want 1 and the session", runs, curls)
	}
	// What make run builds first may take its time on a machine that never did.
	if out, err := makeIn("build").CombinedOutput(); err != nil {
		t.Fatalf("make build: %v\n%s", err, out)
	}
	const attempts = 5
	for attempt := 1; ; attempt++ {
		took, differences := runSession(t, steps)
		if len(differences) == 0 {
			return
		}
		if took < refill || attempt == attempts {
			t.Fatalf("README: in %v:\n%s", took, strings.Join(differences, "\n"))
		}
		t.Logf("attempt %d took %v, longer than the %v in which a token comes back", attempt, took, refill)
	}
}

func makeIn(arguments ...string) *exec.Cmd {
	command := exec.Command("make", arguments...)
	command.Dir = root
	return command
}

// runSession starts the quickstart by make run, runs the commands after it, and
// says where their output is another than the README's.
func runSession(t *testing.T, steps []step) (took time.Duration, differences []string) {
	t.Helper()
	p := &process{command: makeIn("run"), ended: make(chan struct{})}
	p.command.Stdout, p.command.Stderr = &p.stdout, &p.stderr
	p.begin(t)
	p.awaitQuickstart(t)
	defer func() {
		_ = interrupt(p.command)
		<-p.ended
	}()
	here := strings.NewReplacer("127.0.0.1:8080", p.listen, "127.0.0.1:9090", p.admin)
	begun := time.Now()
	for _, s := range steps {
		if s.output == "" {
			continue
		}
		got := strings.ReplaceAll(shell(t, here.Replace(s.command)), "\r", "")
		took = time.Since(begun)
		if !sameOutput(t, got, s.output, took) {
			differences = append(differences, s.command+"\ngot:\n"+got+"want:\n"+s.output)
		}
	}
	return took, differences
}

var (
	instants = regexp.MustCompile(`(?m)(^Date: ).*|("(?:resetAt|observedAt)Millis":)\d+`)
	waits    = regexp.MustCompile(`(?m)^(Retry-After|X-Ratelimit-Reset): (\d+)$`)
)

// sameOutput compares all but instants. What counts down may have done so for as
// long as the session took.
func sameOutput(t *testing.T, got, want string, took time.Duration) bool {
	t.Helper()
	gotWaits, wantWaits := waits.FindAllStringSubmatch(got, -1), waits.FindAllStringSubmatch(want, -1)
	if len(gotWaits) != len(wantWaits) {
		return false
	}
	passed := int64((took + time.Second - 1) / time.Second)
	for i := range gotWaits {
		g, w := integer(t, gotWaits[i][2]), integer(t, wantWaits[i][2])
		if g > w || g < w-passed {
			return false
		}
	}
	mask := func(text string) string {
		return waits.ReplaceAllString(instants.ReplaceAllString(text, "$1$2*"), "$1: *")
	}
	return mask(got) == mask(want)
}

func TestReadme_itsConfigIsGood(t *testing.T) {
	t.Parallel()
	_, blocks := readme(t)
	var configs int
	for _, block := range blocks {
		if block.language != "yaml" {
			continue
		}
		configs++
		p := start(t, nil, "check", "--config", fileOf(t, "edgelimit.yaml", block.text),
			"--set", "app.rate-limit.redis.hmac-secret-file="+secretFile(t, hmacSecret))
		if code := p.exit(t); code != 0 || strings.Contains(p.stdout.String(), "warning") || !strings.Contains(p.stdout.String(), "rate limiting is on") {
			t.Errorf("got exit code %d and\n%s%s", code, p.stdout.String(), p.stderr.String())
		}
	}
	if configs == 0 {
		t.Error("README shows no config")
	}
}

func TestReadme_itsLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	text, _ := readme(t)
	for _, link := range regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`).FindAllStringSubmatch(text, -1) {
		if u, err := url.Parse(link[1]); err != nil || u.IsAbs() {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(link[1]))); err != nil {
			t.Errorf("README: %v", err)
		}
	}
}
