package web

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/edgelimit/edgelimit/bench/internal/child"
)

// UpstreamArgument, alone, makes this program the upstream: what wrk asks for must
// not share a process with those who measure.
const UpstreamArgument = "upstream"

// ServeUpstream answers everything 200 with a short body until ctx ends. It prints
// its URL first.
func ServeUpstream(ctx context.Context, stdout io.Writer) error {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("upstream: %w", err)
	}
	upstream := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello from the upstream\n")) })}
	context.AfterFunc(ctx, func() { _ = upstream.Close() })
	if _, err := fmt.Fprintf(stdout, "http://%s\n", socket.Addr()); err != nil {
		return err
	}
	if err := upstream.Serve(socket); ctx.Err() == nil {
		return fmt.Errorf("upstream: %w", err)
	}
	return nil
}

// startUpstream runs the upstream and returns once it answers, with its URL.
func startUpstream(ctx context.Context, folder string) (*child.Child, string, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	upstream, err := child.Start(filepath.Join(folder, "upstream.log"), nil, program, UpstreamArgument)
	if err != nil {
		return nil, "", err
	}
	var url string
	err = upstream.Await(ctx, func() bool {
		url = upstream.Output()
		return strings.HasPrefix(url, "http://") && answers(ctx, url)
	})
	if err != nil {
		upstream.Kill()
		return nil, "", fmt.Errorf("start the upstream: %w", err)
	}
	return upstream, url, nil
}
