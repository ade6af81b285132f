package faults_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// parallelRows are rows that run at once unless -parallel says otherwise: they wait for timeouts most of the time.
const parallelRows = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", parallelRows); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}
