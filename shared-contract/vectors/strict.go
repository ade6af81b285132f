package vectors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// decode reads one JSON value and nothing after it. A key that is unknown,
// repeated, or spelt in another case is an error: encoding/json alone would
// accept the last two.
func decode(content []byte, into any) error {
	if err := checkKeys(content); err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("data after the JSON value")
	}
	return nil
}

// knownKeys are the keys of all files, exactly spelt. Which of them may stand
// where is decided by the raw types themselves.
var knownKeys = collectKeys(map[string]bool{}, reflect.TypeFor[file[rawEdge]](), reflect.TypeFor[file[rawLog]]())

func collectKeys(keys map[string]bool, types ...reflect.Type) map[string]bool {
	for _, t := range types {
		switch t.Kind() {
		case reflect.Slice:
			collectKeys(keys, t.Elem())
		case reflect.Struct:
			for i := range t.NumField() {
				field := t.Field(i)
				keys[field.Tag.Get("json")] = true
				collectKeys(keys, field.Type)
			}
		}
	}
	return keys
}

// checkKeys walks the tokens of content. Malformed JSON is left to the decoder.
func checkKeys(content []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(content))
	var open []map[string]bool // the keys seen in each open object; nil for an array
	expectsKey := false
	for {
		token, err := decoder.Token()
		if err != nil {
			return nil
		}
		switch token := token.(type) {
		case json.Delim:
			if strings.ContainsRune("{[", rune(token)) {
				var seen map[string]bool
				if token == '{' {
					seen = map[string]bool{}
				}
				open = append(open, seen)
			} else {
				open = open[:len(open)-1]
			}
		case string:
			if expectsKey {
				seen := open[len(open)-1]
				if !knownKeys[token] {
					return fmt.Errorf("unknown key %q", token)
				}
				if seen[token] {
					return fmt.Errorf("key %q stands twice in one object", token)
				}
				seen[token] = true
				expectsKey = false
				continue
			}
		}
		expectsKey = len(open) > 0 && open[len(open)-1] != nil
	}
}
