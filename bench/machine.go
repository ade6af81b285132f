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

// loadAverage is that of the last one, five and fifteen minutes, as far as it is known.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	fields := strings.Fields(string(text))
	return strings.Join(fields[:min(3, len(fields))], ", ")
}
