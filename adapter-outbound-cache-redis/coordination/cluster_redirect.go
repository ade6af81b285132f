package coordination

import (
	"context"
	"errors"
	"math"
	"net"
	"strconv"
	"strings"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/certainty"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/reply"
)

// redirection is a node's word that another one has the slot. It ran nothing.
type redirection struct {
	addr string // host may be empty: the host of the node that said it
	ask  bool   // for this call alone, after ASKING
}

// redirectionOf reads "MOVED slot host:port" or "ASK slot host:port".
func redirectionOf(r certainty.Result) (redirection, bool) {
	failed, ok := reply.AsServerError(r.Raw)
	if !ok || r.Fate != certainty.Answered || failed.Code != "MOVED" && failed.Code != "ASK" {
		return redirection{}, false
	}
	words := strings.Split(failed.Text, " ")
	if len(words) != 3 {
		return redirection{}, false
	}
	colon := strings.LastIndexByte(words[2], ':') // a host of IPv6 comes without brackets
	if colon < 0 {
		return redirection{}, false
	}
	port, err := strconv.Atoi(words[2][colon+1:])
	if err != nil || port < 1 || port > math.MaxUint16 || words[2][:colon] == "?" {
		return redirection{}, false
	}
	return redirection{addr: net.JoinHostPort(words[2][:colon], strconv.Itoa(port)), ask: failed.Code == "ASK"}, true
}

// from is the address to follow to, as said by the node at addr.
func (r redirection) from(addr string) string {
	host, port, err := net.SplitHostPort(r.addr)
	if err != nil || host != "" {
		return r.addr
	}
	host, _, _ = net.SplitHostPort(addr)
	return net.JoinHostPort(host, port)
}

// codeOf is the code of the error reply that r is, or "".
func codeOf(r certainty.Result) string {
	if failed, ok := reply.AsServerError(r.Raw); ok && r.Fate == certainty.Answered {
		return failed.Code
	}
	return ""
}

// redirects tells whether an error of this code says that keys are elsewhere, or on
// their way.
func redirects(code string) bool { return code == "MOVED" || code == "ASK" || code == "TRYAGAIN" }

// redirects tells whether a node refused a verification because no slot that was
// tried is its own any more.
func (r *refusal) redirects() bool {
	var refused *RefusedError
	return r != nil && errors.As(r.err, &refused) && redirects(refused.Code)
}

// ask sends ASKING, which lets the node run the next command of the connection on
// a slot that is still coming to it. What fails here has not run: the command
// itself is not written.
func (s callSender) ask(ctx context.Context) (refused []byte, err error) {
	raw, err := s.connection.send(s.terms.timeout(), 0, []any{"ASKING"})
	var failed *sendError
	switch {
	case errors.As(err, &failed):
		return nil, &sendError{err: failed.err}
	case err != nil:
		return nil, &sendError{err: err}
	case string(raw) != "+OK\r\n":
		return raw, nil
	case !s.terms.leaveTime(ctx):
		return nil, errShortDeadline
	default:
		return nil, nil
	}
}
