package limitsource

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
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

// UnmarshalJSON takes an integer and clamps it, however large.
func (l *Limit) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseInt(string(text), 10, 64)
	switch {
	case err == nil:
	case errors.Is(err, strconv.ErrRange) && strings.HasPrefix(string(text), "-"):
		n = math.MinInt64
	case errors.Is(err, strconv.ErrRange):
		n = math.MaxInt64
	default:
		return fmt.Errorf("a limit must be an integer; it is %.40s", text)
	}
	*l = Limit(min(max(n, 0), MaxLimit))
	return nil
}

// parse reads one document. Members that it does not know are passed over.
func parse(text []byte) (Document, error) {
	var d Document
	decoder := json.NewDecoder(bytes.NewReader(text))
	if first, _ := decoder.Token(); first != json.Delim('{') {
		return Document{}, errors.New("the document is no JSON object")
	}
	decoder = json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&d); err != nil {
		return Document{}, fmt.Errorf("the document cannot be read: %w", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return Document{}, errors.New("the document goes on after its end")
	}
	if len(d.Users)+len(d.Keys) > maxOwn {
		return Document{}, fmt.Errorf("the document gives more than %d users and keys limits of their own", maxOwn)
	}
	return d, nil
}

// encode is the document as parse reads it.
func (d Document) encode() []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(d) // it holds nothing that cannot be
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}
