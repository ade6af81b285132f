package redistest_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

const orphanVariable = "EDGELIMIT_REDISTEST_ORPHAN"

// TestServer_diesWithTheTestBinary runs itself as the binary that is killed.
func TestServer_diesWithTheTestBinary(t *testing.T) {
	if os.Getenv(orphanVariable) != "" {
		fmt.Printf("\naddr %s\n", redistest.Start(t).Addr())
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	binary := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	binary.Env = append(os.Environ(), orphanVariable+"=1", "TMPDIR="+t.TempDir())
	if _, err := binary.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := binary.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := binary.Start(); err != nil {
		t.Fatal(err)
	}
	addr := ""
	for lines := bufio.NewScanner(out); addr == "" && lines.Scan(); {
		addr, _ = strings.CutPrefix(lines.Text(), "addr ")
		if !strings.Contains(addr, ":") {
			addr = ""
		}
	}
	_ = binary.Process.Kill()
	_ = binary.Wait()
	if addr == "" {
		t.Fatal("the binary started no server")
	}
	eventually(t, "the server is gone", func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
}
