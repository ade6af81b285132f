package ablation

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Script is a Lua text and what it is called with. It makes one decision a key.
type Script struct {
	Name   string
	Source string
	Keys   int
	Args   []string // of one call
}

// Heard is the script that was called last among overheard calls: with one key, or
// with several if many is what is looked for.
func Heard(calls [][]string, which Calls) (Script, error) {
	texts := map[string]string{}
	var found *Script
	for _, words := range calls {
		if len(words) < 3 {
			continue
		}
		keys, err := strconv.Atoi(words[2])
		if err != nil || keys < 0 || len(words) < 3+keys {
			continue
		}
		s := Script{Keys: keys, Args: words[3+keys:]}
		switch strings.ToLower(words[0]) {
		case "eval":
			s.Source = words[1]
			texts[digest(words[1])] = words[1]
		case "evalsha":
			s.Source = texts[words[1]]
		}
		if s.Source != "" && which.holds(keys) {
			found = &s
		}
	}
	if found == nil {
		return Script{}, errors.New("no such script was overheard")
	}
	return *found, nil
}

// Calls are those with one key or those with several.
type Calls string

// The two kinds of calls.
const (
	Single Calls = "of one key"
	Batch  Calls = "of several keys"
)

func (c Calls) holds(keys int) bool { return c == Single && keys == 1 || c == Batch && keys > 1 }

// Named is the script under another name.
func (s Script) Named(name string) Script {
	s.Name = name
	return s
}

// Sized is a script whose last arguments are one cost a key, with that many keys, each
// at the cost of the first.
func (s Script) Sized(keys int) Script {
	fixed := len(s.Args) - s.Keys
	cost := s.Args[fixed]
	s.Args = append(slices.Clone(s.Args[:fixed]), slices.Repeat([]string{cost}, keys)...)
	s.Keys = keys
	return s
}
