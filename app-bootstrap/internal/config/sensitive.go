package config

import (
	"fmt"
	"io"
	"log/slog"
)

// Sensitive is a password or token that does not print itself: not with any
// verb of fmt, not in JSON or text, not in slog, and not as part of a struct. The
// zero Sensitive is empty.
type Sensitive struct {
	// A pointer, because fmt prints the unexported fields of a struct without
	// asking their methods; of a pointer it prints the address.
	text *string
}

// NewSensitive hides text.
func NewSensitive(text string) Sensitive {
	if text == "" {
		return Sensitive{}
	}
	return Sensitive{text: &text}
}

// Reveal is the text itself.
func (s Sensitive) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero tells whether there is no text.
func (s Sensitive) IsZero() bool { return s.text == nil }

// String is "[redacted]", or "" when there is nothing to hide.
func (s Sensitive) String() string {
	if s.IsZero() {
		return ""
	}
	return "[redacted]"
}

// Format writes String, whatever the verb.
func (s Sensitive) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText implements [encoding.TextMarshaler] by String.
func (s Sensitive) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue implements [slog.LogValuer] by String.
func (s Sensitive) LogValue() slog.Value { return slog.StringValue(s.String()) }
