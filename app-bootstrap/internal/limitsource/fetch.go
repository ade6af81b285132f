package limitsource

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/cache"
)

// maxBody is the most bytes of an answer.
const maxBody = 64 << 10

// fetcher asks the source. It follows no redirect: whoever may redirect it could
// have it carry its token elsewhere.
type fetcher struct {
	client *http.Client
	url    *url.URL
	token  string
}

func newFetcher(at *url.URL, token string, timeout time.Duration) fetcher {
	return fetcher{url: at, token: token, client: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: timeout}).DialContext, // a dial may outlive its question, for this long
			ForceAttemptHTTP2:      true,
			MaxConnsPerHost:        maxFetches,
			MaxIdleConnsPerHost:    maxFetches,
			IdleConnTimeout:        time.Minute,
			TLSHandshakeTimeout:    timeout,
			MaxResponseHeaderBytes: 16 << 10,
			DisableCompression:     true,
		},
	}}
}

// fetch asks for the limits of one tenant, until ctx ends.
func (f fetcher) fetch(ctx context.Context, tenant string) (Document, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.of(tenant), nil)
	if err != nil {
		return Document{}, fmt.Errorf("ask the limits source: %w", reason(err))
	}
	request.Header.Set("Accept", "application/json")
	if f.token != "" {
		request.Header.Set("Authorization", "Bearer "+f.token)
	}
	answer, err := f.client.Do(request)
	if err != nil {
		return Document{}, fmt.Errorf("ask the limits source: %w", reason(err))
	}
	defer func() {
		_, _ = io.CopyN(io.Discard, answer.Body, maxBody) // so that the connection can be used again
		_ = answer.Body.Close()
	}()
	return read(answer)
}

// read takes a document from an answer. A 404 that is JSON is of a tenant of whom
// the source says nothing; any other may be of somebody in between.
func read(answer *http.Response) (Document, error) {
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusNotFound {
		return Document{}, fmt.Errorf("the limits source answers %d", answer.StatusCode)
	}
	if kind, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return Document{}, fmt.Errorf("the limits source answers %d without application/json", answer.StatusCode)
	}
	if answer.StatusCode == http.StatusNotFound {
		return Document{}, nil
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	if err != nil {
		return Document{}, fmt.Errorf("read the limits source: %w", reason(err))
	}
	if len(body) > maxBody {
		return Document{}, fmt.Errorf("the limits source answers more than %d bytes", maxBody)
	}
	document, err := parse(body)
	if err == nil && len(document.encode()) > cache.MaxValueLen {
		return Document{}, errors.New("the limits source answers ids that take more room than there is once they are escaped")
	}
	return document, err
}

// of is the URL that asks for one tenant: ?tenant= and the id, escaped.
func (f fetcher) of(tenant string) string {
	at := *f.url
	query := at.Query()
	query.Set("tenant", tenant)
	at.RawQuery = query.Encode()
	return at.String()
}

// reason is why a question failed. What a client says may hold the URL, which names
// a tenant, or what the source sent, so that only what is known to hold neither is
// repeated.
func reason(err error) error {
	var network *net.OpError
	var certificate *tls.CertificateVerificationError
	var late interface{ Timeout() bool }
	switch {
	case errors.As(err, &network):
		return network
	case errors.As(err, &certificate):
		return certificate
	case errors.As(err, &late) && late.Timeout():
		return errors.New("no answer in time")
	default:
		return errors.New("what comes is no answer of HTTP, or ends early")
	}
}
