// Package source names the code of a working tree, committed or not: a commit
// cannot hold its own hash, and a report of a run has to say of what code it is.
package source

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Modules are what the gateway is built from, as folders below the root of the
// repository.
var Modules = []string{"shared-contract", "adapter-outbound-cache-redis", "adapter-inbound-web", "app-bootstrap"}

// Digest is the first 16 hexadecimal digits of a SHA-256 over names and contents of
// the Modules' sources: go.mod, Go, Lua and YAML, without tests, test data and
// modules that lie inside (examples).
func Digest(root string) (string, error) {
	sum := sha256.New()
	for _, module := range Modules {
		err := filepath.WalkDir(filepath.Join(root, module), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			name = filepath.ToSlash(name)
			if entry.IsDir() {
				if name != module && (entry.Name() == "testdata" || isModule(path)) {
					return filepath.SkipDir
				}
				return nil
			}
			if !entry.Type().IsRegular() || !counts(entry.Name()) {
				return nil
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(sum, "%s\x00%x\n", name, sha256.Sum256(content))
			return nil
		})
		if err != nil {
			return "", fmt.Errorf("read the sources: %w", err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

func isModule(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}

func counts(name string) bool {
	switch filepath.Ext(name) {
	case ".go":
		return !strings.HasSuffix(name, "_test.go")
	case ".lua", ".yaml":
		return true
	default:
		return name == "go.mod"
	}
}
