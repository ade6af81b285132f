package compose_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/app-bootstrap/internal/compose"
)

// TestConnection_oneKeyChangesOneField sets one key after the other and looks at what
// the client would be opened by.
func TestConnection_oneKeyChangesOneField(t *testing.T) {
	const redis = "app.rate-limit.redis."
	opened := func(overrides ...string) coordination.Config {
		return compose.ConnectionOf(load(t, overrides...).RateLimit.Redis, nil)
	}
	before := opened()
	set := map[string]bool{}
	for override, want := range map[string]string{
		"endpoint=redis://127.0.0.9:1/0": "Addr", "endpoint=rediss://127.0.0.1:1/0": "TLS", "endpoint=redis://127.0.0.1:1/7": "Database",
		"endpoint=redis://me@127.0.0.1:1/0": "Username", "dial-timeout=1234ms": "DialTimeout", "command-timeout=77ms": "CommandTimeout",
		"max-in-flight=513": "MaxInFlight", "admission-wait=9ms": "AdmissionWait", "breaker.failures=6": "BreakerFailures",
		"breaker.probe-every=1500ms": "BreakerProbeEvery", "key-prefix=other": "",
	} {
		if got := changed(before, opened(redis+override)); strings.Join(got, " ") != want {
			t.Errorf("%s changed %q, want %q", override, got, want)
		}
		set[want] = true
	}
	// What a program sets, and no configuration; the password is held by its own tests.
	for _, own := range []string{"Password", "Resolve", "Cluster", "Protocol", "OneBudget", "EveryFailure", "Logger", "node"} {
		set[own] = true
	}
	for field := range reflect.TypeFor[coordination.Config]().Fields() {
		if !set[field.Name] {
			t.Errorf("%s has no row: does a key set it?", field.Name)
		}
	}
}

// changed are the fields that differ.
func changed(a, b coordination.Config) []string {
	var fields []string
	of, other := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range of.NumField() {
		field := of.Type().Field(i)
		if field.IsExported() && field.Type.Kind() != reflect.Func && !reflect.DeepEqual(of.Field(i).Interface(), other.Field(i).Interface()) {
			fields = append(fields, field.Name)
		}
	}
	slices.Sort(fields)
	return fields
}
