package promises_test

import (
	"context"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
	"github.com/edgelimit/edgelimit/shared-contract/model"
)

// kinds are Lua that gives TYPE's answer in each form that servers have: k is what this one says.
var kinds = map[string]string{
	"as the server gives it": "return k",
	"as a table":             "if type(k) == 'table' then return k end return {ok = k}",
	"as a string":            "if type(k) == 'table' then return k['ok'] end return k",
}

// answering is the clock that a test sets, behind which TYPE is answered in one form.
func answering(t *testing.T, form string) string {
	t.Helper()
	before, after, found := strings.Cut(programtest.SetClock, "  if key == nil")
	if !found {
		t.Fatal("the clock that a test sets has no place for another TYPE")
	}
	return before + `  if command == 'TYPE' then
    local k = server.call('TYPE', key)
    ` + form + `
  end
  if key == nil` + after
}

// A key of another type is told from ours by the program, which never meets a WRONGTYPE, in whatever form TYPE answers.
func everyFormOfType(t *testing.T, at redistest.Witness) {
	s, calls := newScene(t, at), 0
	argv := func(p program.Program, args ...string) []string {
		if p.Name == program.SlidingLog.Name {
			return []string{programtest.Decimal(programtest.LogWindow), "5", programtest.Decimal(programtest.LogNow)}
		}
		return append(args, "1", programtest.Decimal(programtest.StateNowMillis))
	}
	say := func(timed program.Program, key string, args []string) string {
		calls++
		got := programtest.Text(programtest.Eval(t, s.client, timed, []string{key}, args...))
		status, _, _ := strings.Cut(got, " ")
		return status
	}
	for name, form := range kinds {
		for _, p := range programtest.Ordinary(t) {
			timed := program.WithClock(program.For(p.Algorithm()), answering(t, form))
			args := argv(timed, program.PolicyArgs(p)...)
			for _, foreign := range programtest.ForeignTypes() {
				key := s.key(name + timed.Name + foreign.Sentence)
				foreign.Plant(t, s.client, key)
				if got := say(timed, key, args); got != string(model.StateIncompatible) {
					t.Errorf("TYPE %s, %s, %s: got %s, want STATE_INCOMPATIBLE", name, timed.Name, foreign.Sentence, got)
				}
			}
			for _, found := range []string{"none", "a hash"} {
				if got := say(timed, s.key(name+timed.Name), args); got != string(model.Allowed) {
					t.Errorf("TYPE %s, %s, %s: got %s, want ALLOWED", name, timed.Name, found, got)
				}
			}
		}
		timed := program.WithClock(program.SlidingLog, answering(t, form))
		for _, foreign := range programtest.ForeignLogs() {
			key := s.key(name + timed.Name + foreign.Sentence)
			foreign.Plant(t, s.client, key)
			if got := say(timed, key, argv(timed)); got != string(model.StateIncompatible) {
				t.Errorf("TYPE %s, %s, %s: got %s, want STATE_INCOMPATIBLE", name, timed.Name, foreign.Sentence, got)
			}
		}
		for _, found := range []string{"none", "a zset"} {
			if got := say(timed, s.key(name+timed.Name), argv(timed)); got != string(model.Allowed) {
				t.Errorf("TYPE %s, %s, %s: got %s, want ALLOWED", name, timed.Name, found, got)
			}
		}
	}
	form, err := s.client.Do(context.Background(), "EVAL", "return type(redis.call('TYPE', KEYS[1]))", 1, s.key("none")).Text()
	if err != nil || form != "table" && form != "string" {
		t.Errorf("this server's own answer to TYPE is a %q: %v", form, err)
	}
	evidence.Record(t, "calls over keys of every type, by each form of TYPE's answer", "%d; this server gives a %s", calls, form)
}
