package reply

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

const (
	rateFields      = 7
	maxElementBytes = 32
)

// ServerError is an error reply: the server's word that the command failed.
type ServerError struct {
	Code string // the first word, such as NOSCRIPT
	Text string // the whole line, for operators only
}

// Error implements error.
func (e *ServerError) Error() string { return e.Text }

var errMalformed = errors.New("the reply is not an array of as many scalar fields as the program answers")

// AsServerError tells whether raw is an error reply.
func AsServerError(raw []byte) (*ServerError, bool) {
	if len(raw) == 0 || raw[0] != '-' && raw[0] != '!' {
		return nil, false
	}
	line, rest, _ := bytes.Cut(raw[1:], []byte("\r\n"))
	if raw[0] == '!' { // RESP3's blob error: a length, then the text
		line, _, _ = bytes.Cut(rest, []byte("\r\n"))
	}
	code, _, _ := bytes.Cut(line, []byte(" "))
	return &ServerError{Code: string(code), Text: string(line)}, true
}

// Decode reads one raw RESP2 or RESP3 reply of a rate program that was asked
// about a policy of this limit.
func Decode(raw []byte, limit int64) (model.Reply, error) {
	var numbers [rateFields - 1]int64
	status, err := read(raw, numbers[:])
	if err != nil {
		return model.Reply{}, err
	}
	r := model.Reply{
		Status: status, ServerNowMillis: numbers[0], EffectiveNowMillis: numbers[1], Limit: numbers[2],
		Remaining: numbers[3], RetryAfterMillis: numbers[4], ResetAtMillis: numbers[5],
	}
	return r, contradiction(r, limit)
}

// element is one scalar of the array: its RESP type and its text.
type element struct {
	kind byte
	text []byte
}

// read takes a status and exactly as many numbers as there is room for.
func read(raw []byte, numbers []int64) (model.Status, error) {
	head, rest, ok := bytes.Cut(raw, []byte("\r\n"))
	if !ok || len(head) < 2 || head[0] != '*' {
		return "", errMalformed
	}
	if n, err := canonical(head[1:]); err != nil || n != int64(1+len(numbers)) {
		return "", errMalformed
	}
	first, rest, ok := next(rest)
	if !ok {
		return "", errMalformed
	}
	status, err := statusOf(first)
	if err != nil {
		return "", err
	}
	for i := range numbers {
		var e element
		if e, rest, ok = next(rest); !ok {
			return "", errMalformed
		}
		if numbers[i], err = integerOf(e); err != nil {
			return "", err
		}
	}
	if len(rest) != 0 {
		return "", errMalformed
	}
	return status, nil
}

// next takes one integer or bulk string off rest.
func next(rest []byte) (element, []byte, bool) {
	line, after, ok := bytes.Cut(rest, []byte("\r\n"))
	if !ok || len(line) < 2 || len(line) > 1+maxElementBytes {
		return element{}, nil, false
	}
	switch line[0] {
	case ':':
		return element{kind: ':', text: line[1:]}, after, true
	case '$':
		length, err := canonical(line[1:])
		if err != nil || length > maxElementBytes || int64(len(after)) < length+2 || string(after[length:length+2]) != "\r\n" {
			return element{}, nil, false
		}
		return element{kind: '$', text: after[:length]}, after[length+2:], true
	default:
		return element{}, nil, false
	}
}

func statusOf(e element) (model.Status, error) {
	if e.kind != '$' {
		return "", errors.New("the status is not a bulk string")
	}
	for _, status := range []model.Status{model.Allowed, model.Denied, model.ClockUnsafe, model.StateIncompatible, model.Invalid} {
		if string(e.text) == string(status) {
			return status, nil
		}
	}
	return "", fmt.Errorf("unknown status %q", e.text)
}

// integerOf reads an integer, or a bulk string that is a canonical decimal.
func integerOf(e element) (int64, error) { return canonical(e.text) }

func canonical(text []byte) (int64, error) {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n < 0 || n > ratelimit.MaxSafeInteger || text[0] == '+' || text[0] == '-' || text[0] == '0' && len(text) > 1 {
		return 0, fmt.Errorf("%q is not a canonical decimal from 0 to 2^53-1", text)
	}
	return n, nil
}

func contradiction(r model.Reply, limit int64) error {
	switch r.Status {
	case model.StateIncompatible, model.Invalid:
		if r.Limit != 0 || r.Remaining != 0 || r.RetryAfterMillis != 0 || r.ResetAtMillis != 0 {
			return fmt.Errorf("numbers under status %s", r.Status)
		}
		return nil
	case model.Allowed:
		if r.RetryAfterMillis != 0 {
			return errors.New("a retry-after with ALLOWED")
		}
	case model.Denied:
		if r.RetryAfterMillis == 0 {
			return errors.New("DENIED without a retry-after")
		}
	case model.ClockUnsafe:
	}
	switch {
	case r.Limit != limit:
		return fmt.Errorf("limit %d is not the policy's %d", r.Limit, limit)
	case r.Remaining > r.Limit:
		return fmt.Errorf("remaining %d is above the limit %d", r.Remaining, r.Limit)
	case r.EffectiveNowMillis < r.ServerNowMillis:
		return errors.New("the effective time is before the server's")
	case r.Status != model.ClockUnsafe && r.ResetAtMillis < r.ServerNowMillis:
		return errors.New("the reset is before the server's time")
	}
	return nil
}
