package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/edgelimit/edgelimit/bench/internal/contender"
	"github.com/edgelimit/edgelimit/bench/internal/footprint"
)

// Ways are an algorithm's ways to keep a state, in the order of [WaysToKeep].
type Ways struct {
	Name  string
	Kinds []footprint.Kind
}

// Way is one of them.
type Way struct {
	Name  string
	State footprint.State
}

// The names of the ways that the bars refer to.
const (
	asItIs      = "as it is"
	oneLetter   = "names of one letter"
	noSchema    = "without the schema"
	bothOfThem  = "names of one letter, without the schema"
	oneString   = "one string, the schema in it"
	numbersOnly = "one string of the numbers alone"
)

// WaysToKeep are ways to keep a hash's state.
func WaysToKeep(s footprint.State) []Way {
	bare := s.Without("schema")
	return []Way{
		{asItIs, s}, {oneLetter, s.Renamed()}, {noSchema, bare}, {bothOfThem, bare.Renamed()},
		{oneString, s.Packed()}, {numbersOnly, bare.Packed()},
	}
}

// The names of what is no matter of that.
const (
	KeyAlone   = "the key, the entry of its table, and a value that takes nothing"
	KeyWithTTL = "the same with a TTL"
	ShorterKey = "the same with a TTL, the key 16 characters shorter"
)

func (p Profile) memory(b *strings.Builder) {
	if len(p.Memory) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## Memory of Redis, over %s subjects\n\nBytes a subject, against what redis_rate's value takes under a key of the same length:\n\n", thousands(float64(p.Kinds)))
	base := p.peerBytes()
	head := []string{""}
	for _, w := range p.Memory {
		head = append(head, w.Name, "", "MEMORY USAGE")
	}
	var rows [][]string
	for i, kind := range p.Memory[0].Kinds {
		row := []string{kind.Name}
		for _, w := range p.Memory {
			k := w.Kinds[i]
			row = append(row, figure(k.Bytes, 0), times(k.Bytes/base), strconv.FormatInt(k.Usage, 10))
		}
		rows = append(rows, row)
	}
	table(b, head, rows)
	b.WriteString("\nWhat is in each of them, whatever the value:\n\n")
	rows = nil
	for _, k := range p.Rest {
		rows = append(rows, []string{k.Name, figure(k.Bytes, 0), times(k.Bytes / base), strconv.FormatInt(k.Usage, 10)})
	}
	table(b, []string{"", "bytes", "", "MEMORY USAGE"}, rows)
}

// bytes is what a way takes; NaN if it was not measured.
func (w Ways) bytes(way string) float64 { return bytesOf(w.Kinds, way) }

func (p Profile) peerBytes() float64 { return bytesOf(p.Rest, contender.RedisRate) }

func bytesOf(kinds []footprint.Kind, name string) float64 {
	for _, k := range kinds {
		if k.Name == name {
			return k.Bytes
		}
	}
	return math.NaN()
}
