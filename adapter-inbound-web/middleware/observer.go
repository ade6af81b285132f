package middleware

// Layer is where a call was denied.
type Layer string

// The layers.
const (
	LayerTenant Layer = "tenant"
	LayerUser   Layer = "user" // or the key
	LayerBoth   Layer = "both"
	LayerIP     Layer = "ip" // the address of an anonymous client
)

// Observer hears what a [RateLimitMiddleware] does, for metrics. It is called
// within requests, so it must be quick and safe for concurrent use.
type Observer interface {
	// Rejected is called once for each denied request, with the tenant's id as
	// it came, which is empty under LayerIP.
	Rejected(tenant string, layer Layer)

	// FellBack is called once for each request that the fallback was asked
	// about, with the reason by slidinglog.Reason.
	FellBack(reason string)

	// Failed is called once for each request that was neither allowed nor
	// denied, with the reason: invalid is a 400, all others are a 503.
	Failed(reason string)

	// ChargedThenDenied is called, after Rejected, for each denied request that
	// the edge port further out has allowed and charged.
	ChargedThenDenied()
}

// unobserved is the Observer that nobody handed in.
type unobserved struct{}

func (unobserved) Rejected(string, Layer) {}
func (unobserved) FellBack(string)        {}
func (unobserved) Failed(string)          {}
func (unobserved) ChargedThenDenied()     {}
