package server_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
)

// doomed is a test that may fail: it keeps why.
type doomed struct {
	testing.TB
	why string
}

func (d *doomed) Helper() {}

func (d *doomed) Fatalf(format string, args ...any) {
	d.why = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestNewNetwork_withoutImageFailsAndSaysWhatItNeeds(t *testing.T) {
	t.Setenv(server.AddrVariable, "")
	t.Setenv(server.ImageVariable, "")
	d := &doomed{TB: t}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		server.NewNetwork(d)
	}()
	<-ended
	if !strings.HasPrefix(d.why, "needs a container engine: "+server.ImageVariable) {
		t.Errorf("it failed with %q", d.why)
	}
}
