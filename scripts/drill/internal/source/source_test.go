package source_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/edgelimit/edgelimit/scripts/drill/internal/source"
)

// tree is a repository with one file in each module.
func tree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, module := range source.Modules {
		write(t, root, module+"/go.mod", "module "+module)
	}
	write(t, root, "shared-contract/a.go", "package a")
	return root
}

func write(t *testing.T, root, name, content string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func digest(t *testing.T, root string) string {
	t.Helper()
	d, err := source.Digest(root)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDigest_isOfSourcesAlone(t *testing.T) {
	for _, row := range []struct {
		sentence, name, content string
		changes                 bool
	}{
		{"another content", "shared-contract/a.go", "package b", true},
		{"another file", "adapter-inbound-web/deep/b.go", "package b", true},
		{"a program", "adapter-outbound-cache-redis/lua/a.lua", "return 1", true},
		{"embedded settings", "app-bootstrap/defaults.yaml", "app: {}", true},
		{"a requirement", "app-bootstrap/go.mod", "module other", true},
		{"a test", "shared-contract/a_test.go", "package a", false},
		{"test data", "app-bootstrap/testdata/bad.yaml", "app: 1", false},
		{"a page", "shared-contract/README.md", "words", false},
		{"the drill", "scripts/drill/main.go", "package main", false},
	} {
		root := tree(t)
		before := digest(t, root)
		write(t, root, row.name, row.content)
		if changed := digest(t, root) != before; changed != row.changes {
			t.Errorf("%s: changed %v, want %v", row.sentence, changed, row.changes)
		}
	}
}

func TestDigest_leavesOutModulesInside(t *testing.T) {
	root := tree(t)
	before := digest(t, root)
	write(t, root, "shared-contract/examples/service/go.mod", "module service")
	write(t, root, "shared-contract/examples/service/main.go", "package main")
	if digest(t, root) != before {
		t.Error("an example changed the digest")
	}
}

func TestDigest_isOfNamesToo(t *testing.T) {
	root := tree(t)
	before := digest(t, root)
	if err := os.Rename(filepath.Join(root, "shared-contract/a.go"), filepath.Join(root, "shared-contract/b.go")); err != nil {
		t.Fatal(err)
	}
	if digest(t, root) == before {
		t.Error("a renamed file has the same digest")
	}
}

func TestDigest_ofNoRepositoryIsAnError(t *testing.T) {
	if d, err := source.Digest(t.TempDir()); err == nil {
		t.Errorf("got %s, want an error", d)
	}
}
