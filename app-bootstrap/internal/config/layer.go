package config

import (
	"errors"
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// layer is one source, read exactly: a tree of Go values whose keys and types
// are the schema's. What could not be read is reported and left out. It is a
// provider for koanf, which merges the layers.
type layer struct {
	report *reporter
	// where names the source of a node.
	where func(*yaml.Node) string
	tree  map[string]any
}

// Read implements koanf.Provider.
func (l *layer) Read() (map[string]any, error) { return l.tree, nil }

// ReadBytes implements koanf.Provider: a layer has no bytes.
func (l *layer) ReadBytes() ([]byte, error) { return nil, errors.New("a layer is read as a tree") }

// value reads n as type t. It reports what is wrong and then answers false.
func (l *layer) value(n *yaml.Node, t reflect.Type, path string) (any, bool) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		l.report.replaced(path)
	}
	l.report.given(path, l.where(n))
	switch {
	case n.Tag == "!!null":
		l.report.unread(path, l.where(n), "is null: give it a value or remove the key")
		return nil, false
	case t.Kind() == reflect.Struct:
		return l.section(n, t, path)
	case t.Kind() == reflect.Slice:
		return l.list(n, t, path)
	case t.Kind() == reflect.Map:
		return l.table(n, t, path)
	}
	v, err := exact(n, t)
	if err != nil {
		l.report.unread(path, l.where(n), "%s%s", err, but(n, path))
		return nil, false
	}
	return v, true
}

func (l *layer) section(n *yaml.Node, t reflect.Type, path string) (any, bool) {
	if n.Kind != yaml.MappingNode {
		l.report.unread(path, l.where(n), "must be a section with the keys %s%s",
			strings.Join(names(t), ", "), but(n, path))
		return nil, false
	}
	tree, seen := map[string]any{}, map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			l.report.unread(child(path, "?"), l.where(key), "has a key that is not a word: remove it")
			continue
		}
		at := child(path, keyName(key.Value))
		field, known := fieldOf(t, key.Value)
		switch {
		case seen[key.Value]:
			l.report.unread(at, l.where(key), "is given twice: keep one")
		case !known:
			l.report.unread(at, l.where(key), "is not a key: %s", expected(t, path))
		default:
			if v, ok := l.value(value, field.Type, at); ok {
				tree[key.Value] = v
			}
		}
		seen[key.Value] = true
	}
	return tree, true
}

func (l *layer) list(n *yaml.Node, t reflect.Type, path string) (any, bool) {
	if n.Kind != yaml.SequenceNode {
		l.report.unread(path, l.where(n), "must be a list, as in [a, b]%s", but(n, path))
		return nil, false
	}
	items := []any{}
	for i, inner := range n.Content {
		v, ok := l.value(inner, t.Elem(), item(path, i))
		if !ok {
			v = reflect.Zero(t.Elem()).Interface() // keeps the others' indexes
			if listOfSections(t) {
				v = map[string]any{}
			}
		}
		items = append(items, v)
	}
	return items, true
}

// table reads a section whose keys are ids. It is no map[string]any, so that
// koanf takes it for one value: a later layer replaces it as a whole, and a dot in
// an id means nothing.
func (l *layer) table(n *yaml.Node, t reflect.Type, path string) (any, bool) {
	if n.Kind != yaml.MappingNode {
		l.report.unread(path, l.where(n), "must be a section whose keys are ids%s", but(n, path))
		return nil, false
	}
	entries, seen := map[string]map[string]any{}, map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			l.report.unread(child(path, "?"), l.where(key), "has a key that is not a word: remove it")
			continue
		}
		if err := exactID(key); err != nil {
			l.report.unread(child(path, keyName(key.Value)), l.where(key), "%s", err)
			continue
		}
		at := entry(path, key.Value)
		if seen[key.Value] {
			l.report.unread(at, l.where(key), "is given twice: keep one")
		} else if v, ok := l.value(value, t.Elem(), at); ok {
			entries[key.Value] = v.(map[string]any)
		}
		seen[key.Value] = true
	}
	return entries, true
}

// set reads text as the value of one key, given by its path, and puts it into
// the tree. Only a whole leaf can be set: no section, no item of a list.
func (l *layer) set(path, text string) {
	t := schema
	parts := strings.Split(path, ".")
	for _, name := range parts {
		field, ok := reflect.StructField{}, false
		if t.Kind() == reflect.Struct {
			field, ok = fieldOf(t, name)
		}
		if !ok {
			l.report.unread(keyName(path), l.where(nil), "is not a key that can be set: see the list of keys; a list is set as a whole, and so are the tenants")
			return
		}
		t = field.Type
	}
	if t.Kind() == reflect.Struct {
		l.report.unread(path, l.where(nil), "is a section: set its keys one by one, %s", strings.Join(names(t), ", "))
		return
	}
	n, faults := inline(text, t)
	for _, f := range faults {
		l.report.unread(path, l.where(nil), "%s", f.message)
	}
	if len(faults) > 0 {
		return
	}
	if v, ok := l.value(n, t, path); ok {
		put(l.tree, parts, v)
	}
}

// inline reads the text of a variable or an override. A string is the text as it
// stands, unless it is quoted; anything else is YAML.
func inline(text string, t reflect.Type) (*yaml.Node, []fault) {
	if t.Kind() == reflect.String && !strings.HasPrefix(text, `"`) && !strings.HasPrefix(text, "'") {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}, nil
	}
	n, faults := parse([]byte(text))
	if n == nil && len(faults) == 0 {
		faults = []fault{{0, "is empty: give it a value or remove it"}}
	}
	return n, faults
}

func put(tree map[string]any, parts []string, v any) {
	for _, name := range parts[:len(parts)-1] {
		next, ok := tree[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			tree[name] = next
		}
		tree = next
	}
	tree[parts[len(parts)-1]] = v
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_.\[\]-]{1,128}$`)

// keyName is a key as it is shown in a path.
func keyName(name string) string {
	if plainKey.MatchString(name) {
		return name
	}
	return shown(name)
}

// expected tells which keys a section has.
func expected(t reflect.Type, path string) string {
	known := strings.Join(names(t), ", ")
	if path == "" {
		return "the file has only " + known
	}
	return path + " has " + known
}
