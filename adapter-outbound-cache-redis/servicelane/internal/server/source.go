package server

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// The variables that name a source, in the order in which they are looked at.
const (
	AddrVariable     = "EDGELIMIT_REDIS_ADDR"     // host:port of a server that runs
	PasswordVariable = "EDGELIMIT_REDIS_PASSWORD" // of that server's user default
	ImageVariable    = "EDGELIMIT_REDIS_IMAGE"    // an image to start
	BinaryVariable   = redistest.ServerVariable   // a binary to start
)

// Source is where servers come from: exactly one field is set.
type Source struct {
	Addr   string
	Image  string
	Binary string
}

// Find reads the source from the environment, and without any looks for a redis-server or a valkey-server on PATH.
func Find() (Source, error) {
	if addr := os.Getenv(AddrVariable); addr != "" {
		return Source{Addr: addr}, nil
	}
	if image := os.Getenv(ImageVariable); image != "" {
		return Source{Image: image}, nil
	}
	names := []string{"redis-server", "valkey-server"}
	if named := os.Getenv(BinaryVariable); named != "" {
		names = []string{named}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return Source{Binary: path}, nil
		}
	}
	return Source{}, errors.New("no server: " + strings.Join(names, " or ") + " is no program here. Install one, or name one by " +
		BinaryVariable + ", an image by " + ImageVariable + ", or a server that runs by " + AddrVariable)
}

// String says in a few words where servers come from.
func (s Source) String() string {
	switch {
	case s.Addr != "":
		return "a server that runs already"
	case s.Image != "":
		return fmt.Sprintf("image %s, started by testcontainers", s.Image)
	default:
		return "a binary"
	}
}
