package vectors_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/vectors"
)

const edgeVector = `{"format":1,"vectors":[{"name":"v","policy":{"id":"p","revision":1,"algorithm":"fixed-window",` +
	`"cleanupGraceMillis":0,"maxClockRegressionMillis":5,"maxCost":1,"limit":2,"windowMillis":1000},"steps":[` +
	`{"serverNowMillis":10,"cost":1,"expect":{"status":"ALLOWED","serverNowMillis":10,"effectiveNowMillis":10,"limit":2,"remaining":1,"retryAfterMillis":0,"resetAtMillis":1000},"ttlMillis":990},` +
	`{"serverNowMillis":11,"cost":3,"expect":{"status":"INVALID","serverNowMillis":11,"effectiveNowMillis":11,"limit":0,"remaining":0,"retryAfterMillis":0,"resetAtMillis":0}}]}]}`

const bucketVector = `{"format":1,"vectors":[{"name":"v","policy":{"id":"p","revision":1,"algorithm":"token-bucket",` +
	`"cleanupGraceMillis":0,"maxClockRegressionMillis":5,"maxCost":1,"capacity":2,"refillTokens":1,"refillPeriodMillis":1000},"steps":[` +
	`{"serverNowMillis":10,"cost":1,"expect":{"status":"ALLOWED","serverNowMillis":10,"effectiveNowMillis":10,"limit":2,"remaining":1,"retryAfterMillis":0,"resetAtMillis":1010},"ttlMillis":1000}]}]}`

const logVector = `{"format":1,"vectors":[{"name":"v","windowMicros":1000,"steps":[` +
	`{"nowMicros":5,"user":"u","limit":1,"expect":{"status":"ALLOWED","remaining":0,"retryAfterMillis":0,"resetAfterMillis":1,"ttlMillis":1001}},` +
	`{"nowMicros":6,"user":"u","limit":1,"expect":{"status":"DENIED","remaining":0,"retryAfterMillis":1,"resetAfterMillis":1}},` +
	`{"nowMicros":1,"user":"u","limit":1,"expect":{"status":"CLOCK_UNSAFE"}}]}]}`

const dualVector = `{"format":1,"vectors":[{"name":"v","windowMicros":1000,"steps":[` +
	`{"nowMicros":5,"user":"u","tenantLimit":3,"userLimit":2,"expect":{"status":"ALLOWED","remaining":[2,1],"retryAfterMillis":0,"resetAfterMillis":[1,1],"ttlMillis":1001}}]}]}`

// folder makes a folder of files and points All at it.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(vectors.Env, dir)
	return dir
}

func TestVectorsEmbedded_areAtLeastSixtyAFile(t *testing.T) {
	t.Setenv(vectors.Env, "")
	set, err := vectors.All()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	statuses := map[model.Status]int{}
	names := map[string]bool{}
	for _, v := range set.Edge {
		counts[string(v.Policy.Algorithm().Name())]++
		for _, step := range v.Steps {
			statuses[step.Expect.Status]++
		}
		if names[v.Name] {
			t.Errorf("two vectors are named %s", v.Name)
		}
		names[v.Name] = true
	}
	for _, v := range set.Logs {
		counts[[]string{"", "log of one layer", "log of two layers"}[v.Layers]]++
		for _, step := range v.Steps {
			if step.Status != model.ClockUnsafe && (len(step.Remaining) != v.Layers || len(step.Limits) != v.Layers || len(step.ResetAfterMillis) != v.Layers) {
				t.Errorf("%s: a step has numbers of other layers: %+v", v.Name, step)
			}
		}
	}
	for _, name := range []string{"fixed-window", "sliding-window-counter", "token-bucket", "log of one layer", "log of two layers"} {
		if counts[name] < 60 {
			t.Errorf("%s: %d vectors, want at least 60", name, counts[name])
		}
	}
	for _, status := range []model.Status{model.Allowed, model.Denied, model.ClockUnsafe} {
		if statuses[status] < 100 {
			t.Errorf("%s: %d steps, want at least 100", status, statuses[status])
		}
	}
}

