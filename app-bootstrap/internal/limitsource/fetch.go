package limitsource

import (
	"context"
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
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: timeout}).DialContext, // none outlives its question for long
			ForceAttemptHTTP2:      true,
			MaxConnsPerHost:        maxFetches,
			MaxIdleConnsPerHost:    maxFetches,
			IdleConnTimeout:        time.Minute,
			TLSHandshakeTimeout:    timeout,
			ResponseHeaderTimeout:  timeout,
			MaxResponseHeaderBytes: 16 << 10,
			DisableCompression:     true,
		},
	}}
}

// fetch asks for the limits of one tenant. A 404 that is JSON is of a tenant of whom
// the source says nothing; any other may be of somebody in between.
func (f fetcher) fetch(ctx context.Context, tenant string) (Document, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.of(tenant), nil)
	if err != nil {
		return Document{}, fmt.Errorf("ask the limits source: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	if f.token != "" {
		request.Header.Set("Authorization", "Bearer "+f.token)
	}
	answer, err := f.client.Do(request)
	if err != nil {
		return Document{}, fmt.Errorf("ask the limits source: %w", withoutURL(err))
	}
	defer func() {
		_, _ = io.CopyN(io.Discard, answer.Body, maxBody) // so that the connection can be used again
		_ = answer.Body.Close()
	}()
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
		return Document{}, fmt.Errorf("read the limits source: %w", err)
	}
	if len(body) > maxBody {
		return Document{}, fmt.Errorf("the limits source answers more than %d bytes", maxBody)
	}
	document, err := parse(body)
	if err == nil && len(document.encode()) > cache.MaxValueLen {
		return Document{}, errors.New("the limits source answers ids that take more room than there is once they are UTF-8")
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

// withoutURL drops the URL, which names a tenant, from what a client says.
func withoutURL(err error) error {
	if failed, ok := err.(*url.Error); ok {
		return failed.Err
	}
	return err
}
