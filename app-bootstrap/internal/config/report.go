package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Problem is one thing that is wrong, or unwise, and where.
type Problem struct {
	// Key is the full key path, with list indexes from 0; "" when the trouble
	// is with a whole source.
	Key string
	// Where is the source: "edgelimit.yaml:12", a variable's name, "--set". It
	// is "" for a key that no source gives.
	Where string
	// Message says what is wrong and what to write instead. It holds no secret.
	Message string
}

// String is the problem on one line.
func (p Problem) String() string {
	switch {
	case p.Key == "":
		return p.Where + ": " + p.Message
	case p.Where == "":
		return p.Key + " " + p.Message
	}
	return p.Key + " (" + p.Where + ") " + p.Message
}

// Report is everything that Load has to say.
type Report struct {
	// Problems stop the start. Empty means that the Config is usable.
	Problems []Problem
	// Warnings are legal and unwise.
	Warnings []Problem
}

// Err joins the problems, one a line; nil when there is none.
func (r Report) Err() error {
	var errs []error
	for _, p := range r.Problems {
		errs = append(errs, errors.New(p.String()))
	}
	return errors.Join(errs...)
}

// reporter collects problems and remembers which keys they touch, so that one
// mistake is reported once.
type reporter struct {
	report  Report
	sources map[string]string // key path -> where it was given last
	misread keySet            // keys whose value could not be read at all
	wrong   keySet            // keys with any problem
}

func newReporter() *reporter {
	return &reporter{sources: map[string]string{}, misread: newKeySet(), wrong: newKeySet()}
}

// unread reports a value that could not be read. What would follow from its
// absence is not reported.
func (r *reporter) unread(key, where, format string, args ...any) {
	r.misread.add(key)
	r.add(Problem{key, where, fmt.Sprintf(format, args...)})
}

// refuse reports a value that was read and is wrong, or is missing.
func (r *reporter) refuse(key, format string, args ...any) {
	if r.misread.within(key) || r.misread.above(key) {
		return
	}
	r.add(Problem{key, r.where(key), fmt.Sprintf(format, args...)})
}

func (r *reporter) warn(key, format string, args ...any) {
	r.report.Warnings = append(r.report.Warnings, Problem{key, r.where(key), fmt.Sprintf(format, args...)})
}

func (r *reporter) add(p Problem) {
	r.wrong.add(p.Key)
	r.report.Problems = append(r.report.Problems, p)
}

// sound tells whether nothing at or beneath key is wrong.
func (r *reporter) sound(key string) bool { return !r.wrong.within(key) && !r.wrong.above(key) }

// where is the source of key, or of the nearest section that holds it.
func (r *reporter) where(key string) string {
	for ; key != ""; key = parent(key) {
		if w, ok := r.sources[key]; ok {
			return w
		}
	}
	return ""
}

// given records the source of a key.
func (r *reporter) given(key, where string) { r.sources[key] = where }

// isGiven tells whether a source gives the key itself.
func (r *reporter) isGiven(key string) bool {
	_, ok := r.sources[key]
	return ok
}

// replaced forgets the sources of what a list or table held before.
func (r *reporter) replaced(key string) {
	if !r.isGiven(key) {
		return
	}
	for known := range r.sources {
		if strings.HasPrefix(known, key+"[") || strings.HasPrefix(known, key+".") {
			delete(r.sources, known)
		}
	}
}

// keySet is a set of key paths that also knows their sections.
type keySet struct{ exact, sections map[string]bool }

func newKeySet() keySet { return keySet{map[string]bool{}, map[string]bool{}} }

func (s keySet) add(key string) {
	s.exact[key] = true
	for key = parent(key); key != "" && !s.sections[key]; key = parent(key) {
		s.sections[key] = true
	}
}

// within tells whether the set holds key or something beneath it.
func (s keySet) within(key string) bool { return s.exact[key] || s.sections[key] }

// above tells whether the set holds a section or list that key lies in.
func (s keySet) above(key string) bool {
	for key = parent(key); key != ""; key = parent(key) {
		if s.exact[key] {
			return true
		}
	}
	return false
}

// parent is the path of the section or list that holds key; "" at the root.
func parent(key string) string {
	return key[:max(strings.LastIndexAny(key, ".["), 0)]
}

func child(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func item(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

var plainID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// entry is the path of what a table holds under id. An id that could be read as
// more than one part of the path is quoted, so that no two share one.
func entry(path, id string) string {
	if plainID.MatchString(id) {
		return child(path, id)
	}
	return child(path, strconv.Quote(id))
}

// shown quotes a value for a message, shortened, on one line.
func shown(text string) string {
	const most = 64
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return fmt.Sprintf("%q", text)
}
