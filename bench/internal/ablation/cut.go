package ablation

import (
	"fmt"
	"strings"
)

// answer ends a program where it is put. It has what a decision has: a status and
// six integers.
const answer = "do return {'ALLOWED', 1764667000000, 1764667000000, 100000000, 99999999, 0, 1764667000000} end\n"

// change puts text before the one place where a program has the mark, or in place of
// the mark.
type change struct {
	mark, text string
	replace    bool
}

func (c change) in(source string) (string, error) {
	if n := strings.Count(source, c.mark); n != 1 {
		return "", fmt.Errorf("the program has %q %d times and not once: the steps by which it is taken apart are no longer its own", c.mark, n)
	}
	text := c.text
	if !c.replace {
		text += c.mark
	}
	return strings.Replace(source, c.mark, text, 1), nil
}

// step is a program up to some point.
type step struct {
	name string
	cut  []change
}

func until(mark string) change { return change{mark: mark, text: answer} }

const (
	readsHash   = "local flat = redis.call('HGETALL', key)"
	tellsWhat   = "if not fields then"
	beginsFrame = "-- Numbers of every program"
)

// steps are those of every rate program that decides one key, in their order.
var steps = []step{
	{"the call: EVALSHA, a status and six integers back", []change{until("-- The clock of every rate program")}},
	{"TIME", []change{until(beginsFrame)}},
	{"the functions of the frame", []change{until("-- rate-")}},
	{"arguments read and checked", []change{until("local fields = load(")}},
	{"TYPE", []change{until(tellsWhat), {mark: readsHash, text: "do return {} end "}}},
	{"HGETALL, its fields by name, the schema", []change{until(tellsWhat)}},
	{"every number of the state read and checked", []change{until("if observed - now > regression")}},
	{"the decision", []change{until("redis.call('HSET'")}},
	{"HSET, its numbers written", []change{until("redis.call('PEXPIRE'")}},
	{"PEXPIRE, and the numbers of the answer", nil},
}

// Steps is a rate program, cut short after each of its steps. The last one is the
// whole.
func Steps(whole Script) ([]Script, error) { return changed(whole, steps) }

// The names of programs that answer and write as the whole does.
const (
	WithoutType   = "HGETALL without TYPE before it"
	WithoutSchema = "HSET without the schema that is there"
	OneFind       = "numbers read by one pattern"
	AllThree      = "all three"
)

var (
	withoutType = change{replace: true, text: `local flat = redis.pcall('HGETALL', key)
  if flat['err'] then
    if string.find(flat['err'], '^WRONGTYPE') then return nil end
    error(flat)
  end`, mark: `local kind = redis.call('TYPE', key)
  if type(kind) == 'table' then kind = kind['ok'] end
  if kind == 'none' then return {} end
  if kind ~= 'hash' then return nil end
  ` + readsHash}
	withoutSchema = change{replace: true, text: `if not fields['schema'] then redis.call('HSET', KEYS[1], 'schema', schema) end
redis.call('HSET', KEYS[1], 'observed'`, mark: "redis.call('HSET', KEYS[1], 'schema', schema, 'observed'"}
	oneFind = change{replace: true, text: "if not text or #text > 16 or text ~= '0' and not string.find(text, '^[1-9]%d*$') then return nil end", mark: `if type(text) ~= 'string' or #text > 16 or not string.find(text, '^%d+$') then return nil end
  if #text > 1 and string.byte(text) == 48 then return nil end`}
)

// Savings are a rate program with less work for the same state and answers.
func Savings(whole Script) ([]Script, error) {
	return changed(whole, []step{
		{WithoutType, []change{withoutType}},
		{WithoutSchema, []change{withoutSchema}},
		{OneFind, []change{oneFind}},
		{AllThree, []change{withoutType, withoutSchema, oneFind}},
	})
}

func changed(whole Script, by []step) ([]Script, error) {
	var scripts []Script
	for _, s := range by {
		one := whole.Named(s.name)
		for _, c := range s.cut {
			var err error
			if one.Source, err = c.in(one.Source); err != nil {
				return nil, fmt.Errorf("%s, %s: %w", whole.Name, s.name, err)
			}
		}
		scripts = append(scripts, one)
	}
	return scripts, nil
}
