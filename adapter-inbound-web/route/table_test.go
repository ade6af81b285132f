package route_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/route"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

func policies(t testing.TB, ids ...string) []ratelimit.Policy {
	t.Helper()
	var ps []ratelimit.Policy
	for _, id := range ids {
		p, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
			ID: id, Revision: 1, Algorithm: ratelimit.FixedWindow{Limit: 10, Window: time.Minute},
			MaxCost: 5, FailureMode: ratelimit.FailClosed,
		})
		if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
	return ps
}

func TestTable_Match(t *testing.T) {
	table, err := route.NewTable(route.Config{
		Policies: policies(t, "api", "search", "login", "write", "all"),
		Default:  "api",
		Rules: []route.Rule{
			{Path: "/search/*", Methods: []string{"GET"}, Policy: "search", Cost: 2},
			{Path: "/login", Policy: "login", Cost: 1},
			{Path: "/search/*", Methods: []string{"POST", "PUT"}, Policy: "write", Cost: 5},
			{Path: "/search/admin", Policy: "all", Cost: 4},
			{Path: "/*", Methods: []string{"PURGE"}, Policy: "all", Cost: 3},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		sentence, method, path string
		policy                 string
		cost                   int64
	}{
		{"a rule matches below its path", "GET", "/search/x/y", "search", 2},
		{"and the path itself", "GET", "/search", "search", 2},
		{"and the path with a slash", "GET", "/search/", "search", 2},
		{"but not a sibling that begins alike", "GET", "/searching", "api", 1},
		{"GET covers HEAD", "HEAD", "/search/x", "search", 2},
		{"the method tells rules of one path apart", "PUT", "/search/x", "write", 5},
		{"a method that no rule lists gets the default", "DELETE", "/search/x", "api", 1},
		{"methods are spelled exactly", "get", "/search/x", "api", 1},
		{"the first rule that matches wins", "GET", "/search/admin", "search", 2},
		{"a later one gets what the first leaves", "DELETE", "/search/admin", "all", 4},
		{"an exact rule matches every method", "OPTIONS", "/login", "login", 1},
		{"a slash at the end is the same handler", "POST", "/login/", "login", 1},
		{"a doubled slash is the same handler", "POST", "//login", "login", 1},
		{"a dot is the same handler", "POST", "/./login", "login", 1},
		{"two dots are the same handler", "POST", "/x/../login", "login", 1},
		{"an exact rule does not match below", "POST", "/login/x", "api", 1},
		{"capitals are another handler", "POST", "/LOGIN", "api", 1},
		{"/* matches every path", "PURGE", "/any/thing", "all", 3},
		{"and the root", "PURGE", "/", "all", 3},
		{"and the server itself", "PURGE", "*", "all", 3},
		{"an empty path is the root", "GET", "", "api", 1},
	} {
		got := table.Match(row.method, row.path)
		if want := (route.Charge{PolicyID: row.policy, Cost: row.cost}); got != want {
			t.Errorf("%s: %s %s: got %v, want %v", row.sentence, row.method, row.path, got, want)
		}
	}
	if got := table.Match("POST", target(t, "/%6cogin?x=1").Path); got.PolicyID != "login" {
		t.Errorf("an escaped letter: got %v, want the rule of the letter", got)
	}
	for i := range 1000 {
		if got := table.Match("GET", "/search/"+strings.Repeat("9", i)); got.PolicyID != "search" {
			t.Fatalf("an id in the path makes a difference: %v", got)
		}
	}
}

func TestNewTable_listsEveryViolation(t *testing.T) {
	_, err := route.NewTable(route.Config{
		Policies: append(policies(t, "api", "api"), ratelimit.Policy{}),
		Default:  "ghost",
		Rules: []route.Rule{
			{Path: "search", Policy: "api", Cost: 1},
			{Path: "/a/*/b", Policy: "api", Cost: 1},
			{Path: "/search*", Policy: "api", Cost: 1},
			{Path: "/a//b", Policy: "api", Cost: 1},
			{Path: "/a/", Policy: "api", Cost: 1},
			{Path: "//*", Policy: "api", Cost: 1},
			{Path: "/a?b=1", Policy: "api", Cost: 1},
			{Path: "/caf%C3%A9", Policy: "api", Cost: 1},
			{Path: "/m", Methods: []string{"get", "", "A B", "GET", "GET"}, Policy: "api", Cost: 1},
			{Path: "/p", Policy: "ghost", Cost: 1},
			{Path: "/c", Policy: "api", Cost: 0},
			{Path: "/d", Policy: "api", Cost: 6},
		},
	})
	want := []route.Violation{
		{Rule: -1, Field: "policies"}, {Rule: -1, Field: "policies"}, {Rule: -1, Field: "default"},
		{Rule: 0, Field: "path"}, {Rule: 1, Field: "path"}, {Rule: 2, Field: "path"}, {Rule: 3, Field: "path"},
		{Rule: 4, Field: "path"}, {Rule: 5, Field: "path"}, {Rule: 6, Field: "path"}, {Rule: 7, Field: "path"},
		{Rule: 8, Field: "methods"}, {Rule: 8, Field: "methods"}, {Rule: 8, Field: "methods"}, {Rule: 8, Field: "methods"},
		{Rule: 9, Field: "policy"}, {Rule: 10, Field: "cost"}, {Rule: 11, Field: "cost"},
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("got %v, want joined violations", err)
	}
	got := joined.Unwrap()
	if len(got) != len(want) {
		t.Fatalf("got %d violations, want %d:\n%v", len(got), len(want), err)
	}
	for i, each := range got {
		var v *route.Violation
		if !errors.As(each, &v) || v.Rule != want[i].Rule || v.Field != want[i].Field {
			t.Errorf("violation %d: got %v, want rule %d, %s", i, each, want[i].Rule, want[i].Field)
		}
	}
}

func TestNewTable_refusesARuleThatCanNeverMatch(t *testing.T) {
	for _, row := range []struct {
		sentence      string
		first, second route.Rule
		reachable     bool
	}{
		{"the same twice", route.Rule{Path: "/a"}, route.Rule{Path: "/a"}, false},
		{"below a rule for every method", route.Rule{Path: "/a/*"}, route.Rule{Path: "/a/b", Methods: []string{"POST"}}, false},
		{"a narrower prefix", route.Rule{Path: "/*"}, route.Rule{Path: "/a/*"}, false},
		{"HEAD after GET", route.Rule{Path: "/a", Methods: []string{"GET"}}, route.Rule{Path: "/a", Methods: []string{"HEAD"}}, false},
		{"another method", route.Rule{Path: "/a", Methods: []string{"GET"}}, route.Rule{Path: "/a", Methods: []string{"GET", "POST"}}, true},
		{"every method after one", route.Rule{Path: "/a", Methods: []string{"GET"}}, route.Rule{Path: "/a"}, true},
		{"the prefix after its path", route.Rule{Path: "/a"}, route.Rule{Path: "/a/*"}, true},
		{"the wider after the narrower", route.Rule{Path: "/a/*"}, route.Rule{Path: "/*"}, true},
		{"a sibling", route.Rule{Path: "/a/*"}, route.Rule{Path: "/ab"}, true},
	} {
		row.first.Policy, row.first.Cost, row.second.Policy, row.second.Cost = "api", 1, "api", 1
		_, err := route.NewTable(route.Config{Policies: policies(t, "api"), Default: "api", Rules: []route.Rule{row.first, row.second}})
		if (err == nil) != row.reachable {
			t.Errorf("%s: got %v, want reachable %v", row.sentence, err, row.reachable)
		}
	}
}

func TestTable_Policy(t *testing.T) {
	table, err := route.NewTable(route.Config{Policies: policies(t, "api"), Default: "api"})
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := table.Policy("api"); !ok || p.ID() != "api" || table.DefaultPolicy() != "api" {
		t.Errorf("got %v, %v, want the policy api", p.ID(), ok)
	}
	if _, ok := table.Policy("ghost"); ok {
		t.Error("a policy that is not there is found")
	}
	if table.IsZero() || !(route.Table{}).IsZero() {
		t.Error("IsZero does not tell the zero Table from another")
	}
}
