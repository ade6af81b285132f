package redislimit_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"sync/atomic"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
)

// pair is a certificate of a client by this authority.
func (a authority) pair() *tls.Certificate {
	a.t.Helper()
	certificate, own := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: "client"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return &tls.Certificate{Certificate: [][]byte{certificate.Raw}, PrivateKey: own}
}

// A client certificate is asked for at each dial, of every connection: a new one serves
// without a restart, and one that cannot be read leaves what is open serving.
func TestTransport_aClientCertificateIsAskedForAtEachDial(t *testing.T) {
	a := newAuthority(t)
	server, addr := a.start("redis.test")
	server.Do(t, "CONFIG", "SET", "tls-auth-clients", "yes")
	stranger := newAuthority(t)
	var present atomic.Pointer[tls.Certificate]
	present.Store(stranger.pair())
	r := newUnreadyRig(t, server, func(c *redislimit.Config) {
		c.Redis.Addr, c.Redis.BreakerFailures = addr, 1<<30
		c.Redis.TLS = &tls.Config{RootCAs: a.roots, ServerName: "redis.test", GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if now := present.Load(); now != nil {
				return now, nil
			}
			return nil, errors.New("the key does not match the certificate")
		}}
	})
	for range 5 {
		r.expect("token-bucket", subject(), 1, "unavailable CONNECTION")
	}
	present.Store(a.pair())
	r.eventually("serve", func() bool { return r.evaluate("token-bucket", subject(), 1).Allows() })
	present.Store(nil)
	for range 20 {
		r.expect("token-bucket", subject(), 1, allowed(policyLimit-1))
	}
	present.Store(a.pair())
	server.Do(t, "CLIENT", "KILL", "TYPE", "normal")
	r.eventually("serve by the new certificate", func() bool { return r.evaluate("token-bucket", subject(), 1).Allows() })
}
