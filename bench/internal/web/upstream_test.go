package web_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/bench/internal/web"
)

func TestServeUpstream_answersAtTheURLThatItPrintsUntilItsEnd(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	read, write := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- web.ServeUpstream(ctx, write) }()
	url, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Get(strings.TrimSpace(url))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK || len(body) == 0 {
		t.Errorf("got status %d and %q, %v; want 200 and a body", res.StatusCode, body, err)
	}
	end()
	if err := <-served; err != nil {
		t.Errorf("its end is %v, want nil", err)
	}
}
