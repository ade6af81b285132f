package coordination

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/certainty"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/reply"
)

// server is what a server tells of itself.
type server struct {
	version program.Version
	known   bool // the version could be read
	replica bool
}

// hello brings about the handshake, as the first command of a connection, and
// asks the server about itself. HELLO needs no right. A server that does not know
// it is no error.
func hello(cn *connection, timeout time.Duration) (server, error) {
	raw, err := cn.send(timeout, factsBytes, []any{"HELLO"})
	if err != nil {
		return server{}, err
	}
	if failed, ok := reply.AsServerError(raw); ok {
		if failed.Code == "ERR" {
			return server{}, nil
		}
		return server{}, failed
	}
	var found server
	facts := bulkStrings(raw)
	for i := 0; i+1 < len(facts); i++ {
		switch facts[i] {
		case "version":
			version, err := program.ParseVersion(facts[i+1])
			found.version, found.known = version, err == nil
		case "role":
			found.replica = facts[i+1] == "replica" || facts[i+1] == "slave"
		}
	}
	return found, nil
}

// full is the server's word, in place of any reply, that it takes no more
// connections; nil if it said something else first. The client passes it over:
// to it, a HELLO that is refused is one that is unknown.
func full(cn *connection) error {
	if said, ok := reply.AsServerError(cn.wire.first); ok && redis.IsMaxClientsError(said) {
		return said
	}
	return nil
}

// bulkStrings lists the bulk strings of a raw reply in order, whatever their
// nesting.
func bulkStrings(raw []byte) []string {
	var found []string
	for len(raw) > 0 {
		line, rest, ok := bytes.Cut(raw, []byte("\r\n"))
		if !ok {
			return found
		}
		raw = rest
		if len(line) == 0 || line[0] != '$' {
			continue
		}
		text, rest, ok := bytes.Cut(raw, []byte("\r\n"))
		if !ok {
			return found
		}
		found, raw = append(found, string(text)), rest
	}
	return found
}

// handshakeRefusal says what a failed handshake or verification means for calls.
func handshakeRefusal(err error) *refusal {
	var failed *reply.ServerError
	var refused *RefusedError
	var redisError redis.Error
	switch {
	case errors.As(err, &refused):
		return &refusal{certainty.OfServerError(refused.Code), err}
	case redis.IsMaxClientsError(err):
		return &refusal{certainty.Server, err}
	case errors.As(err, &failed):
		return &refusal{certainty.OfServerError(failed.Code), err}
	case errors.As(err, &redisError):
		code, _, _ := strings.Cut(redisError.Error(), " ")
		why := certainty.OfServerError(code)
		if why == certainty.Program { // an unknown word in a handshake proves nothing about the programs
			why = certainty.Unreachable
		}
		return &refusal{why, fmt.Errorf("shake hands with the coordination Redis: %w", err)}
	default:
		return &refusal{certainty.Unreachable, fmt.Errorf("shake hands with the coordination Redis: %w", err)}
	}
}
