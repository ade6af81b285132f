package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
)

// Suite is one package of tests as it ran once.
type Suite struct {
	Name                    string // the last part of its import path
	Protocol                int    // RESP version
	Passed, Failed, Skipped int    // tests and subtests
	Seconds                 float64
	Figures                 []evidence.Figure
	Faults                  []evidence.Fault
	Server                  string // the server that answered, if a test of the suite asked it
}

// event is a line of the JSON stream of go test.
type event struct {
	Action, Package, Test, Output, Key, Value string
	Elapsed                                   float64
}

// Read reads what go test -json prints, into a suite a package, in the order in which they ended. What tests print is
// passed on to failed once they fail, and what is no part of a test is passed on at once.
func Read(stream io.Reader, failed io.Writer) ([]Suite, error) {
	r := reader{running: map[string]*Suite{}, printed: map[string]*strings.Builder{}, failed: failed}
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("read the stream of go test: %w: %.200s", err, lines.Text())
		}
		if err := r.take(e); err != nil {
			return nil, err
		}
	}
	return r.ended, lines.Err()
}

type reader struct {
	running map[string]*Suite
	printed map[string]*strings.Builder // by package and test
	failed  io.Writer
	ended   []Suite
}

func (r *reader) take(e event) error {
	suite := r.running[e.Package]
	if suite == nil {
		suite = &Suite{Name: path.Base(e.Package)}
		r.running[e.Package] = suite
	}
	switch e.Action {
	case "attr":
		return suite.attribute(e.Key, e.Value)
	case "output", "build-output":
		r.print(e)
	case "pass", "fail", "skip":
		if e.Test == "" {
			suite.Seconds = e.Elapsed
			if e.Action == "fail" && suite.Failed == 0 {
				suite.Failed++ // it did not build, or was ended amid its tests
			}
			r.end(e.Package, suite)
			return nil
		}
		r.count(suite, e)
	}
	return nil
}

// end is the end of a package. A test that has not ended by then, in a package that ran out of time for example, failed
// and printed why.
func (r *reader) end(name string, suite *Suite) {
	for id, text := range r.printed {
		if strings.HasPrefix(id, name+" ") {
			_, _ = io.WriteString(r.failed, text.String())
			delete(r.printed, id)
		}
	}
	r.ended = append(r.ended, *suite)
	delete(r.running, name)
}

func (r *reader) count(suite *Suite, e event) {
	id := e.Package + " " + e.Test
	switch e.Action {
	case "pass":
		suite.Passed++
	case "fail":
		suite.Failed++
	case "skip":
		suite.Skipped++
	}
	if text := r.printed[id]; text != nil && e.Action != "pass" {
		_, _ = io.WriteString(r.failed, text.String())
	}
	delete(r.printed, id)
}

func (r *reader) print(e event) {
	if e.Test == "" {
		if !strings.HasPrefix(e.Output, "PASS") && !strings.HasPrefix(e.Output, "ok ") {
			_, _ = io.WriteString(r.failed, e.Output)
		}
		return
	}
	id := e.Package + " " + e.Test
	if r.printed[id] == nil {
		r.printed[id] = &strings.Builder{}
	}
	r.printed[id].WriteString(e.Output)
}

func (s *Suite) attribute(key, value string) error {
	switch key {
	case evidence.ServerKey:
		if s.Server != "" && s.Server != value {
			return fmt.Errorf("tests of %s were answered by %s and by %s", s.Name, s.Server, value)
		}
		s.Server = value
	case evidence.FigureKey:
		var f evidence.Figure
		if err := json.Unmarshal([]byte(value), &f); err != nil {
			return fmt.Errorf("read a figure of %s: %w", s.Name, err)
		}
		s.Figures = append(s.Figures, f)
	case evidence.FaultKey:
		var f evidence.Fault
		if err := json.Unmarshal([]byte(value), &f); err != nil {
			return fmt.Errorf("read a fault of %s: %w", s.Name, err)
		}
		s.Faults = append(s.Faults, f)
	}
	return nil
}
