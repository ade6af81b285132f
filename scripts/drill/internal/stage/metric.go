package stage

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// SumOf is the sum of a counter over its labels, in the text format of Prometheus;
// 0 if it is not there.
func SumOf(exposition io.Reader, name string) (int, error) {
	sum := 0
	lines := bufio.NewScanner(exposition)
	for lines.Scan() {
		series, value, _ := strings.Cut(lines.Text(), " ")
		if series != name && !strings.HasPrefix(series, name+"{") {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("metric %s: %w", name, err)
		}
		sum += int(n)
	}
	return sum, lines.Err()
}
