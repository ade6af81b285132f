package config

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/v2"
	"go.yaml.in/yaml/v3"
)

// Sources is everything that a configuration is made of.
type Sources struct {
	// File is the content of the YAML file: at most 1 MiB, UTF-8, one document;
	// nil or empty is no file.
	File []byte
	// FileName is how messages call the file; "" is "the file".
	FileName string
	// Environ is the environment in the form of os.Environ. Read are the
	// variables that begin with EDGELIMIT_APP__, EDGELIMIT_HMAC_SECRET and
	// REDIS_URL.
	Environ []string
	// Overrides are key=value, as in app.server.listen=127.0.0.1:0; of two for
	// one key the last counts.
	Overrides []string
	// ReadFile reads the secret files, and only those that are needed; nil is
	// os.ReadFile.
	ReadFile func(name string) ([]byte, error)
}

const (
	environPrefix = "EDGELIMIT_APP__"
	secretEnviron = "EDGELIMIT_HMAC_SECRET"
	redisEnviron  = "REDIS_URL"
)

// Key is one key that a variable or an override can set.
type Key struct {
	Path    string // app.rate-limit.redis.endpoint
	Environ string // EDGELIMIT_APP__RATE_LIMIT__REDIS__ENDPOINT
}

// Keys lists every key, in the order of the schema. The keys inside an item of
// app.rate-limit.policies and app.rate-limit.routes are not among them, nor those
// inside app.inbound-web.rate-limit.tenants: a list or table is set as a whole.
func Keys() []Key { return leaves(schema, "", nil) }

func leaves(t reflect.Type, path string, keys []Key) []Key {
	if t.Kind() != reflect.Struct {
		name := strings.NewReplacer(".", "__", "-", "_").Replace(path)
		return append(keys, Key{Path: path, Environ: "EDGELIMIT_" + strings.ToUpper(name)})
	}
	for _, name := range names(t) {
		field, _ := fieldOf(t, name)
		keys = leaves(field.Type, child(path, name), keys)
	}
	return keys
}

// Load reads the sources, later ones winning, and checks everything. The Config
// is usable if and only if the Report has no problem; otherwise it is the zero
// Config.
func Load(s Sources) (Config, Report) {
	r := newReporter()
	merged := koanf.New(".")
	file, readable := fileLayer(r, s)
	layers := []*layer{defaultsLayer(), file}
	layers = append(layers, environLayer(r, s.Environ), overridesLayer(r, s.Overrides))
	for _, l := range layers {
		if err := merged.Load(l, nil); err != nil {
			r.unread("", "configuration", "cannot be merged: %v", err)
		}
	}
	var given raw
	if err := merged.UnmarshalWithConf("", &given, koanf.UnmarshalConf{
		DecoderConfig: &mapstructure.DecoderConfig{ErrorUnused: true},
	}); err != nil {
		r.unread("", "configuration", "cannot be decoded: %v", err)
	}
	if !readable {
		return Config{}, r.report
	}
	config := newCompiler(r, s).config(given)
	if len(r.report.Problems) > 0 {
		return Config{}, r.report
	}
	return config, r.report
}

func defaultsLayer() *layer {
	l, _ := fileLayer(newReporter(), Sources{File: defaultsYAML})
	return l
}

// fileLayer answers false when the file could not be read at all, so that it is
// not known what it lacks.
func fileLayer(r *reporter, s Sources) (*layer, bool) {
	name := cmp.Or(s.FileName, "the file")
	where := func(n *yaml.Node) string { return fmt.Sprintf("%s:%d", name, n.Line) }
	l := &layer{report: r, where: where, tree: map[string]any{}}
	root, faults := parse(s.File)
	for _, f := range faults {
		at := name
		if f.line > 0 {
			at = fmt.Sprintf("%s:%d", name, f.line)
		}
		r.unread("", at, "%s", f.message)
	}
	switch {
	case len(faults) > 0:
		return l, false
	case root == nil:
		return l, true
	case root.Kind != yaml.MappingNode:
		r.unread("", where(root), "must be a section that begins with app:")
		return l, false
	}
	if tree, ok := l.section(root, schema, ""); ok {
		l.tree = tree.(map[string]any)
	}
	l.refusePassword()
	return l, true
}

func environLayer(r *reporter, environ []string) *layer {
	paths := map[string]string{}
	for _, key := range Keys() {
		paths[key.Environ] = key.Path
	}
	var name string
	l := &layer{report: r, where: func(*yaml.Node) string { return name }, tree: map[string]any{}}
	for _, entry := range environ {
		if !strings.HasPrefix(entry, environPrefix) {
			continue
		}
		var value string
		name, value, _ = strings.Cut(entry, "=")
		path, known := paths[name]
		if !known {
			r.unread(keyName(keyPath(name)), keyName(name), "is not a key%s: correct or unset the variable", meant(paths, name))
			continue
		}
		l.set(path, value)
	}
	return l
}

// keyPath is the key that a variable's name would stand for.
func keyPath(variable string) string {
	name := strings.ToLower(strings.TrimPrefix(variable, "EDGELIMIT_"))
	return strings.NewReplacer("__", ".", "_", "-").Replace(name)
}

// meant points at the right spelling of a name that differs in case alone.
func meant(paths map[string]string, name string) string {
	if upper := strings.ToUpper(strings.ReplaceAll(name, "-", "_")); paths[upper] != "" {
		return " in this spelling; write " + upper
	}
	return ""
}

func overridesLayer(r *reporter, overrides []string) *layer {
	l := &layer{report: r, where: func(*yaml.Node) string { return "--set" }, tree: map[string]any{}}
	for i, entry := range overrides {
		path, value, ok := strings.Cut(entry, "=")
		if !ok {
			r.unread("", fmt.Sprintf("--set number %d", i+1), "has no =: write key=value")
			continue
		}
		l.set(path, value)
	}
	l.refusePassword()
	return l
}

// refusePassword reports a password inside a URL of a layer that other people can
// read: a file, or the arguments of a process.
func (l *layer) refusePassword() {
	for key, file := range map[string]string{keyEndpoint: keyPasswordFile, keyCacheEndpoint: keyCachePasswordFile} {
		if holdsPassword(l.text(key)) {
			l.report.unread(key, l.report.where(key),
				"holds a password: take it out and name its file in %s, or give the whole endpoint by the environment", file)
		}
	}
	if holdsPassword(l.text(keyRedisURL)) {
		l.report.unread(keyRedisURL, l.report.where(keyRedisURL),
			"holds a password: take it out, or give the whole URL by the environment, as %s", redisEnviron)
	}
}

// text is the string that the layer gives for key; "" if it gives none.
func (l *layer) text(key string) string {
	var found any = l.tree
	for _, name := range strings.Split(key, ".") {
		section, _ := found.(map[string]any)
		found = section[name]
	}
	text, _ := found.(string)
	return text
}

// holdsPassword tells whether a URL has a password, going by the text, because
// one that is too broken to parse has it all the same.
func holdsPassword(endpoint string) bool {
	end := strings.LastIndex(endpoint, "@")
	if end < 0 {
		return false
	}
	_, userinfo, found := strings.Cut(endpoint[:end], "//")
	if !found {
		userinfo = endpoint[:end]
	}
	return strings.Contains(userinfo, ":")
}
