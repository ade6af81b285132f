package e2e_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

func TestStream_anEventReachesTheClientBeforeTheUpstreamEnds(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	p := serve(t, limiting(t, server.Addr(), behind.URL, fixedWindow("api", 10)))
	answered, err := client.Get("http://" + p.listen + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answered.Body.Close() }()
	reply{answered.StatusCode, answered.Header, ""}.must(t, http.StatusOK).
		says(t, "X-RateLimit-Remaining: 9", "Content-Type: text/event-stream")
	lines := bufio.NewReader(answered.Body)
	if line, err := lines.ReadString('\n'); err != nil || line != "data: first\n" {
		t.Fatalf("got %q, %v, want the first event", line, err)
	}
	close(behind.release) // only now may the upstream end
	if rest, err := io.ReadAll(lines); err != nil || string(rest) != "\ndata: last\n\n" {
		t.Errorf("got %q, %v, want the last event and a clean end", rest, err)
	}
	get(t, "http://"+p.listen+"/").says(t, "X-RateLimit-Remaining: 8")
}

func TestStream_aWebSocketEchoesAndIsChargedOnce(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	p := serve(t, limiting(t, server.Addr(), behind.URL, fixedWindow("api", 3)))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, upgraded, err := websocket.Dial(ctx, "ws://"+p.listen+"/socket", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	reply{upgraded.StatusCode, upgraded.Header, ""}.must(t, http.StatusSwitchingProtocols).
		says(t, "X-RateLimit-Limit: 3", "X-RateLimit-Remaining: 2", "Retry-After")
	for i := range 100 {
		sent := fmt.Sprintf("message %d", i)
		if err := conn.Write(ctx, websocket.MessageText, []byte(sent)); err != nil {
			t.Fatal(err)
		}
		if _, got, err := conn.Read(ctx); err != nil || string(got) != sent {
			t.Fatalf("got %q, %v, want %q", got, err, sent)
		}
	}
	get(t, "http://"+p.listen+"/").must(t, http.StatusOK).says(t, "X-RateLimit-Remaining: 1")
	get(t, "http://"+p.listen+"/").must(t, http.StatusOK).says(t, "X-RateLimit-Remaining: 0")
	if _, refused, err := websocket.Dial(ctx, "ws://"+p.listen+"/socket", nil); err == nil || refused == nil || refused.StatusCode != http.StatusTooManyRequests {
		t.Errorf("got %v, want an upgrade beyond the limit to be denied", err)
	}
	if err := conn.Close(websocket.StatusNormalClosure, "bye"); err != nil {
		t.Errorf("close: %v", err)
	}
}

// zeros yields n bytes, in no hurry to know how many they are.
func zeros(n int64) io.Reader { return io.LimitReader(blank{}, n) }

type blank struct{}

func (blank) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestStream_aLargeUploadFlowsThrough(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	p := serve(t, limiting(t, server.Addr(), behind.URL, fixedWindow("api", 10)))
	const size = 64 << 20
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.listen+"/upload", zeros(size))
	if err != nil {
		t.Fatal(err)
	}
	answered, err := (&http.Client{Transport: client.Transport}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := read(answered)
	if want := fmt.Sprintf("%d bytes, <nil>", size); err != nil || got.body != want {
		t.Errorf("got %q, %v, want %q", got.body, err, want)
	}
	got.must(t, http.StatusOK).says(t, "X-RateLimit-Remaining: 9")
	get(t, "http://"+p.listen+"/").says(t, "X-RateLimit-Remaining: 8")
}
