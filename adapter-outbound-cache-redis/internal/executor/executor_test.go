package executor_test

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/executor"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// script answers each command by the next of its replies and keeps what it was
// sent.
type script struct {
	replies []string // "" is a failure to send
	sent    []string
}

var errSend = errors.New("the connection broke")

func (s *script) Send(_ context.Context, args []any) ([]byte, error) {
	s.sent = append(s.sent, fmt.Sprint(args...))
	reply := s.replies[0]
	s.replies = s.replies[1:]
	if reply == "" {
		return nil, errSend
	}
	return []byte(reply), nil
}

const noScript = "-NOSCRIPT No matching script. Please use EVAL.\r\n"

func TestStructured_sendsTheSourceAfterNOSCRIPTAlone(t *testing.T) {
	p := program.FixedWindow
	bySHA := fmt.Sprint("EVALSHA", p.SHA, 1, "k", "a", "b")
	bySource := fmt.Sprint("EVAL", p.Source, 1, "k", "a", "b")
	for _, row := range []struct {
		sentence string
		replies  []string
		want     string
		wantErr  error
		wantSent []string
	}{
		{"an answer is the answer", []string{"*0\r\n"}, "*0\r\n", nil, []string{bySHA}},
		{"NOSCRIPT sends the source", []string{noScript, "*0\r\n"}, "*0\r\n", nil, []string{bySHA, bySource}},
		{"NOSCRIPT in a blob sends the source", []string{"!15\r\nNOSCRIPT No. No\r\n", "*0\r\n"}, "*0\r\n", nil, []string{bySHA, bySource}},
		{"a second NOSCRIPT is the answer", []string{noScript, noScript}, noScript, nil, []string{bySHA, bySource}},
		{"another error is the answer", []string{"-ERR NOSCRIPT\r\n"}, "-ERR NOSCRIPT\r\n", nil, []string{bySHA}},
		{"BUSY is the answer", []string{"-BUSY\r\n"}, "-BUSY\r\n", nil, []string{bySHA}},
		{"OOM is the answer", []string{"-OOM\r\n"}, "-OOM\r\n", nil, []string{bySHA}},
		{"a failure is not sent again", []string{""}, "", errSend, []string{bySHA}},
		{"a failure of the source is not sent again", []string{noScript, ""}, "", errSend, []string{bySHA, bySource}},
	} {
		s := &script{replies: row.replies}
		got, err := executor.Structured(context.Background(), s, p, []string{"k"}, []string{"a", "b"})
		if string(got) != row.want || !errors.Is(err, row.wantErr) || err == nil != (row.wantErr == nil) {
			t.Errorf("%s: got %q, %v, want %q, %v", row.sentence, got, err, row.want, row.wantErr)
		}
		if !slices.Equal(s.sent, row.wantSent) {
			t.Errorf("%s: sent %d commands, want %d:\n%.80q", row.sentence, len(s.sent), len(row.wantSent), s.sent)
		}
	}
}

// scalar is a program that answers one value.
func scalar(source string) program.Program {
	sum := sha1.Sum([]byte(source))
	return program.Program{Name: "scalar", Version: 1, Keys: 1, Source: source, SHA: hex.EncodeToString(sum[:])}
}

func TestScalar_readsOneValue(t *testing.T) {
	server := redistest.Start(t)
	for _, protocol := range []int{2, 3} {
		client := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: protocol, MaxRetries: -1})
		t.Cleanup(func() { _ = client.Close() })
		for _, row := range []struct {
			source string
			want   any
		}{
			{"return 7", int64(7)},
			{"return -1", int64(-1)},
			{"return 'seven'", "seven"},
			{"return ''", ""},
			{"return nil", nil},
			{"return false", nil},
			{"return redis.status_reply('FINE')", "FINE"},
			{"return ARGV[1] .. KEYS[1]", "argumentkey"},
			{"redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])", "argument"},
		} {
			for _, path := range []string{"by its source", "by its SHA"} {
				got, err := executor.Scalar(context.Background(), client, scalar(row.source), []string{"key"}, []string{"argument"})
				if got != row.want || err != nil {
					t.Errorf("RESP%d, %s, %s: got %#v, %v, want %#v", protocol, row.source, path, got, err, row.want)
				}
			}
		}
		server.Do(t, "SCRIPT", "FLUSH")
	}
}

func TestScalar_runsOncePerCallWhateverIsCached(t *testing.T) {
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	p := scalar("return redis.call('INCR', KEYS[1])")
	for want := range int64(5) {
		if want%2 == 0 {
			server.Do(t, "SCRIPT", "FLUSH")
		}
		got, err := executor.Scalar(context.Background(), client, p, []string{"count"}, nil)
		if got != want+1 || err != nil {
			t.Errorf("got %v, %v, want %d", got, err, want+1)
		}
	}
	if got := server.Calls(t, "eval"); got != 3 {
		t.Errorf("the source was sent %d times, want 3", got)
	}
}

// Only NOSCRIPT lets the source follow: a failure or nil by the SHA is the answer.
func TestScalar_sendsTheSourceAfterNOSCRIPTAlone(t *testing.T) {
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	for _, source := range []string{"return nil", "return redis.error_reply('OOPS here')", "return redis.call('NONSENSE')"} {
		_, first := executor.Scalar(context.Background(), client, scalar(source), nil, nil)
		before := server.Calls(t, "eval")
		_, second := executor.Scalar(context.Background(), client, scalar(source), nil, nil)
		if fmt.Sprint(first) != fmt.Sprint(second) {
			t.Errorf("%s: got %v, then %v", source, first, second)
		}
		if sent := server.Calls(t, "eval") - before; sent != 0 {
			t.Errorf("%s: the source was sent %d times though its SHA was known", source, sent)
		}
	}
}

func TestScalar_saysWhatFailed(t *testing.T) {
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	for source, want := range map[string]string{
		"return {1, 2}":                         "no scalar",
		"return {}":                             "no scalar",
		"return redis.error_reply('OOPS here')": "OOPS here",
		"return redis.call('NONSENSE')":         "Unknown Redis command",
		"syntax":                                "compiling",
	} {
		before := server.Calls(t, "eval")
		got, err := executor.Scalar(context.Background(), client, scalar(source), []string{"key"}, nil)
		if got != nil || err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "run scalar-v1: ") {
			t.Errorf("%s: got %v, %v, want an error that says %q", source, got, err, want)
		}
		if sent := server.Calls(t, "eval") - before; sent > 1 {
			t.Errorf("%s: sent %d times, want once", source, sent)
		}
	}
	server.Kill(t)
	if got, err := executor.Scalar(context.Background(), client, scalar("return 1"), nil, nil); got != nil || err == nil {
		t.Errorf("a dead server: got %v, %v, want an error", got, err)
	}
}
