package coordination

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
)

// nodeVerifier verifies one node of a cluster by keys whose slot is the node's
// now. A node without a slot answers MOVED to every key: it passes by its version
// alone, until it has one and its client looks again.
type nodeVerifier struct {
	cluster *Cluster
	addr    string
}

const (
	mostTags   = 1 << 20 // a node of a single slot is found by one tag in 16,384
	verifyings = 3       // a slot may move away under a verification
)

// Verify implements Verifier.
func (v nodeVerifier) Verify(ctx context.Context, s Sender) error {
	for left := verifyings; ; left-- {
		verifier := v.here()
		if verifier == nil {
			return nil
		}
		err := verifier.Verify(ctx, s)
		var refused *RefusedError
		if left == 1 || !errors.As(err, &refused) || !redirects(refused.Code) {
			return err
		}
		v.cluster.stale.Store(true)
	}
}

// ProbeKey implements Verifier.
func (v nodeVerifier) ProbeKey() string {
	if verifier := v.here(); verifier != nil {
		return verifier.ProbeKey()
	}
	return v.cluster.verifier("").ProbeKey()
}

// here is the verifier with a random slot of the node, nil if it has none.
func (v nodeVerifier) here() Verifier {
	m := v.cluster.slots.Load()
	if m == nil || !slices.Contains(m.masters, v.addr) {
		return nil
	}
	first := rand.Uint64()
	for i := range uint64(mostTags) {
		verifier := v.cluster.verifier(strconv.FormatUint(first+i, 36))
		if m.owner(Slot(verifier.ProbeKey())) == v.addr {
			return verifier
		}
	}
	return nil
}
