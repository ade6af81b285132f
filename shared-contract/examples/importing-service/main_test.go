package main

import (
	"strings"
	"testing"
)

func TestRun_saysWhatEachOutcomeMeans(t *testing.T) {
	var out strings.Builder
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	want := `12 pages rendered, 48 left
too many pages: again in 5s
not now, and nothing was charged: again in 1s
not now, and it may have been charged: again in 1s
this service and its limiter do not fit together
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
