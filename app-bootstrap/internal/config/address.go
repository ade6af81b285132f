package config

import (
	"errors"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/edgelimit/edgelimit/shared-contract/subject"
)

// listener is a checked listen address.
type listener struct {
	host string // without a dot at its end; "" is every interface
	port uint16
}

// parseListener takes host:port with a port in digits, where 0 is any free one.
func parseListener(text string) (listener, error) {
	wrong := errors.New("must be host:port, as in 127.0.0.1:8080 or [::1]:8080, with a port of 0 to 65535")
	host, port, err := net.SplitHostPort(text)
	if err != nil || host != "" && !validHost(host) {
		return listener{}, wrong
	}
	number, ok := parsePort(port)
	if !ok {
		return listener{}, wrong
	}
	return listener{host: strings.TrimSuffix(host, "."), port: number}, nil
}

func parsePort(text string) (uint16, bool) {
	if !integer.MatchString(text) {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 16)
	return uint16(n), err == nil
}

// loopback tells whether only this machine reaches the listener.
func (l listener) loopback() bool {
	ip, ok := l.address()
	return ok && ip.IsLoopback()
}

// address is the listener's IP; localhost is one of them.
func (l listener) address() (netip.Addr, bool) {
	if strings.EqualFold(l.host, "localhost") {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), true
	}
	ip, err := netip.ParseAddr(l.host)
	return ip.Unmap(), err == nil
}

// collides tells whether two listeners cannot both be opened.
func (l listener) collides(other listener) bool {
	if l.port != other.port || l.port == 0 {
		return false
	}
	return l.everywhere() || other.everywhere() || l.sameHost(other)
}

// reachedAt tells whether who connects to target, which is no listener, surely
// reaches l.
func (l listener) reachedAt(target listener) bool {
	return l.port != 0 && l.port == target.port && (l.sameHost(target) || l.everywhere() && target.loopback())
}

func (l listener) everywhere() bool {
	ip, ok := l.address()
	return l.host == "" || ok && ip.IsUnspecified()
}

func (l listener) sameHost(other listener) bool {
	a, isIP := l.address()
	b, alsoIP := other.address()
	if isIP && alsoIP {
		return a == b
	}
	return strings.EqualFold(l.host, other.host)
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9._-]{0,252}[A-Za-z0-9_.])?$`)

// validHost tells whether s is an IP address or has the form of a host's name. A
// name of digits and dots alone is an address that someone mistyped.
func validHost(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	return hostName.MatchString(s) && strings.Trim(s, "0123456789.") != "" && !strings.Contains(s, "..")
}

// parseProxy takes a CIDR or a single address. An IPv4 address that is embedded
// in IPv6 is IPv4, as it is for clients.
func parseProxy(text string) (netip.Prefix, error) {
	if !strings.Contains(text, "/") {
		ip, err := netip.ParseAddr(text)
		if err != nil || ip.Zone() != "" {
			return netip.Prefix{}, errors.New("must be a CIDR or an address without a zone, as in 10.0.0.0/8 or 192.0.2.1")
		}
		ip = subject.Unembed(ip)
		return netip.PrefixFrom(ip, ip.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, errors.New("must be a CIDR or an address, as in 10.0.0.0/8 or 192.0.2.1")
	}
	if masked := prefix.Masked(); masked != prefix {
		return netip.Prefix{}, errors.New("has bits beyond its prefix length: write " + masked.String() + ", or the address alone")
	}
	if ip := subject.Unembed(prefix.Addr()); ip.Is4() && prefix.Bits() >= 96 {
		prefix = netip.PrefixFrom(ip, prefix.Bits()-96)
	}
	return prefix, nil
}
