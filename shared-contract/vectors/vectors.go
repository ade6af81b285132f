package vectors

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// Env names the environment variable that points All at another folder.
const Env = "EDGELIMIT_VECTORS"

//go:embed data/*.json
var embedded embed.FS

// Edge is a timeline of one edge policy, beginning with no state.
type Edge struct {
	Name   string
	Policy ratelimit.Policy
	Steps  []EdgeStep
}

// EdgeStep is one evaluation and its exact answer.
type EdgeStep struct {
	ServerNowMillis int64 // what the server's clock says; it also goes back
	Cost            int64
	Expect          model.Reply
	TTLMillis       int64 // the expiry that an Allowed step sets; else 0
}

// Log is a timeline of the sliding-window log of one tenant, of one layer or of
// two (tenant, then user), beginning with no state.
type Log struct {
	Name         string
	WindowMicros int64
	Layers       int // 1 or 2
	Steps        []LogStep
}

// LogStep is one call and its exact answer. Limits, Remaining and
// ResetAfterMillis have one entry a layer.
type LogStep struct {
	NowMicros        int64
	User             string // names the user layer's key, or the only layer's
	Limits           []int64
	Status           model.Status // Allowed, Denied or ClockUnsafe; the last has no numbers
	Remaining        []int64
	RetryAfterMillis int64
	ResetAfterMillis []int64
	TTLMillis        int64 // the expiry of every key that an Allowed step writes; else 0
}

// Set is all vectors of one folder.
type Set struct {
	Edge []Edge
	Logs []Log
}

// All reads the embedded vectors, or those of the folder that Env names, by
// Read. A folder that cannot be read is an error.
func All() (Set, error) {
	folder, err := fs.Sub(embedded, "data")
	if err != nil {
		return Set{}, fmt.Errorf("open the embedded vectors: %w", err)
	}
	if named := os.Getenv(Env); named != "" {
		if _, err := os.ReadDir(named); err != nil {
			return Set{}, fmt.Errorf("read the folder that %s names: %w", Env, err)
		}
		folder = os.DirFS(named)
	}
	return Read(folder)
}

// Read reads the vector files of folder, strictly. A named file that is not
// there is passed over, and files of other names are ignored.
func Read(folder fs.FS) (Set, error) {
	var set Set
	for _, algorithm := range []ratelimit.AlgorithmName{
		ratelimit.NameFixedWindow, ratelimit.NameSlidingWindowCounter, ratelimit.NameTokenBucket,
	} {
		content, err := readFile(folder, string(algorithm)+".json")
		if err != nil {
			return Set{}, err
		}
		parsed, err := parseEdge(content, algorithm)
		if err != nil {
			return Set{}, fmt.Errorf("%s.json: %w", algorithm, err)
		}
		set.Edge = append(set.Edge, parsed...)
	}
	for layers, name := range []string{"sliding-log.json", "dual-sliding-log.json"} {
		content, err := readFile(folder, name)
		if err != nil {
			return Set{}, err
		}
		parsed, err := parseLogs(content, layers+1)
		if err != nil {
			return Set{}, fmt.Errorf("%s: %w", name, err)
		}
		set.Logs = append(set.Logs, parsed...)
	}
	return set, nil
}

// readFile answers nil for a file that is not there.
func readFile(folder fs.FS, name string) ([]byte, error) {
	content, err := fs.ReadFile(folder, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read vectors: %w", err)
	}
	return content, nil
}
