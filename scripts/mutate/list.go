package main

import (
	"fmt"
	"strings"
)

// selection is the tests that must notice a mutant: arguments of go test, run
// in one module.
type selection struct {
	name   string
	module string
	args   []string
}

func (s selection) String() string { return s.module + " " + strings.Join(s.args, " ") }

// mutant is one way to break one file.
type mutant struct {
	sentence string // what is broken
	file     string // below the root; "" breaks nothing
	old, new string
	tests    selection
}

// parse reads a list. Lines that begin with # and empty lines are nothing. A
// selection is named by
//
//	tests NAME MODULE GO-TEST-ARGUMENTS...
//
// and in force, like the file, until the next one is chosen by
//
//	use NAME
//	file PATH
//
// A mutant is a sentence, the lines to find and the lines to put in their place:
//
//	mutant SENTENCE
//	- old line
//	+ new line
func parse(text string) ([]mutant, error) {
	selections := map[string]selection{}
	var mutants []mutant
	var file string
	var tests selection
	for i, line := range strings.Split(text, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "", "#":
		case "tests":
			words := strings.Fields(rest)
			if len(words) < 3 {
				return nil, fmt.Errorf("line %d: tests needs a name, a module and arguments", i+1)
			}
			selections[words[0]] = selection{words[0], words[1], words[2:]}
		case "use":
			var known bool
			if tests, known = selections[rest]; !known {
				return nil, fmt.Errorf("line %d: no tests are named %q", i+1, rest)
			}
		case "file":
			file = rest
		case "mutant":
			mutants = append(mutants, mutant{sentence: rest, file: file, tests: tests})
		case "-", "+":
			if len(mutants) == 0 {
				return nil, fmt.Errorf("line %d: a change before any mutant", i+1)
			}
			m := &mutants[len(mutants)-1]
			if word == "-" {
				m.old += rest + "\n"
			} else {
				m.new += rest + "\n"
			}
		default:
			return nil, fmt.Errorf("line %d: %q", i+1, line)
		}
	}
	for _, m := range mutants {
		if m.file == "" || m.old == "" || m.old == m.new || m.tests.name == "" {
			return nil, fmt.Errorf("mutant %q needs a file, tests and a change", m.sentence)
		}
	}
	return mutants, nil
}
