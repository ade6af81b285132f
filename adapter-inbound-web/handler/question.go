package handler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/subject"
)

// question is the body of evaluate. A nil field was absent; exactly one of
// subject and subjectDigest is not nil.
type question struct {
	policy, subject, subjectDigest *string
	kind                           subject.Kind
	cost                           int64
}

var fields = []string{"policy", "subject", "subjectDigest", "subjectKind", "cost"}

// parseQuestion reads one flat JSON object in which each field is known, spelled
// exactly and given once. Its errors are written for the caller and repeat no
// value of the body.
func parseQuestion(body []byte) (question, error) {
	values, err := flatObject(body)
	if err != nil {
		return question{}, err
	}
	q := question{kind: subject.KindName, cost: 1}
	var kind *string
	for _, field := range []struct {
		name string
		into **string
	}{{"policy", &q.policy}, {"subject", &q.subject}, {"subjectDigest", &q.subjectDigest}, {"subjectKind", &kind}} {
		if *field.into, err = text(values, field.name); err != nil {
			return question{}, err
		}
	}
	if kind != nil {
		q.kind = subject.Kind(*kind)
	}
	if value, given := values["cost"]; given {
		if q.cost, err = wholeCost(value); err != nil {
			return question{}, err
		}
	}
	return q, q.check(kind != nil)
}

func (q question) check(kindGiven bool) error {
	switch {
	case q.subject == nil && q.subjectDigest == nil:
		return errors.New("subject: give either subject or subjectDigest")
	case q.subject != nil && q.subjectDigest != nil:
		return errors.New("subject: give either subject or subjectDigest, not both")
	case q.subject != nil && *q.subject == "":
		return errors.New("subject: it must not be empty")
	case q.subject != nil && strings.ContainsRune(*q.subject, '\uFFFD'):
		return errors.New("subject: it must be valid Unicode")
	case q.subjectDigest != nil && kindGiven:
		return errors.New("subjectKind: it goes with subject only; leave it out beside subjectDigest")
	case q.subjectDigest != nil && !ratelimit.ValidSubjectDigest(*q.subjectDigest):
		return fmt.Errorf("subjectDigest: it must be %d to %d characters of A-Z a-z 0-9 _ -",
			ratelimit.MinSubjectDigestLen, ratelimit.MaxSubjectDigestLen)
	case q.kind != subject.KindName && q.kind != subject.KindIP:
		return errors.New(`subjectKind: it must be "name" or "ip"`)
	}
	return nil
}

// flatObject reads the fields of one object. Values are strings, json.Number,
// bool or nil; a nested one ends the reading at once, so depth costs nothing.
func flatObject(body []byte) (map[string]any, error) {
	if !json.Valid(body) {
		return nil, errors.New("body: it must be one JSON object with nothing after it")
	}
	tokens := json.NewDecoder(bytes.NewReader(body))
	tokens.UseNumber()
	if first, err := tokens.Token(); err != nil || first != json.Delim('{') {
		return nil, errors.New("body: it must be a JSON object")
	}
	values := make(map[string]any, len(fields))
	for tokens.More() {
		key, err := tokens.Token()
		if err != nil {
			return nil, errors.New("body: it must be a JSON object")
		}
		name, _ := key.(string)
		if !slices.Contains(fields, name) {
			// Its name is not repeated: an identity may stand there.
			return nil, fmt.Errorf("body: it has an unknown field; the fields are %s", strings.Join(fields, ", "))
		}
		if _, repeated := values[name]; repeated {
			return nil, fmt.Errorf("%s: the field is given twice", name)
		}
		value, err := tokens.Token()
		if _, nested := value.(json.Delim); nested || err != nil {
			return nil, fmt.Errorf("%s: it must be a plain value, not an object or an array", name)
		}
		values[name] = value
	}
	return values, nil
}

func text(values map[string]any, name string) (*string, error) {
	value, given := values[name]
	if !given {
		return nil, nil
	}
	s, ok := value.(string)
	if !ok {
		return nil, fmt.Errorf("%s: it must be a string", name)
	}
	return &s, nil
}

// wholeCost accepts an integer in plain digits only: 1.0 and 1e2 say that the
// caller computes with something else.
func wholeCost(value any) (int64, error) {
	number, ok := value.(json.Number)
	if ok {
		if cost, err := strconv.ParseInt(number.String(), 10, 64); err == nil && cost >= 1 {
			return cost, nil
		}
	}
	return 0, errors.New("cost: it must be a whole number of at least 1 in plain digits, such as 2")
}
