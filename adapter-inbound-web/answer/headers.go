package answer

import (
	"net/http"
	"strconv"
	"strings"
)

// The header fields that belong to the limiter on every decided response, in
// canonical form. What a handler or an upstream says in them does not survive.
const (
	HeaderLimit      = "X-Ratelimit-Limit"
	HeaderRemaining  = "X-Ratelimit-Remaining"
	HeaderReset      = "X-Ratelimit-Reset" // seconds from now, not an instant
	HeaderRetryAfter = "Retry-After"
	HeaderSource     = "X-Ratelimit-Source" // SourceLocal, or absent
)

// SourceLocal says that a limit of this process stood in for the shared one.
const SourceLocal = "local"

// The limiter's fields by their place in owned.
const (
	fieldLimit = iota
	fieldRemaining
	fieldReset
	fieldRetryAfter
	fieldSource
)

var owned = [...]string{
	fieldLimit:      HeaderLimit,
	fieldRemaining:  HeaderRemaining,
	fieldReset:      HeaderReset,
	fieldRetryAfter: HeaderRetryAfter,
	fieldSource:     HeaderSource,
}

// Strip removes the limiter's fields from h in every spelling, and the trailers
// of those names.
func Strip(h http.Header) {
	for name := range h {
		bare := strings.TrimPrefix(name, http.TrailerPrefix)
		for _, field := range owned {
			if len(bare) == len(field) && strings.EqualFold(bare, field) {
				delete(h, name)
			}
		}
	}
}

// StripResponse removes the limiter's fields from an upstream's response. It is
// meant for httputil.ReverseProxy's ModifyResponse, and needed there for upgrades
// (101): their header is written past any middleware.
func StripResponse(res *http.Response) error {
	Strip(res.Header)
	Strip(res.Trailer)
	return nil
}

// SetHeaders makes the limiter's fields in h say a and nothing else: one line
// each, integers only. Cache-Control is left to the handler behind when a allows;
// otherwise it forbids storing.
func (a Answer) SetHeaders(h http.Header) {
	a.Fields().SetHeaders(h)
}

// Fields are the header fields of one [Answer], written out once, for a header in
// which they have to be set more than once.
type Fields struct {
	texts   [len(owned)]string // "" is a field that is absent
	noStore bool
}

// Fields are the header fields of a.
func (a Answer) Fields() Fields {
	f := Fields{noStore: !a.Allows()}
	if a.Decided {
		f.texts[fieldLimit] = strconv.FormatInt(a.Limit, 10)
		f.texts[fieldRemaining] = strconv.FormatInt(a.Remaining, 10)
		f.texts[fieldReset] = strconv.FormatInt(a.ResetSeconds, 10)
	}
	if a.RetryAfterSeconds > 0 {
		f.texts[fieldRetryAfter] = strconv.FormatInt(a.RetryAfterSeconds, 10)
	}
	if a.Local {
		f.texts[fieldSource] = SourceLocal
	}
	return f
}

// SetHeaders is [Answer.SetHeaders]. The lines are new and h's own, so that a handler
// may write into those that it has, and keeps nothing else alive by keeping them.
func (f Fields) SetHeaders(h http.Header) {
	Strip(h)
	lines := f.texts
	for i, text := range f.texts {
		if text != "" {
			h[owned[i]] = lines[i : i+1 : i+1]
		}
	}
	if f.noStore {
		h.Set("Cache-Control", "no-store")
	}
}

// Write answers with a. An Answer without a Problem has an empty body.
func (a Answer) Write(w http.ResponseWriter) {
	h := w.Header()
	a.SetHeaders(h)
	if a.Problem.Status == 0 {
		w.WriteHeader(a.status())
		return
	}
	body := a.Problem.encode()
	h.Set("Content-Type", ContentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(a.status())
	_, _ = w.Write(body) // a client that is gone is told nothing
}

// status makes the zero Answer a refusal.
func (a Answer) status() int {
	if a.Status == 0 {
		return http.StatusServiceUnavailable
	}
	return a.Status
}