func TestVectorsFolder_isReadInPlaceOfTheEmbedded(t *testing.T) {
	folder(t, map[string]string{
		"fixed-window.json": edgeVector, "token-bucket.json": bucketVector,
		"sliding-log.json": logVector, "dual-sliding-log.json": dualVector,
		"README.md": "not JSON", "leaky-bucket.json": "not JSON", "fixed-window.json.bak": "not JSON",
	})
	set, err := vectors.All()
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Edge) != 2 || len(set.Logs) != 2 {
		t.Fatalf("got %d and %d vectors, want 2 and 2", len(set.Edge), len(set.Logs))
	}
	fixed := set.Edge[0]
	want := vectors.EdgeStep{ServerNowMillis: 10, Cost: 1, TTLMillis: 990, Expect: model.Reply{
		Status: model.Allowed, ServerNowMillis: 10, EffectiveNowMillis: 10, Limit: 2, Remaining: 1, ResetAtMillis: 1000}}
	if fixed.Name != "v" || fixed.Policy.Limit() != 2 || len(fixed.Steps) != 2 || fixed.Steps[0] != want {
		t.Errorf("got %+v", fixed)
	}
	if set.Edge[1].Policy.Algorithm() != (ratelimit.TokenBucket{Capacity: 2, RefillTokens: 1, RefillPeriod: 1e9}) {
		t.Errorf("got %+v", set.Edge[1].Policy)
	}
	if dual := set.Logs[1].Steps[0]; dual.Limits[0] != 3 || dual.Limits[1] != 2 || dual.Remaining[0] != 2 || dual.Remaining[1] != 1 {
		t.Errorf("got tenant and user of %+v", dual)
	}
}

func TestVectorsFolder_anAbsentFileIsPassedOver(t *testing.T) {
	folder(t, nil)
	set, err := vectors.All()
	if err != nil || len(set.Edge) != 0 || len(set.Logs) != 0 {
		t.Errorf("got %d and %d vectors and %v, want none", len(set.Edge), len(set.Logs), err)
	}
}

func TestVectorsFolder_whatCannotBeReadFails(t *testing.T) {
	t.Run("a folder that is not there", func(t *testing.T) {
		t.Setenv(vectors.Env, filepath.Join(t.TempDir(), "absent"))
		checkFails(t, "EDGELIMIT_VECTORS")
	})
	t.Run("a file in place of the folder", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv(vectors.Env, file)
		checkFails(t, "EDGELIMIT_VECTORS")
	})
	t.Run("a folder in place of a file", func(t *testing.T) {
		dir := folder(t, nil)
		if err := os.Mkdir(filepath.Join(dir, "token-bucket.json"), 0o700); err != nil {
			t.Fatal(err)
		}
		checkFails(t, "token-bucket.json")
	})
	t.Run("an empty file", func(t *testing.T) {
		folder(t, map[string]string{"sliding-log.json": ""})
		checkFails(t, "sliding-log.json")
	})
}

