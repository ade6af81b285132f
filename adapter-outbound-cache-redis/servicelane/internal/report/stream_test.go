package report_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/report"
)

const stream = `{"Action":"start","Package":"lane/faults"}
{"Action":"run","Package":"lane/faults","Test":"TestLink"}
{"Action":"attr","Package":"lane/faults","Test":"TestLink","Key":"fault","Value":"{\"Name\":\"the reply is lost\",\"Calls\":3,\"Heard\":\"indeterminate\",\"Charged\":3}"}
{"Action":"attr","Package":"lane/faults","Test":"TestLink","Key":"server","Value":"redis 7.0.15"}
{"Action":"attr","Package":"lane/faults","Test":"TestLink","Key":"strange","Value":"passed over"}
{"Action":"output","Package":"lane/faults","Test":"TestLink","Output":"not to be seen\n"}
{"Action":"pass","Package":"lane/faults","Test":"TestLink","Elapsed":0.5}
{"Action":"output","Package":"lane/faults","Test":"TestOther","Output":"    other_test.go:1: got 1, want 2\n"}
{"Action":"fail","Package":"lane/faults","Test":"TestOther","Elapsed":0}
{"Action":"skip","Package":"lane/faults","Test":"TestThird","Elapsed":0}
{"Action":"output","Package":"lane/faults","Output":"FAIL\n"}
{"Action":"fail","Package":"lane/faults","Elapsed":1.5}
{"Action":"attr","Package":"lane/promises","Test":"TestA","Key":"figure","Value":"{\"What\":\"steps\",\"Value\":\"12\"}"}
{"Action":"pass","Package":"lane/promises","Test":"TestA","Elapsed":0}
{"Action":"output","Package":"lane/promises","Output":"ok  \tlane/promises\t0.1s\n"}
{"Action":"pass","Package":"lane/promises","Elapsed":0.1}
`

func TestRead_countsTestsAndKeepsWhatTheyRecorded(t *testing.T) {
	var failed strings.Builder
	got, err := report.Read(strings.NewReader(stream), &failed)
	if err != nil {
		t.Fatal(err)
	}
	want := []report.Suite{
		{
			Name: "faults", Passed: 1, Failed: 1, Skipped: 1, Seconds: 1.5, Server: "redis 7.0.15",
			Faults: []evidence.Fault{{Name: "the reply is lost", Calls: 3, Heard: "indeterminate", Charged: 3}},
		},
		{Name: "promises", Passed: 1, Seconds: 0.1, Figures: []evidence.Figure{{What: "steps", Value: "12"}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if want := "    other_test.go:1: got 1, want 2\nFAIL\n"; failed.String() != want {
		t.Errorf("printed %q, want %q", failed.String(), want)
	}
}

func TestRead_aPackageThatDoesNotBuildFails(t *testing.T) {
	var failed strings.Builder
	got, err := report.Read(strings.NewReader(`{"Action":"build-output","ImportPath":"lane/faults","Output":"syntax error\n"}
{"Action":"fail","Package":"lane/faults","Elapsed":0}`), &failed)
	if err != nil || len(got) != 1 || got[0].Failed != 1 {
		t.Errorf("got %+v, %v, want one suite that failed", got, err)
	}
	if !strings.Contains(failed.String(), "syntax error") {
		t.Errorf("printed %q, want the reason", failed.String())
	}
}

func TestRead_aPackageThatRunsOutOfTimeSaysWhere(t *testing.T) {
	var failed strings.Builder
	got, err := report.Read(strings.NewReader(`{"Action":"run","Package":"lane/faults","Test":"TestLink"}
{"Action":"output","Package":"lane/faults","Test":"TestLink","Output":"panic: test timed out after 5m0s\n"}
{"Action":"output","Package":"lane/faults","Output":"FAIL\tlane/faults\t300s\n"}
{"Action":"fail","Package":"lane/faults","Elapsed":300}`), &failed)
	if err != nil || len(got) != 1 || got[0].Failed != 1 {
		t.Errorf("got %+v, %v, want one suite that failed", got, err)
	}
	if !strings.Contains(failed.String(), "timed out") {
		t.Errorf("printed %q, want what the test printed", failed.String())
	}
}

func TestRead_refusesWhatIsNoStream(t *testing.T) {
	for _, text := range []string{
		"go: no module\n",
		`{"Action":"attr","Package":"a","Test":"b","Key":"figure","Value":"12"}`,
		`{"Action":"attr","Package":"a","Test":"b","Key":"fault","Value":""}`,
		`{"Action":"attr","Package":"a","Test":"b","Key":"server","Value":"redis 7.0.15"}
{"Action":"attr","Package":"a","Test":"c","Key":"server","Value":"redis 8.0.2"}`,
	} {
		if got, err := report.Read(strings.NewReader(text), &strings.Builder{}); err == nil {
			t.Errorf("%q: got %+v, want an error", text, got)
		}
	}
}
