package stage

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Setting is the configuration of a gateway, as far as a drill varies it.
type Setting struct {
	Upstream, Redis string // URL, host:port
	Window          time.Duration
	Limit           int
	Policy          string
	Replicas        int
	Timeout         time.Duration // of a command
	Secret          string        // shared by the gateways of one Redis
}

// A user's limit is the tenant's, so with more than one user the tenant's binds.
const configuration = `app:
  server: {listen: "127.0.0.1:0", admin-listen: "127.0.0.1:0", trusted-proxies: [127.0.0.1]}
  gateway: {upstream: %q}
  inbound-web:
    identity: {tenant-header: X-Tenant-Id, user-header: X-User-Id}
    rate-limit:
      mode: redis
      redis-url: "redis://%s/0"
      window: %v
      limits: {tenant: %[4]d, user: %[4]d, key: %[4]d, anonymous: %[4]d}
      outage-policy: %s
      replicas: %d
      command-timeout: %v
`

// Gateway is one process of the program under drill.
type Gateway struct {
	process       *process
	client        http.Client
	listen, admin string
}

// NewGateway runs program with its configuration in folder and waits until it
// serves and has found Redis.
func NewGateway(ctx context.Context, program, folder string, s Setting) (*Gateway, error) {
	file := filepath.Join(folder, "edgelimit.yaml")
	text := fmt.Sprintf(configuration, s.Upstream, s.Redis, s.Window, s.Limit, s.Policy, s.Replicas, s.Timeout)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	p, err := launch([]string{"EDGELIMIT_HMAC_SECRET=" + s.Secret}, program, "serve", "--config", file, "--log-format", "json")
	if err != nil {
		return nil, err
	}
	g := &Gateway{process: p, client: http.Client{Timeout: patience}}
	if err := p.await(ctx, "a gateway that serves", g.serves); err != nil {
		p.kill()
		return nil, err
	}
	if err := g.AwaitRedis(ctx, true); err != nil {
		p.kill()
		return nil, err
	}
	return g, nil
}

// URL is where it takes requests.
func (g *Gateway) URL() string { return "http://" + g.listen }

// serves looks for the line of the log that says where.
func (g *Gateway) serves() bool {
	for line := range strings.Lines(g.process.output.String()) {
		var entry struct {
			Msg    string `json:"msg"`
			Listen string `json:"listen"`
			Admin  string `json:"admin-listen"`
		}
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "serving" {
			g.listen, g.admin = entry.Listen, entry.Admin
			return true
		}
	}
	return false
}

// AwaitRedis waits until /readyz says that the limiter's Redis is there, or is not.
func (g *Gateway) AwaitRedis(ctx context.Context, there bool) error {
	return g.process.await(ctx, fmt.Sprintf("/readyz that says %v of Redis", there), func() bool {
		_, found, err := g.Readiness()
		return err == nil && found == there
	})
}

// Readiness is the status of /readyz, and whether its detail says that the
// limiter's Redis is there.
func (g *Gateway) Readiness() (status int, redis bool, err error) {
	res, err := g.client.Get("http://" + g.admin + "/readyz")
	if err != nil {
		return 0, false, err
	}
	defer func() { _ = res.Body.Close() }()
	var view struct {
		InboundWeb struct {
			Ready bool `json:"ready"`
		} `json:"inboundWeb"`
	}
	if err := json.NewDecoder(res.Body).Decode(&view); err != nil {
		return 0, false, fmt.Errorf("read /readyz: %w", err)
	}
	return res.StatusCode, view.InboundWeb.Ready, nil
}

// Metric is the sum of a counter over its labels; 0 if it is not there.
func (g *Gateway) Metric(name string) (int, error) {
	res, err := g.client.Get("http://" + g.admin + "/metrics")
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	return SumOf(res.Body, name)
}

// Stop ends it as an operator would, and demands that it ends well.
func (g *Gateway) Stop() error {
	g.client.CloseIdleConnections()
	if err := g.process.stop(); err != nil {
		return fmt.Errorf("stop a gateway: %w", err)
	}
	return nil
}

// Kill ends it whatever it does.
func (g *Gateway) Kill() { g.process.kill() }