// Each row replaces one piece of a file that is read without fault.
func TestVectorsStrict_whatIsUnknownOrMissingFails(t *testing.T) {
	for _, row := range []struct {
		sentence, file, content string
		replace, by             string
		says                    string
	}{
		{"an unknown key of the file", "fixed-window.json", edgeVector, `"format":1`, `"format":1,"note":""`, `unknown key "note"`},
		{"an unknown key of a vector", "fixed-window.json", edgeVector, `"name":"v"`, `"name":"v","note":""`, `unknown key "note"`},
		{"an unknown key of a policy", "fixed-window.json", edgeVector, `"revision":1`, `"revision":1,"burst":2`, `unknown key "burst"`},
		{"an unknown key of a step", "fixed-window.json", edgeVector, `"cost":1`, `"cost":1,"costs":1`, `unknown key "costs"`},
		{"an unknown key of an expectation", "fixed-window.json", edgeVector, `"status":"ALLOWED"`, `"status":"ALLOWED","source":""`, `unknown key "source"`},
		{"a key of another object", "fixed-window.json", edgeVector, `"cost":1`, `"cost":1,"windowMillis":1`, "windowMillis"},
		{"a key twice", "fixed-window.json", edgeVector, `"cost":1`, `"cost":1,"cost":1`, `key "cost" stands twice`},
		{"a key twice, an object's", "fixed-window.json", edgeVector, `"ttlMillis":990`, `"ttlMillis":990,"expect":{}`, `key "expect" stands twice`},
		{"a key in another case", "fixed-window.json", edgeVector, `"cost":1`, `"Cost":1`, `unknown key "Cost"`},
		{"an escaped key in another case", "fixed-window.json", edgeVector, `"cost":1`, `"\u0043ost":1`, `unknown key "Cost"`},
		{"another format", "fixed-window.json", edgeVector, `"format":1`, `"format":2`, "format 2 is not 1"},
		{"no format", "fixed-window.json", edgeVector, `"format":1,`, ``, "format 0 is not 1"},
		{"no vectors", "fixed-window.json", edgeVector, edgeVector, `{"format":1}`, "a file needs vectors"},
		{"null in place of the file", "fixed-window.json", edgeVector, edgeVector, `null`, "format 0 is not 1"},
		{"null in place of a vector", "fixed-window.json", edgeVector, edgeVector, `{"format":1,"vectors":[null]}`, "needs a name"},
		{"data after the value", "fixed-window.json", edgeVector, `]}]}`, `]}]}{}`, "data after the JSON value"},
		{"a bracket too many", "fixed-window.json", edgeVector, `]}]}`, `]}]}]`, "fixed-window.json"},
		{"a file cut short", "fixed-window.json", edgeVector, `]}]}`, `]}]`, "fixed-window.json"},
		{"no name", "fixed-window.json", edgeVector, `"name":"v"`, `"name":""`, "needs a name"},
		{"no steps", "fixed-window.json", edgeVector, edgeVector[strings.Index(edgeVector, `"steps"`):], `"steps":[]}]}`, "needs a name and steps"},
		{"the algorithm of another file", "token-bucket.json", edgeVector, "", "", `algorithm "fixed-window" is not "token-bucket"`},
		{"an unknown algorithm", "fixed-window.json", edgeVector, `"algorithm":"fixed-window"`, `"algorithm":"leaky-bucket"`, `"leaky-bucket"`},
		{"a policy without a limit", "fixed-window.json", edgeVector, `"limit":2,"windowMillis"`, `"windowMillis"`, "lacks a parameter"},
		{"a policy whose limit is null", "fixed-window.json", edgeVector, `"limit":2,"windowMillis"`, `"limit":null,"windowMillis"`, "lacks a parameter"},
		{"a policy without a grace", "fixed-window.json", edgeVector, `"cleanupGraceMillis":0,`, ``, "lacks a parameter"},
		{"a policy with another algorithm's parameter", "fixed-window.json", edgeVector, `"limit":2,"windowMillis"`, `"limit":2,"capacity":2,"windowMillis"`, "parameter of another algorithm"},
		{"a policy that is none", "fixed-window.json", edgeVector, `"limit":2,"windowMillis":1000`, `"limit":0,"windowMillis":1000`, "limit 0 is outside"},
		{"a window that overflows a duration", "fixed-window.json", edgeVector, `"windowMillis":1000`, `"windowMillis":9223372036854775807`, "window"},
		{"a bucket with a limit", "token-bucket.json", bucketVector, `"capacity":2`, `"capacity":2,"limit":2`, "parameter of another algorithm"},
		{"an unknown status", "fixed-window.json", edgeVector, `"status":"ALLOWED"`, `"status":"OK"`, `unknown status "OK"`},
		{"a status in another case", "fixed-window.json", edgeVector, `"status":"ALLOWED"`, `"status":"allowed"`, `unknown status "allowed"`},
		{"no status", "fixed-window.json", edgeVector, `"status":"ALLOWED",`, ``, `unknown status ""`},
		{"a missing number of a step", "fixed-window.json", edgeVector, `"cost":1,`, ``, "a number is missing"},
		{"a missing number of an expectation", "fixed-window.json", edgeVector, `"remaining":1,`, ``, "a number is missing"},
		{"a fraction", "fixed-window.json", edgeVector, `"remaining":1,`, `"remaining":1.5,`, "fixed-window.json"},
		{"a number in exponents", "fixed-window.json", edgeVector, `"remaining":1,`, `"remaining":1e0,`, "fixed-window.json"},
		{"a number in quotes", "fixed-window.json", edgeVector, `"remaining":1,`, `"remaining":"1",`, "fixed-window.json"},
		{"a number beyond 64 bits", "fixed-window.json", edgeVector, `"remaining":1,`, `"remaining":9223372036854775808,`, "fixed-window.json"},
		{"an allowed step without a time to live", "fixed-window.json", edgeVector, `,"ttlMillis":990`, ``, "ttlMillis stands on ALLOWED steps"},
		{"another step with a time to live", "fixed-window.json", edgeVector, `"retryAfterMillis":0,"resetAtMillis":0}`, `"retryAfterMillis":0,"resetAtMillis":0},"ttlMillis":1`, "ttlMillis stands on ALLOWED steps"},

		{"an unknown key of a log", "sliding-log.json", logVector, `"windowMicros":1000`, `"windowMicros":1000,"window":1`, `unknown key "window"`},
		{"a log without a window", "sliding-log.json", logVector, `"windowMicros":1000,`, ``, "a window above 0"},
		{"a log of a window of 0", "sliding-log.json", logVector, `"windowMicros":1000`, `"windowMicros":0`, "a window above 0"},
		{"a status of the edge in a log", "sliding-log.json", logVector, `"status":"CLOCK_UNSAFE"`, `"status":"INVALID"`, `unknown status "INVALID"`},
		{"a step without a user", "sliding-log.json", logVector, `"user":"u"`, `"user":""`, "needs nowMicros, user"},
		{"a step without a limit", "sliding-log.json", logVector, `"limit":1,"expect":{"status":"ALLOWED"`, `"expect":{"status":"ALLOWED"`, "needs nowMicros, user and the limits"},
		{"an unsafe clock with a number", "sliding-log.json", logVector, `"status":"CLOCK_UNSAFE"`, `"status":"CLOCK_UNSAFE","remaining":0`, "has no numbers"},
		{"a denial with a time to live", "sliding-log.json", logVector, `"retryAfterMillis":1,"resetAfterMillis":1`, `"retryAfterMillis":1,"resetAfterMillis":1,"ttlMillis":1`, "if and only if it is ALLOWED"},
		{"a step of one layer with two numbers", "sliding-log.json", logVector, `"remaining":0`, `"remaining":[0,0]`, "remaining: not a number"},
		{"a step without a number", "sliding-log.json", logVector, `"remaining":0,`, ``, "remaining: not a number"},
		{"a step of one layer in the file of two", "dual-sliding-log.json", logVector, "", "", "the limits of its layers"},
		{"a step of two layers in the file of one", "sliding-log.json", dualVector, "", "", "the limits of its layers"},
		{"a step of two layers with one number", "dual-sliding-log.json", dualVector, `"remaining":[2,1]`, `"remaining":2`, "remaining: not 2 numbers"},
		{"a step of two layers with three", "dual-sliding-log.json", dualVector, `"remaining":[2,1]`, `"remaining":[2,1,0]`, "remaining: not 2 numbers"},
		{"a step of two layers with a null", "dual-sliding-log.json", dualVector, `"resetAfterMillis":[1,1]`, `"resetAfterMillis":[1,null]`, "resetAfterMillis: not 2 numbers"},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			content := row.content
			if row.replace != "" {
				if content = strings.Replace(content, row.replace, row.by, 1); content == row.content {
					t.Fatalf("nothing was replaced: %q", row.replace)
				}
			}
			folder(t, map[string]string{row.file: content})
			checkFails(t, row.says)
		})
	}
}

