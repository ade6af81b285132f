package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// table writes a Markdown table whose first column is words and whose others are
// figures.
func table(b *strings.Builder, head []string, rows [][]string) {
	if len(head) == 2 {
		words(b, head, rows)
		return
	}
	grid(b, head, "|---"+strings.Repeat("|--:", len(head)-1)+"|\n", rows)
}

// words writes one whose columns are all words.
func words(b *strings.Builder, head []string, rows [][]string) {
	grid(b, head, strings.Repeat("|---", len(head))+"|\n", rows)
}

func grid(b *strings.Builder, head []string, rule string, rows [][]string) {
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(head)
	b.WriteString(rule)
	for _, row := range rows {
		line(row)
	}
}

// figure is v with that many decimals, or a dash if it was not measured.
func figure(v float64, decimals int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// figures are some, in a row.
func figures(of []float64, decimals int, between string) string {
	row := make([]string, len(of))
	for i, v := range of {
		row[i] = figure(v, decimals)
	}
	return strings.Join(row, between)
}

// unmeasurable is in place of what cannot be, and of what would follow from it.
const unmeasurable = "not measurable in this run"

// difference is what a figure has beyond a part of it. A part that exceeds its whole
// is noise of the run.
func difference(whole, part float64) string {
	if whole < part {
		return unmeasurable
	}
	return figure(whole-part, 1)
}

// thousands is a rate, rounded to a whole number, with its digits in groups.
func thousands(v float64) string {
	digits := figure(v, 0)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

func times(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	return fmt.Sprintf("%.2fx", v)
}
