package config

import (
	"net/netip"
	"strings"
)

// minToken is the least number of bytes of the admin token.
const minToken = 32

func (c *compiler) server(given rawServer, upstream string) Server {
	listen, ok := c.listener(keyListen, given.Listen)
	if ok && upstream == "" && !listen.loopback() {
		c.warn(keyListen, "is not loopback and there is no upstream: whoever reaches it can spend a subject's allowance by authorize")
	}
	return Server{
		Listen:         given.Listen,
		AdminListen:    given.AdminListen,
		AdminToken:     c.admin(given, listen),
		TrustedProxies: c.trustedProxies(given.TrustedProxies),
		IPv6PrefixBits: c.prefixBits(given.ClientIP.IPv6Prefix),
	}
}

func (c *compiler) listener(key, text string) (listener, bool) {
	l, err := parseListener(text)
	if err != nil {
		c.refuse(key, "%v; it is %s", err, shown(text))
	}
	return l, err == nil
}

// admin checks the admin listener and reads its token.
func (c *compiler) admin(given rawServer, main listener) Sensitive {
	if given.AdminListen == "" {
		return Sensitive{}
	}
	admin, ok := c.listener(keyAdminListen, given.AdminListen)
	if ok && admin.collides(main) {
		c.refuse(keyAdminListen, "is the address of %s: give it another port", keyListen)
	}
	if given.AdminTokenFile != "" {
		return c.adminToken(given.AdminTokenFile)
	}
	if ok && !admin.loopback() {
		c.refuse(keyAdminTokenFile, "is missing: %s %s is not loopback; name a file that holds %d characters or more, or listen on 127.0.0.1",
			keyAdminListen, shown(given.AdminListen), minToken)
	}
	return Sensitive{}
}

func (c *compiler) adminToken(name string) Sensitive {
	content, ok := c.secretFile(keyAdminTokenFile, name)
	if !ok {
		return Sensitive{}
	}
	token := trimNewline(content)
	if len(token) < minToken {
		c.refuse(keyAdminTokenFile, "names a file of %d bytes: a token has at least %d", len(token), minToken)
		return Sensitive{}
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		c.refuse(keyAdminTokenFile, "names a file with a character that no header can carry: use letters and digits")
		return Sensitive{}
	}
	return NewSensitive(token)
}

func (c *compiler) trustedProxies(given []string) []netip.Prefix {
	prefixes := []netip.Prefix{}
	if !c.fewEnough(keyTrustedProxies, len(given)) {
		return prefixes
	}
	for i, text := range given {
		key := item(keyTrustedProxies, i)
		prefix, err := parseProxy(text)
		if err != nil {
			c.refuse(key, "%v; it is %s", err, shown(text))
			continue
		}
		if prefix.Bits() == 0 {
			c.warn(key, "trusts every address of its family: any client can then choose whose allowance it spends")
		}
		prefixes = append(prefixes, prefix)
	}
	return prefixes
}

func (c *compiler) prefixBits(bits int64) int {
	if !c.numberIn(keyIPv6Prefix, bits, 32, 128) {
		return 0
	}
	return int(bits)
}