// checkFails demands an error that says what is wrong, and no vectors beside it.
func checkFails(t *testing.T, says string) {
	t.Helper()
	set, err := vectors.All()
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Fatalf("got %v, want an error that says %q", err, says)
	}
	if set.Edge != nil || set.Logs != nil {
		t.Error("got vectors beside the error")
	}
}

// FuzzVectorFile holds that no content makes the parser panic, or accept a
// vector that is none.
func FuzzVectorFile(f *testing.F) {
	for _, seed := range []string{edgeVector, bucketVector, logVector, dualVector, "", "null", "[]", `{"format":1,"vectors":[]}`, `{"a":{"a":[{]`} {
		f.Add(seed)
	}
	names := []string{"fixed-window.json", "sliding-window-counter.json", "token-bucket.json", "sliding-log.json", "dual-sliding-log.json"}
	f.Fuzz(func(t *testing.T, content string) {
		for _, name := range names {
			set, err := vectors.Read(fstest.MapFS{name: {Data: []byte(content)}})
			if err != nil && (set.Edge != nil || set.Logs != nil) {
				t.Errorf("%s: vectors beside an error: %v", name, err)
			}
			for _, v := range set.Edge {
				if v.Policy.IsZero() || v.Name == "" || len(v.Steps) == 0 {
					t.Errorf("%s: accepted %+v", name, v)
				}
			}
		}
	})
}
