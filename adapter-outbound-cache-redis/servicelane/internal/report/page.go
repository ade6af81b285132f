package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
)

// Page is what one run of the lane has shown of one server.
type Page struct {
	Title   string // "Service lane" if empty
	Source  string // where the server came from
	Command string // that makes the page anew
	Began   time.Time
	Suites  []Suite
}

// Server is the one that answered, or a reason to doubt the page.
func (p Page) Server() (string, error) {
	var names []string
	for _, s := range p.Suites {
		if s.Server == "" {
			return "", fmt.Errorf("no test of %s says which server answered", s.Name)
		}
		if !slices.Contains(names, s.Server) {
			names = append(names, s.Server)
		}
	}
	if len(names) != 1 {
		return "", fmt.Errorf("the suites were answered by %d servers: %q", len(names), names)
	}
	return names[0], nil
}

// Verdict is an error unless every test ran and passed.
func (p Page) Verdict() error {
	for _, s := range p.Suites {
		switch {
		case s.Failed > 0:
			return fmt.Errorf("%s: %d tests failed", s.Name, s.Failed)
		case s.Skipped > 0:
			return fmt.Errorf("%s: %d tests were skipped, and a lane skips nothing", s.Name, s.Skipped)
		case s.Passed == 0:
			return fmt.Errorf("%s: no test ran", s.Name)
		}
	}
	if len(p.Suites) == 0 {
		return fmt.Errorf("no suite ran")
	}
	return nil
}

// Text is the page in Markdown.
func (p Page) Text() (string, error) {
	server, err := p.Server()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s\n\n", cmp.Or(p.Title, "Service lane"), server)
	fmt.Fprintf(&b, "Written by `%s` on %s. The server is %s.\n\n", p.Command, p.Began.UTC().Format("2006-01-02 15:04 MST"), p.Source)
	b.WriteString("| suite | RESP | tests and rows passed | failed | skipped | seconds |\n|---|--:|--:|--:|--:|--:|\n")
	for _, s := range p.Suites {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %.0f |\n", s.Name, s.Protocol, s.Passed, s.Failed, s.Skipped, s.Seconds)
	}
	for _, s := range p.Suites {
		s.write(&b)
	}
	return b.String(), nil
}

func (s Suite) write(b *strings.Builder) {
	if len(s.Faults)+len(s.Figures) == 0 {
		return
	}
	// Tests end in another order every time.
	slices.SortStableFunc(s.Faults, func(a, b evidence.Fault) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Limiter, b.Limiter))
	})
	slices.SortStableFunc(s.Figures, func(a, b evidence.Figure) int {
		if a.Part != "" && a.Part == b.Part {
			return 0
		}
		return cmp.Or(strings.Compare(a.Part, b.Part), strings.Compare(a.What, b.What))
	})
	fmt.Fprintf(b, "\n## %s, RESP%d\n", strings.ToUpper(s.Name[:1])+s.Name[1:], s.Protocol)
	if len(s.Faults) > 0 {
		b.WriteString("\n| fault | limiter | calls | heard | charged | then |\n|---|---|--:|---|--:|---|\n")
		for _, f := range s.Faults {
			fmt.Fprintf(b, "| %s | %s | %d | %s | %d | %s |\n", cell(f.Name), cell(f.Limiter), f.Calls, cell(f.Heard), f.Charged, cell(f.Followed))
		}
	}
	for i, f := range s.Figures {
		if i == 0 || f.Part != s.Figures[i-1].Part {
			if f.Part != "" {
				fmt.Fprintf(b, "\n### %s\n", f.Part)
			}
			b.WriteString("\n| measured | |\n|---|--:|\n")
		}
		fmt.Fprintf(b, "| %s | %s |\n", cell(f.What), cell(f.Value))
	}
}

func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }
