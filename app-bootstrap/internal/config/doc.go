// Package config turns a YAML file, the environment and command-line overrides
// into one validated [Config].
//
// The one rule that matters: nothing is guessed. An unknown key, a repeated
// key, a value of another type, a duration without a unit or a number that would
// lose anything is a [Problem] that names the key's whole path; all of them are
// reported at once, and a Config with a problem is the zero Config.
//
// Later sources win, key by key; a list, or the table of tenants, is replaced as a
// whole:
//
//	defaults.yaml < file < EDGELIMIT_APP__RATE_LIMIT__REDIS__ENDPOINT=... < app.rate-limit.redis.endpoint=...
//
// Read raw.go for the keys, defaults.yaml for their defaults, config.go for the
// result. layer.go reads one source exactly; the compile files check the meaning.
package config
