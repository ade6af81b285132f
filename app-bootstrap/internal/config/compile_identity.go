package config

import "strings"

// identity checks the headers of the principal and puts them into made.
func (c *compiler) identity(given rawIdentity, rest Config, made *InboundWeb) {
	taken := map[string]string{} // name -> the key that has it
	if rest.Gateway.SubjectHeader != "" {
		taken[folded(rest.Gateway.SubjectHeader)] = keySubjectHeader
	}
	first := "" // key that names a header
	for _, row := range []struct {
		key, given, example string
		name                *string
	}{
		{keyTenantHeader, given.TenantHeader, "X-Tenant-Id", &made.TenantHeader},
		{keyUserHeader, given.UserHeader, "X-User-Id", &made.UserHeader},
		{keyKeyHeader, given.KeyHeader, "X-Key-Id", &made.KeyHeader},
	} {
		if row.given == "" {
			continue
		}
		name, ok := c.header(row.key, row.given, row.example)
		if other := taken[folded(name)]; ok && other != "" {
			c.refuse(row.key, "%s is the header of %s too: use one of its own", name, other)
		}
		*row.name, taken[folded(name)] = name, row.key
		if first == "" {
			first = row.key
		}
	}
	switch {
	case first == "":
	case given.TenantHeader == "":
		c.refuse(keyTenantHeader, "is missing, and %s is given: a user or key counts within a tenant", first)
	case len(rest.Server.TrustedProxies) == 0 && c.sound(keyTrustedProxies):
		c.warn(keyTenantHeader, "never counts, because %s is empty: every client is anonymous", keyTrustedProxies)
	}
}

// folded is a header's name as servers see it that take _ for -.
func folded(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "-") }
