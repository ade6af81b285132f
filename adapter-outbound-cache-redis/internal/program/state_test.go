package program_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
)

func TestState_whatIsNotOursIsRefusedAndLeftAlone(t *testing.T) {
	servers(t, func(t *testing.T, client *redis.Client) { programtest.RefusesStates(t, client, "") })
}

// Each number at the ends of its range is legal, so that the table above fails
// for the reason that its sentence gives.
func TestState_theEndsOfEachRangeAreLegal(t *testing.T) {
	servers(t, func(t *testing.T, client *redis.Client) {
		for _, p := range programtest.Ordinary(t) {
			timed := program.WithClock(program.For(p.Algorithm()), programtest.SetClock)
			argv := append(program.PolicyArgs(p), "1", stateNow)
			for i, number := range programtest.Numbers[p.Algorithm().Name()] {
				for _, value := range []string{"0", number.Most} {
					fields := programtest.LegalFields(p)
					fields[3+2*i] = value
					programtest.Plant(t, client, "state", fields...)
					got := programtest.Text(programtest.Eval(t, client, timed, []string{"state"}, argv...))
					if strings.HasPrefix(got, "STATE") || strings.HasPrefix(got, "INVALID") {
						t.Errorf("%s, %s %s: got %s", timed.Name, number.Name, value, got)
					}
				}
			}
		}
	})
}
