package quickstart_test

import (
	"context"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/app-bootstrap/internal/quickstart"
)

const patience = 30 * time.Second

// printed is what a quickstart has printed so far.
type printed struct {
	mu   sync.Mutex
	text strings.Builder
}

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

var gatewayLine = regexp.MustCompile(`curl -i (http://127\.0\.0\.1:\d+/)\n`)

func TestRun_manyAtOnceEachFindPortsOfTheirOwn(t *testing.T) {
	const many = 6
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	outputs := make([]printed, many)
	ended := make(chan error, many)
	for i := range outputs {
		go func() { ended <- quickstart.Run(ctx, &outputs[i], slog.New(slog.DiscardHandler)) }()
	}
	deadline := time.Now().Add(patience)
	gateways := map[string]bool{}
	for i := range outputs {
		for !strings.Contains(outputs[i].String(), "Ctrl-C ends it.") {
			select {
			case err := <-ended:
				t.Fatalf("one ended: %v", err)
			case <-time.After(time.Millisecond):
			}
			if time.Now().After(deadline) {
				t.Fatalf("one has printed only %q", outputs[i].String())
			}
		}
		found := gatewayLine.FindStringSubmatch(outputs[i].String())
		if found == nil {
			t.Fatalf("no gateway in %q", outputs[i].String())
		}
		gateways[found[1]] = true
	}
	if len(gateways) != many {
		t.Errorf("got the gateways %v, want %d different ones", gateways, many)
	}
	for gateway := range gateways {
		for i := range 6 { // the bucket holds 5
			answered, err := http.Get(gateway)
			if err != nil {
				t.Fatal(err)
			}
			_ = answered.Body.Close()
			if i == 0 && answered.StatusCode != http.StatusOK {
				t.Errorf("%s: got %d at first, want 200: each has a Redis of its own", gateway, answered.StatusCode)
			}
		}
	}
	stop()
	for range many {
		if err := <-ended; err != nil {
			t.Errorf("got %v after a stop, want nil", err)
		}
	}
}
