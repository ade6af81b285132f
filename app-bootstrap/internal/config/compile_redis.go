package config

import (
	"errors"
	"math"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var keyPrefix = regexp.MustCompile(`^[a-z0-9._-]{1,32}$`)

// redis checks the coordination endpoint. Secrets are read only if the limiter
// is enabled.
func (c *compiler) redis(given rawRedis, enabled bool) Redis {
	r := Redis{
		KeyPrefix:         given.KeyPrefix,
		DialTimeout:       given.DialTimeout,
		CommandTimeout:    given.CommandTimeout,
		AdmissionWait:     given.AdmissionWait,
		MaxInFlight:       int(given.MaxInFlight),
		BreakerFailures:   int(given.Breaker.Failures),
		BreakerProbeEvery: given.Breaker.ProbeEvery,
	}
	if given.Role != "" {
		c.oneOf(keyRole, given.Role, "coordination")
	}
	if !keyPrefix.MatchString(given.KeyPrefix) {
		c.refuse(keyKeyPrefix, "must be 1 to 32 characters of a-z 0-9 . _ -; it is %s", shown(given.KeyPrefix))
	}
	c.durationIn(keyDialTimeout, given.DialTimeout, time.Millisecond, time.Minute)
	c.durationIn(keyCommandTimeout, given.CommandTimeout, time.Millisecond, 10*time.Second)
	c.durationIn(keyAdmissionWait, given.AdmissionWait, 0, 10*time.Second)
	c.numberIn(keyMaxInFlight, given.MaxInFlight, 1, 100_000)
	c.numberIn(keyFailures, given.Breaker.Failures, 1, 1_000_000)
	c.durationIn(keyProbeEvery, given.Breaker.ProbeEvery, time.Millisecond, time.Hour)

	end := c.endpoint(keyEndpoint, given.Endpoint)
	r.Address, r.TLS, r.Database = end.address, end.tls, end.database
	r.Username, r.Password = c.credentials(credentialKeys{keyEndpoint, keyUsername, keyPasswordFile}, given.Username, given.PasswordFile, end, enabled)
	if enabled {
		r.Secret = c.secret(keyHMACSecretFile, given.HMACSecretFile)
	}
	return r
}

// credentialKeys are where one server's user and password are configured.
type credentialKeys struct{ endpoint, username, passwordFile string }

// credentials joins what the endpoint and the keys say. Two answers to one
// question are refused rather than ranked.
func (c *compiler) credentials(keys credentialKeys, username, passwordFile string, end endpoint, enabled bool) (string, Sensitive) {
	password := NewSensitive(end.password)
	switch {
	case username == "":
		username = end.username
	case end.username != "" && end.username != username:
		c.refuse(keys.username, "differs from the user in %s: keep one of them", keys.endpoint)
	}
	if passwordFile != "" && end.password != "" {
		c.refuse(keys.passwordFile, "is set, and the endpoint of the environment holds a password too: keep one of them")
		return username, password
	}
	if enabled && username != "" && passwordFile == "" && end.password == "" {
		c.refuse(keys.passwordFile, "is missing: a user cannot log in without a password")
	}
	if passwordFile == "" || !enabled {
		return username, password
	}
	content, ok := c.secretFile(keys.passwordFile, passwordFile)
	if ok && trimNewline(content) == "" {
		c.refuse(keys.passwordFile, "names an empty file: write the password into it")
	}
	return username, NewSensitive(trimNewline(content))
}

// endpoint is what a redis:// or rediss:// URL says.
type endpoint struct {
	address            string
	tls                bool
	database           int
	username, password string
}

func (c *compiler) endpoint(key, text string) endpoint {
	if text == "" {
		return endpoint{}
	}
	end, err := parseEndpoint(text)
	if err != nil {
		c.refuse(key, "%v", err)
	}
	return end
}

var databasePath = regexp.MustCompile(`^/(0|[1-9][0-9]{0,9})$`)

// parseEndpoint's errors do not repeat the text, which may hold a password.
func parseEndpoint(text string) (endpoint, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "redis" && u.Scheme != "rediss" || !validHostPort(u):
		return endpoint{}, errors.New("must be redis://host:port/database, or rediss:// for TLS; a password in it must be percent-encoded")
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		return endpoint{}, errors.New("must not have a query or a fragment: the settings are keys of their own")
	}
	end := endpoint{tls: u.Scheme == "rediss", username: u.User.Username()}
	end.password, _ = u.User.Password()
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	end.address = net.JoinHostPort(u.Hostname(), port)
	if u.EscapedPath() == "" || u.EscapedPath() == "/" {
		return end, nil
	}
	if !databasePath.MatchString(u.EscapedPath()) {
		return endpoint{}, errors.New("must end with a database's number, as in /0")
	}
	number, err := strconv.ParseInt(u.EscapedPath()[1:], 10, 64)
	if err != nil || number > math.MaxInt32 {
		return endpoint{}, errors.New("names a database beyond any that Redis has: use /0")
	}
	end.database = int(number)
	return end, nil
}
