package redistest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

const answerLimit = 10 * time.Second

// ServerError is an error reply: the server's message, whose first word is its code.
type ServerError string

// Error is the message as the server sent it, without the leading minus sign.
func (e ServerError) Error() string { return string(e) }

// Witness asks a server that this package need not have started, over connections of its own. It is safe for
// concurrent use.
type Witness struct {
	Addr     string // host:port
	Password string // of the user default; empty without one
}

// Do sends one command over a connection of its own, straight to the server, and returns the reply: int64, string,
// nil, []any of these, or ServerError. Each call is a new connection in RESP2 as the user default, so nothing such as
// SELECT or MULTI carries over to the next call. A connection that fails, or no answer within 10 seconds, fails tb.
func (w Witness) Do(tb testing.TB, args ...string) any {
	tb.Helper()
	if len(args) == 0 {
		tb.Fatal("redistest: Do needs a command")
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerLimit)
	defer cancel()
	reply, err := w.Ask(ctx, args...)
	if err != nil {
		tb.Fatalf("redis-server %s: %s: %v", w.Addr, args[0], err)
	}
	return reply
}

// Ask is Do for one who expects that the server may be away: its error says that no reply came.
func (w Witness) Ask(ctx context.Context, args ...string) (any, error) {
	return ask(ctx, w.Addr, w.Password, args...)
}

// Calls is how many times the server has run a command since it started or since CONFIG RESETSTAT, 0 if never. The
// name is taken in either case; a subcommand follows a bar, as in "script|load". Commands called by scripts count,
// and so do the commands of this package (PING, INFO); commands that were refused before they ran, such as those of
// a user without the right, do not.
func (w Witness) Calls(tb testing.TB, command string) int64 {
	tb.Helper()
	stats := infoField(w.Do(tb, "INFO", "commandstats"), "cmdstat_"+strings.ToLower(command))
	if stats == "" {
		return 0
	}
	first, _, _ := strings.Cut(stats, ",")
	calls, err := strconv.ParseInt(strings.TrimPrefix(first, "calls="), 10, 64)
	if err != nil {
		tb.Fatalf("read the calls of %q from %q: %v", command, stats, err)
	}
	return calls
}

// Info is one field of the server's INFO, "" if there is none.
func (w Witness) Info(tb testing.TB, section, field string) string {
	tb.Helper()
	return infoField(w.Do(tb, "INFO", section), field)
}

// Do is [Witness.Do] with the password of a --requirepass directive if there is one.
func (s *Server) Do(tb testing.TB, args ...string) any {
	tb.Helper()
	return s.witness().Do(tb, args...)
}

// Calls is [Witness.Calls].
func (s *Server) Calls(tb testing.TB, command string) int64 {
	tb.Helper()
	return s.witness().Calls(tb, command)
}

func (s *Server) witness() Witness { return Witness{Addr: s.addr, Password: s.password()} }

func infoField(info any, name string) string {
	text, _ := info.(string)
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func ask(ctx context.Context, addr, password string, args ...string) (any, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	r := bufio.NewReader(conn)
	if password != "" {
		if reply, err := exchange(conn, r, "AUTH", password); err != nil || reply != "OK" {
			return reply, err
		}
	}
	reply, err := exchange(conn, r, args...)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("wait for the answer: %w", ctx.Err())
	}
	return reply, err
}

func exchange(w io.Writer, r *bufio.Reader, args ...string) (any, error) {
	request := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, arg := range args {
		request = fmt.Appendf(request, "$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := w.Write(request); err != nil {
		return nil, fmt.Errorf("send the request: %w", err)
	}
	return readValue(r)
}

func readValue(r *bufio.Reader) (any, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("read the reply: %w", err)
	}
	body, ok := strings.CutSuffix(line, "\r\n")
	if !ok || body == "" {
		return nil, fmt.Errorf("read the reply: malformed line %q", line)
	}
	kind, body := body[0], body[1:]
	switch kind {
	case '+':
		return body, nil
	case '-':
		return ServerError(body), nil
	case ':', '$', '*':
		n, err := strconv.ParseInt(body, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read the reply: %w", err)
		}
		return readSized(r, kind, n)
	}
	return nil, fmt.Errorf("read the reply: unknown type %q", kind)
}

func readSized(r *bufio.Reader, kind byte, n int64) (any, error) {
	switch {
	case kind == ':':
		return n, nil
	case n < 0:
		return nil, nil
	case kind == '$':
		body := make([]byte, n+2)
		if _, err := io.ReadFull(r, body); err != nil {
			return nil, fmt.Errorf("read the reply: %w", err)
		}
		return string(body[:n]), nil
	}
	items := make([]any, n)
	for i := range items {
		item, err := readValue(r)
		if err != nil {
			return nil, err
		}
		items[i] = item
	}
	return items, nil
}
