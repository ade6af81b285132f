package redislimit_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// authority is a certificate authority of one test.
type authority struct {
	t           *testing.T
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	roots       *x509.CertPool
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	a := authority{t: t, roots: x509.NewCertPool()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	a.certificate, a.key = a.sign(template)
	a.roots.AddCert(a.certificate)
	return a
}

func (a authority) sign(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	parent, signer := a.certificate, a.key
	if parent == nil {
		parent, signer = template, own
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &own.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return certificate, own
}

// start runs a server that speaks TLS under a name, and returns its address.
func (a authority) start(name string) (server *redistest.Server, addr string) {
	a.t.Helper()
	certificate, own := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	encoded, err := x509.MarshalECPrivateKey(own)
	if err != nil {
		a.t.Fatal(err)
	}
	folder := a.t.TempDir()
	certificateFile := a.write(folder, "server.crt", "CERTIFICATE", certificate.Raw)
	keyFile := a.write(folder, "server.key", "EC PRIVATE KEY", encoded)
	rootFile := a.write(folder, "root.crt", "CERTIFICATE", a.certificate.Raw)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		a.t.Fatal(err)
	}
	addr = listener.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	_ = listener.Close()
	return redistest.Start(a.t, "--tls-port", port, "--tls-cert-file", certificateFile, "--tls-key-file", keyFile,
		"--tls-ca-cert-file", rootFile, "--tls-auth-clients", "no"), addr
}

func (a authority) write(folder, name, kind string, content []byte) string {
	a.t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return path
}

func TestTransport_TLSServesUnderTheRightNameAlone(t *testing.T) {
	a := newAuthority(t)
	server, addr := a.start("redis.test")
	for sentence, row := range map[string]struct {
		settings *tls.Config
		serves   bool
	}{
		"the right name and root":    {&tls.Config{RootCAs: a.roots, ServerName: "redis.test"}, true},
		"another name":               {&tls.Config{RootCAs: a.roots, ServerName: "other.test"}, false},
		"the name of the address":    {&tls.Config{RootCAs: a.roots}, false},
		"a root that is not known":   {&tls.Config{RootCAs: x509.NewCertPool(), ServerName: "redis.test"}, false},
		"no TLS to a port that does": {nil, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newUnreadyRig(t, server, func(c *redislimit.Config) {
				c.Redis.Addr, c.Redis.TLS = addr, row.settings
			})
			_ = r.firstAttempt()
			if !row.serves {
				for range 10 {
					r.expect("token-bucket", subject(), 1, "unavailable CONNECTION")
				}
				if health := r.health(); health.Ready || len(health.Problems) == 0 {
					t.Errorf("health %+v, want not ready, and why", health)
				}
				return
			}
			r.awaitReady()
			who := subject()
			for n := range int64(50) {
				r.expect("fixed-window", who, 2, allowed(policyLimit-2-2*n))
			}
			r.expect("fixed-window", who, 1, "denied 0")
		})
	}
}

func TestTransport_idleTLSConnectionsThatWereClosedCostNoError(t *testing.T) {
	a := newAuthority(t)
	server, addr := a.start("redis.test")
	r := newRig(t, server, func(c *redislimit.Config) {
		c.Redis.Addr, c.Redis.TLS = addr, &tls.Config{RootCAs: a.roots, ServerName: "redis.test"}
	})
	who := subject()
	for n := range int64(20) {
		r.do("CLIENT", "KILL", "TYPE", "normal")
		r.expect("token-bucket", who, 1, allowed(policyLimit-1-n))
	}
}

func TestTransport_TLSWithAnACLUserAnotherDatabaseAndRESP3(t *testing.T) {
	a := newAuthority(t)
	server, addr := a.start("redis.test")
	server.Do(t, append([]string{"ACL", "SETUSER", "app", "on", ">secret", "+select"}, rights...)...)
	r := newUnreadyRig(t, server, func(c *redislimit.Config) {
		c.Redis.Addr, c.Redis.TLS = addr, &tls.Config{RootCAs: a.roots, ServerName: "redis.test"}
		c.Redis.Username, c.Redis.Password, c.Redis.Database, c.Redis.Protocol = "app", "secret", 7, 3
	})
	r.awaitReady()
	for _, p := range r.config.Policies {
		who := subject()
		r.expect(p.ID(), who, 1, allowed(policyLimit-1))
		r.expect(p.ID(), who, policyLimit, "denied "+allowed(policyLimit - 1)[len("allowed "):])
	}
	// Nothing is in database 0.
	if got := server.Do(t, "DBSIZE"); got != int64(0) {
		t.Errorf("%v keys in database 0, want 0", got)
	}
}

func TestTransport_aDatabaseThatDoesNotExistNeverServes(t *testing.T) {
	r := newUnreadyRig(t, redistest.Start(t), func(c *redislimit.Config) { c.Redis.Database = 99 })
	_ = r.firstAttempt()
	if o := r.evaluate("token-bucket", subject(), 1); o.Allows() {
		t.Errorf("got %s", say(o))
	}
	if health := r.health(); health.Ready || !contains(health.Problems, "DB index") {
		t.Errorf("health %+v, want the reason", health)
	}
}

// The address is asked for at each dial, so that a promoted master is found.
func TestTransport_resolvesAtEachDial(t *testing.T) {
	first, second := redistest.Start(t), redistest.Start(t)
	addr := make(chan string, 1)
	addr <- first.Addr()
	r := newUnreadyRig(t, first, func(c *redislimit.Config) {
		c.Redis.Addr = ""
		c.Redis.Resolve = func(context.Context) (string, error) {
			now := <-addr
			addr <- now
			if now == "" {
				return "", errors.New("no master is known")
			}
			return now, nil
		}
	})
	r.awaitReady()
	<-addr
	addr <- ""
	first.Kill(t)
	r.eventually("say that no master is known", func() bool { return contains(r.health().Problems, "no master is known") })
	<-addr
	addr <- second.Addr()
	r.eventually("serve from the second", func() bool { return r.evaluate("token-bucket", subject(), 1).Allows() })
	if got := second.Calls(t, "evalsha"); got == 0 {
		t.Error("the second server ran nothing")
	}
}
