package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// machine is the processor's model, how many of its cores there are, and the
// versions that matter.
func machine() string {
	model := "unknown processor"
	text, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d cores, %s/%s, %s", model, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}

// loadAverage is that of the last one, five and fifteen minutes, or none if it is not
// known.
func loadAverage() []float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return nil
	}
	load := make([]float64, 3)
	if _, err := fmt.Sscan(string(text), &load[0], &load[1], &load[2]); err != nil {
		return nil
	}
	return load
}
