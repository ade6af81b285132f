package web

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Connections is how many wrk holds open.
const Connections = 32

// figures is what one run of wrk saw.
type figures struct {
	perSecond, p50, p99 float64 // requests, milliseconds, milliseconds
	requests            int
	wrong               int // answers that are no 2xx, and requests that failed
}

// wrk asks for url during length, in whole seconds.
func wrk(ctx context.Context, program, url string, length time.Duration) (figures, error) {
	seconds := strconv.Itoa(max(1, int(length.Seconds())))
	out, err := exec.CommandContext(ctx, program, "--latency", "-t1", "-c"+strconv.Itoa(Connections), "-d"+seconds+"s", url).CombinedOutput()
	if err != nil {
		return figures{}, fmt.Errorf("wrk: %w\n%s", err, out)
	}
	return parse(string(out))
}

// parse reads what wrk prints.
func parse(out string) (f figures, err error) {
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		switch {
		case len(words) == 2 && words[0] == "Requests/sec:":
			f.perSecond, err = strconv.ParseFloat(words[1], 64)
		case len(words) == 2 && words[0] == "50%":
			f.p50, err = millis(words[1])
		case len(words) == 2 && words[0] == "99%":
			f.p99, err = millis(words[1])
		case len(words) > 2 && words[1] == "requests" && words[2] == "in":
			f.requests, err = strconv.Atoi(words[0])
		case strings.Contains(line, "Non-2xx") || strings.Contains(line, "Socket errors"):
			f.wrong += numbers(words)
		}
		if err != nil {
			return figures{}, fmt.Errorf("read what wrk says, %q: %w", line, err)
		}
	}
	if f.perSecond == 0 || f.requests == 0 {
		return figures{}, fmt.Errorf("wrk counts no request: %s", out)
	}
	return f, nil
}

// millis reads a duration such as 812.00us.
func millis(text string) (float64, error) {
	d, err := time.ParseDuration(text)
	return d.Seconds() * 1000, err
}

// numbers is the sum of the words that are numbers, a comma at their end aside.
func numbers(words []string) int {
	sum := 0
	for _, word := range words {
		if n, err := strconv.Atoi(strings.TrimSuffix(word, ",")); err == nil {
			sum += n
		}
	}
	return sum
}
