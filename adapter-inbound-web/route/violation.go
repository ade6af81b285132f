package route

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Violation is one thing that is wrong with a [Config].
type Violation struct {
	Rule   int    // index in Config.Rules, -1 when no rule is at fault
	Field  string // path, methods, policy or cost of a rule; policies or default
	Reason string // what is wrong, and where it is not plain, the fix
}

// Error implements error.
func (v *Violation) Error() string {
	if v.Rule < 0 {
		return fmt.Sprintf("%s: %s", v.Field, v.Reason)
	}
	return fmt.Sprintf("rule %d: %s: %s", v.Rule+1, v.Field, v.Reason)
}

func tableViolation(field, format string, args ...any) error {
	return &Violation{Rule: -1, Field: field, Reason: fmt.Sprintf(format, args...)}
}

// check lists what is wrong with one rule, the earlier rules being known.
func (t *compiled) check(index int, r Rule) []error {
	var errs []error
	add := func(field, format string, args ...any) {
		errs = append(errs, &Violation{Rule: index, Field: field, Reason: fmt.Sprintf(format, args...)})
	}
	if reason := patternFault(r.Path); reason != "" {
		add("path", "%q %s", clip(r.Path), reason)
	}
	for i, method := range r.Methods {
		switch {
		case !validMethod.MatchString(method):
			add("methods", "%q is not a method in capitals, such as GET", clip(method))
		case slices.Contains(r.Methods[:i], method):
			add("methods", "%s is listed twice", method)
		}
	}
	policy, known := t.policies[r.Policy]
	switch {
	case !known:
		add("policy", "policy %q is not defined", clip(r.Policy))
	case r.Cost < 1 || r.Cost > policy.MaxCost():
		add("cost", "%d is outside 1 to %d, the maximum cost of policy %q", r.Cost, policy.MaxCost(), r.Policy)
	}
	if len(errs) > 0 {
		return errs
	}
	later := newMatcher(index, r)
	for _, earlier := range t.rules {
		if earlier.shadows(later) {
			add("path", "%q can never match: rule %d before it matches everything that it does", r.Path, earlier.index+1)
			break
		}
	}
	return errs
}

var (
	validMethod   = regexp.MustCompile("^[A-Z0-9!#$%&'*+.^_`|~-]{1,32}$")
	escapedInPath = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
)

// patternFault is why a pattern can match nothing, or not what it seems to; ""
// is none.
func patternFault(pattern string) string {
	base, _ := strings.CutSuffix(pattern, "/*")
	switch {
	case !strings.HasPrefix(pattern, "/"):
		return "must begin with a slash"
	case strings.Contains(base, "*"):
		return `may have a * only at the end, as "/*"`
	case strings.ContainsAny(base, `?#\`):
		return "must be a path alone, without ?, # or a backslash"
	case escapedInPath.MatchString(base):
		decoded, err := url.PathUnescape(base)
		if err != nil {
			return "must be written decoded"
		}
		return fmt.Sprintf("must be written decoded: %q", clip(decoded))
	case pattern == "//*":
		return `must be in its cleaned form: "/*"`
	case base != "" && base != Clean(base):
		return fmt.Sprintf("must be in its cleaned form: %q", clip(Clean(base)))
	}
	return ""
}

// clip bounds what an error message repeats of its input.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
