package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxText is the most bytes of one source's YAML text.
const maxText = 1 << 20

// fault is something that makes YAML text unacceptable before any key is read.
type fault struct {
	line    int // 0 when unknown
	message string
}

// parse reads one YAML document; nil when the text holds nothing. With faults
// the node is not to be used. Only plain YAML passes: no anchors, aliases, merge
// keys or tags, so that what is written is what counts and nothing expands.
func parse(text []byte) (*yaml.Node, []fault) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	switch {
	case len(text) > maxText:
		return nil, []fault{{0, fmt.Sprintf("is larger than %d bytes: split out what is not configuration", maxText)}}
	case !utf8.Valid(text):
		return nil, []fault{{0, "is not UTF-8 text: save it as UTF-8"}}
	}
	if line := tabbed(text); line > 0 {
		return nil, []fault{{line, "is indented with a tab: use spaces"}}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, []fault{malformed(err)}
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		return nil, []fault{{second.Line, "begins a second document: keep one"}}
	case !errors.Is(err, io.EOF):
		return nil, []fault{malformed(err)}
	}
	if len(document.Content) == 0 {
		return nil, nil
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Value == "" && root.Tag == "!!null" {
		return nil, nil
	}
	return root, indirections(root, nil)
}

func malformed(err error) fault {
	return fault{0, fmt.Sprintf("is not valid YAML (%v): check the indentation, and quote a text that begins with a sign, as in \"::1\"", err)}
}

// tabbed is the first line that begins with a tab, or with spaces and a tab; 0
// for none. YAML allows none, and its parser says so less clearly.
func tabbed(text []byte) int {
	for i, line := range bytes.Split(text, []byte("\n")) {
		if bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte("\t")) {
			return i + 1
		}
	}
	return 0
}

// indirections adds a fault for everything under n that stands for something
// that is not written there.
func indirections(n *yaml.Node, faults []fault) []fault {
	switch {
	case n.Kind == yaml.AliasNode:
		return append(faults, fault{n.Line, "uses a YAML alias: write the value out"})
	case n.Tag == "!!merge":
		faults = append(faults, fault{n.Line, "uses a YAML merge key: write the keys out"})
	case n.Style&yaml.TaggedStyle != 0:
		faults = append(faults, fault{n.Line, "uses a YAML tag: write the plain value"})
	}
	if n.Anchor != "" {
		faults = append(faults, fault{n.Line, "uses a YAML anchor: write the value out where it is needed"})
	}
	for _, inner := range n.Content {
		faults = indirections(inner, faults)
	}
	return faults
}
