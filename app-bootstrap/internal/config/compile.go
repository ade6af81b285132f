package config

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/secret"
)

// compiler turns raw values into checked ones and reports what it refuses.
type compiler struct {
	*reporter
	readFile  func(string) ([]byte, error)
	secretEnv string // EDGELIMIT_HMAC_SECRET
	redisEnv  string // REDIS_URL
}

func newCompiler(r *reporter, s Sources) *compiler {
	c := &compiler{reporter: r, readFile: s.ReadFile}
	if c.readFile == nil {
		c.readFile = os.ReadFile
	}
	for _, entry := range s.Environ {
		if value, ok := strings.CutPrefix(entry, secretEnviron+"="); ok {
			c.secretEnv = value
		}
		if value, ok := strings.CutPrefix(entry, redisEnviron+"="); ok {
			c.redisEnv = value
		}
	}
	return c
}

func (c *compiler) config(given raw) Config {
	made := Config{
		Server:    c.server(given.App.Server, given.App.Gateway.Upstream),
		Gateway:   c.gateway(given.App.Gateway, given.App.Server),
		RateLimit: c.rateLimit(given.App.RateLimit),
	}
	made.InboundWeb = c.inboundWeb(given.App.InboundWeb, made)
	made.Cache = c.cache(given.App.Cache.Redis, made)
	return made
}

// maxSecretFile is the most bytes of a token, password or secret file.
const maxSecretFile = 1 << 16

// secretFile reads the file that key names. The message never repeats the name:
// it may be the secret itself, put in the wrong place.
func (c *compiler) secretFile(key, name string) ([]byte, bool) {
	content, err := c.readFile(name)
	var cause *fs.PathError
	switch {
	case errors.As(err, &cause):
		c.refuse(key, "names a file that cannot be read: %v", cause.Err)
		return nil, false
	case err != nil:
		c.refuse(key, "names a file that cannot be read: check its path and its permissions")
		return nil, false
	case len(content) > maxSecretFile:
		c.refuse(key, "names a file of more than %d bytes, which is no secret", maxSecretFile)
		return nil, false
	}
	return content, true
}

// trimNewline drops one trailing newline, LF or CRLF.
func trimNewline(content []byte) string {
	content = bytes.TrimSuffix(content, []byte("\n"))
	return string(bytes.TrimSuffix(content, []byte("\r")))
}

// secret is the deployment's secret, whose file key names. The file wins over the
// environment.
func (c *compiler) secret(key, name string) secret.Secret {
	if name == "" && c.secretEnv == "" {
		c.refuse(key, "is missing: name a file that holds %d random bytes or more, or set %s", secret.MinLen, secretEnviron)
		return secret.Secret{}
	}
	if name == "" {
		made, err := secret.New([]byte(c.secretEnv))
		if err != nil {
			c.refuse(key, "is not set, and %s is too short: %v", secretEnviron, err)
		}
		return made
	}
	content, ok := c.secretFile(key, name)
	if !ok {
		return secret.Secret{}
	}
	made, err := secret.FromFile(content)
	if err != nil {
		c.refuse(key, "names a file that is too short: %v", err)
	}
	return made
}

// oneOf checks a word against the only ones that are known.
func (c *compiler) oneOf(key, value string, known ...string) bool {
	for _, word := range known {
		if value == word {
			return true
		}
	}
	c.refuse(key, "must be %s; it is %s", strings.Join(known, " or "), shown(value))
	return false
}

func (c *compiler) numberIn(key string, value, low, high int64) bool {
	if value >= low && value <= high {
		return true
	}
	c.refuse(key, "must be between %d and %d; it is %d", low, high, value)
	return false
}

func (c *compiler) durationIn(key string, value, low, high time.Duration) bool {
	if value >= low && value <= high {
		return true
	}
	c.refuse(key, "must be between %v and %v; it is %v", low, high, value)
	return false
}
