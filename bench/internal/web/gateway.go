package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/edgelimit/edgelimit/bench/internal/child"
)

// unlimited is a gateway in front of the upstream, and no more.
const unlimited = `app:
  server: {listen: "127.0.0.1:0", admin-listen: ""}
  gateway: {upstream: %q}
`

// limited adds a policy that nobody reaches. Its command timeout alone is longer than
// the default: a moment in which the machine is busy otherwise is no failure.
const limited = unlimited + `  rate-limit:
    enabled: true
    provider: redis
    failure-policy: fail-closed
    default-policy: api
    policies:
      - {id: api, revision: 1, algorithm: token-bucket, capacity: 100000000, refill-tokens: 100000000, refill-period: 24h}
    redis: {role: coordination, endpoint: "redis://%s/0", command-timeout: 5s}
`

const gatewaySecret = "EDGELIMIT_HMAC_SECRET=a benchmark's secret of 32 bytes"

// Build builds the gateway of the repository at root into folder.
func Build(ctx context.Context, root, folder string) (program string, err error) {
	program = filepath.Join(folder, "edgelimit")
	program, err = filepath.Abs(program)
	if err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", program, "./cmd/edgelimit")
	build.Dir = filepath.Join(root, "app-bootstrap")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the gateway: %w\n%s", err, out)
	}
	return program, nil
}

// startGateway runs program and returns once it takes requests, with its URL.
func startGateway(ctx context.Context, program, folder, name, configuration string) (*child.Child, string, error) {
	file := filepath.Join(folder, name+".yaml")
	if err := os.WriteFile(file, []byte(configuration), 0o600); err != nil {
		return nil, "", err
	}
	gateway, err := child.Start(filepath.Join(folder, name+".log"), []string{gatewaySecret},
		program, "serve", "--config", file, "--log-format", "json")
	if err != nil {
		return nil, "", err
	}
	var url string
	err = gateway.Await(ctx, func() bool {
		url = listening(gateway.Output())
		return url != "" && answers(ctx, url)
	})
	if err != nil {
		gateway.Kill()
		return nil, "", fmt.Errorf("start the gateway: %w", err)
	}
	return gateway, url, nil
}

// listening looks for the line of the log that says where it serves.
func listening(output string) string {
	for line := range strings.Lines(output) {
		var entry struct {
			Msg    string `json:"msg"`
			Listen string `json:"listen"`
		}
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "serving" {
			return "http://" + entry.Listen + "/"
		}
	}
	return ""
}

func answers(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}
