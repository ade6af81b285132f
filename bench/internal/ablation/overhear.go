package ablation

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// end is what ends the overhearing: the server is told it, and it is waited for.
const end = "nothing more is overheard"

// Overhear is every command that the server at addr gets while do runs, without
// those that scripts give. Scripts that it knew are forgotten before, so that the
// texts of those that run are among what is heard.
func Overhear(ctx context.Context, addr string, do func() error) (calls [][]string, err error) {
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer func() { err = errors.Join(err, client.Close()) }()
	if err := client.ScriptFlush(ctx).Err(); err != nil {
		return nil, fmt.Errorf("forget scripts: %w", err)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	lines := bufio.NewReader(conn)
	if _, err := conn.Write([]byte("MONITOR\r\n")); err != nil {
		return nil, err
	}
	if line, err := lines.ReadString('\n'); err != nil || line != "+OK\r\n" {
		return nil, fmt.Errorf("the server answers MONITOR %q: %w", line, err)
	}
	if err := do(); err != nil {
		return nil, err
	}
	if err := client.Echo(ctx, end).Err(); err != nil {
		return nil, err
	}
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("overhear: %w", err)
		}
		words, err := wordsOf(line)
		if err != nil {
			return nil, fmt.Errorf("overhear %.80q: %w", line, err)
		}
		if slices.Contains(words, end) {
			return calls, nil
		}
		if len(words) > 0 {
			calls = append(calls, words)
		}
	}
}

// wordsOf are the words of a command in a line such as
//
//	+1764667000.123456 [0 127.0.0.1:5000] "GET" "a \"key\""
//
// and none of one that a script gave.
func wordsOf(line string) (words []string, err error) {
	from, rest, ok := strings.Cut(strings.TrimSpace(line), "] ")
	if !ok {
		return nil, errors.New("it is no command")
	}
	if strings.HasSuffix(from, " lua") {
		return nil, nil
	}
	for rest != "" {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return nil, err
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, err
		}
		words = append(words, word)
		rest = strings.TrimPrefix(rest[len(quoted):], " ")
	}
	return words, nil
}
