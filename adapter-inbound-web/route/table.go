package route

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// Rule gives a policy and a cost to the requests that it matches.
type Rule struct {
	// Path is matched with the decoded, cleaned path, letter by letter. A
	// trailing "/*" covers the path itself and everything below; "/*" is every
	// path.
	Path string

	// Methods are in capitals. None means every method; GET covers HEAD.
	Methods []string

	// Policy is the id of one of the table's policies.
	Policy string

	// Cost is 1 up to the policy's maximum cost.
	Cost int64
}

// Config is what a [Table] is made of.
type Config struct {
	// Policies are all policies that a request may be decided by.
	Policies []ratelimit.Policy

	// Default is the id of the policy for what no rule matches, at cost 1.
	Default string

	// Rules are tried in order.
	Rules []Rule
}

// Charge is what a request costs, and by which policy.
type Charge struct {
	PolicyID string
	Cost     int64
}

// Table is a checked, frozen list of rules. It is safe for concurrent use; the
// zero Table is not valid.
type Table struct{ compiled *compiled }

type compiled struct {
	policies map[string]ratelimit.Policy
	fallback string
	rules    []matcher
}

// NewTable checks c. The error joins one [*Violation] for everything that is
// wrong, in the order of the rules.
func NewTable(c Config) (Table, error) {
	t := &compiled{policies: make(map[string]ratelimit.Policy, len(c.Policies)), fallback: c.Default}
	var errs []error
	for _, p := range c.Policies {
		if _, taken := t.policies[p.ID()]; taken || p.IsZero() {
			errs = append(errs, tableViolation("policies", "policy %q is empty or defined twice", p.ID()))
			continue
		}
		t.policies[p.ID()] = p
	}
	if _, known := t.policies[c.Default]; !known {
		errs = append(errs, tableViolation("default", "policy %q is not defined", clip(c.Default)))
	}
	for i, rule := range c.Rules {
		violations := t.check(i, rule)
		if len(violations) == 0 {
			t.rules = append(t.rules, newMatcher(i, rule))
		}
		errs = append(errs, violations...)
	}
	if len(errs) > 0 {
		return Table{}, errors.Join(errs...)
	}
	return Table{compiled: t}, nil
}

// IsZero tells whether t is the zero Table.
func (t Table) IsZero() bool { return t.compiled == nil }

// Match is the charge of a request by method and decoded path, as url.URL.Path
// holds it.
func (t Table) Match(method, decodedPath string) Charge {
	cleaned := Clean(decodedPath)
	for _, m := range t.compiled.rules {
		if m.covers(cleaned) && m.allowsMethod(method) {
			return m.charge
		}
	}
	return Charge{PolicyID: t.compiled.fallback, Cost: 1}
}

// Policy is the policy with that id, if the table has it.
func (t Table) Policy(id string) (ratelimit.Policy, bool) {
	p, ok := t.compiled.policies[id]
	return p, ok
}

// DefaultPolicy is the id of the policy for what no rule matches.
func (t Table) DefaultPolicy() string { return t.compiled.fallback }

// matcher is a rule in the form that requests are tried with.
type matcher struct {
	index   int
	path    string   // cleaned, without the trailing "/*"
	below   bool     // everything below path too
	methods []string // nil is every method
	charge  Charge
}

func newMatcher(index int, r Rule) matcher {
	base, below := strings.CutSuffix(r.Path, "/*")
	m := matcher{index: index, path: Clean(base), below: below, charge: Charge{PolicyID: r.Policy, Cost: r.Cost}}
	m.methods = append(m.methods, r.Methods...)
	if slices.Contains(m.methods, http.MethodGet) {
		m.methods = append(m.methods, http.MethodHead)
	}
	return m
}

func (m matcher) covers(cleaned string) bool {
	if !m.below {
		return cleaned == m.path
	}
	rest, ok := strings.CutPrefix(cleaned, m.path)
	return ok && (rest == "" || rest[0] == '/' || m.path == "/")
}

func (m matcher) allowsMethod(method string) bool {
	return m.methods == nil || slices.Contains(m.methods, method)
}

// shadows tells whether every request that later matches is matched by m.
func (m matcher) shadows(later matcher) bool {
	if !m.covers(later.path) || later.below && !m.below {
		return false
	}
	if m.methods == nil || later.methods == nil {
		return m.methods == nil
	}
	return !slices.ContainsFunc(later.methods, func(method string) bool { return !m.allowsMethod(method) })
}
