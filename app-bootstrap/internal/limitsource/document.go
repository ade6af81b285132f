package limitsource

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxLimit is the largest limit; what the source says beyond [0, MaxLimit] is
// clamped to it.
const MaxLimit = 100_000

// maxOwn is how many users and keys of one tenant may have limits of their own.
const maxOwn = 1000

// Document is what the source says of one tenant. The zero Document says nothing.
type Document struct {
	Tenant *Limit           `json:"tenant,omitempty"`
	User   *Limit           `json:"user,omitempty"`  // of each user who is not in Users
	Key    *Limit           `json:"key,omitempty"`   // of each key that is not in Keys
	Users  map[string]Limit `json:"users,omitempty"` // by user id
	Keys   map[string]Limit `json:"keys,omitempty"`  // by key id
}

// Limit is a number of calls a window, 0 to MaxLimit.
type Limit int

// parse reads one document. Members that it does not know are passed over, and names
// are taken to the letter. Its errors repeat nothing of the text.
func parse(text []byte) (Document, error) {
	if !utf8.Valid(text) || !json.Valid(text) {
		return Document{}, errors.New("the document is no JSON in UTF-8")
	}
	members, err := membersOf(text)
	if err != nil {
		return Document{}, fmt.Errorf("the document: %w", err)
	}
	var d Document
	for name, limit := range map[string]**Limit{"tenant": &d.Tenant, "user": &d.User, "key": &d.Key} {
		if *limit, err = single(members[name]); err != nil {
			return Document{}, fmt.Errorf("the document's %s: %w", name, err)
		}
	}
	for name, limits := range map[string]*map[string]Limit{"users": &d.Users, "keys": &d.Keys} {
		if *limits, err = own(members[name]); err != nil {
			return Document{}, fmt.Errorf("the document's %s: %w", name, err)
		}
	}
	if len(d.Users)+len(d.Keys) > maxOwn {
		return Document{}, fmt.Errorf("the document gives more than %d users and keys limits of their own", maxOwn)
	}
	return d, nil
}

// membersOf are those of a JSON object, which names each once.
func membersOf(text []byte) (map[string]json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if first, _ := decoder.Token(); first != json.Delim('{') {
		return nil, errors.New("no JSON object")
	}
	members := map[string]json.RawMessage{}
	for decoder.More() {
		token, _ := decoder.Token() // the text is known to be valid
		name, _ := token.(string)
		if _, twice := members[name]; twice {
			return nil, errors.New("a member is named twice")
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, errors.New("no JSON object")
		}
		members[name] = value
	}
	return members, nil
}

// absent tells whether a member is not there, or is null, which says as much.
func absent(member json.RawMessage) bool { return member == nil || string(member) == "null" }

func single(member json.RawMessage) (*Limit, error) {
	if absent(member) {
		return nil, nil
	}
	limit, err := limitOf(member)
	return &limit, err
}

// own reads the limits of single users or keys. An id with U+FFFD is refused: it may
// stand for half of a surrogate pair, and so for somebody else.
func own(member json.RawMessage) (map[string]Limit, error) {
	if absent(member) {
		return nil, nil
	}
	members, err := membersOf(member)
	if err != nil {
		return nil, err
	}
	limits := make(map[string]Limit, len(members))
	for id, value := range members {
		if strings.ContainsRune(id, utf8.RuneError) {
			return nil, errors.New("an id is no Unicode text")
		}
		if limits[id], err = limitOf(value); err != nil {
			return nil, err
		}
	}
	return limits, nil
}

// limitOf takes an integer and clamps it, however large.
func limitOf(text json.RawMessage) (Limit, error) {
	n, err := strconv.ParseInt(string(text), 10, 64)
	switch {
	case err == nil:
	case errors.Is(err, strconv.ErrRange) && text[0] == '-':
		n = math.MinInt64
	case errors.Is(err, strconv.ErrRange):
		n = math.MaxInt64
	default:
		return 0, errors.New("a limit is no integer")
	}
	return Limit(min(max(n, 0), MaxLimit)), nil
}

// encode is the document as parse reads it.
func (d Document) encode() []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(d) // it holds nothing that cannot be
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}
