package limitsource

import (
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	maxMemory  = 16 << 20             // bytes, about, of what is known of tenants
	maxTenants = maxMemory / memoSize // known to this process at once: more than have room
	memoSize   = 256                  // bytes, about, of a memo beside its ids
)

// memo is what this process knows of a tenant.
type memo struct {
	document Document
	own      bool          // the source's answer to this process, which the cache would not take
	until    time.Duration // on the clock; then the cache is looked into again
}

// memos are bounded in number and in bytes: the tenant that was longest not asked
// about is forgotten.
type memos struct {
	mu    sync.Mutex
	known *simplelru.LRU[string, memo]
	bytes int
}

func newMemos() (*memos, error) {
	m := &memos{}
	var err error
	m.known, err = simplelru.NewLRU(maxTenants, func(tenant string, gone memo) { m.bytes -= sizeOf(tenant, gone.document) })
	return m, err
}

func (m *memos) get(tenant string) (memo, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known.Get(tenant)
}

func (m *memos) has(tenant string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known.Contains(tenant)
}

func (m *memos) hasOwn(tenant string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, _ := m.known.Peek(tenant)
	return known.own
}

func (m *memos) set(tenant string, made memo) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(tenant, made)
}

// keep makes what is known of a tenant, be it nothing, last until then at least, and
// answers it.
func (m *memos) keep(tenant string, until time.Duration) Document {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, _ := m.known.Peek(tenant)
	known.until = max(known.until, until)
	m.put(tenant, known)
	return known.document
}

func (m *memos) put(tenant string, made memo) {
	m.known.Remove(tenant)
	m.known.Add(tenant, made)
	m.bytes += sizeOf(tenant, made.document)
	for m.bytes > maxMemory {
		m.known.RemoveOldest()
	}
}

// sizeOf is about what a memo takes: 64 bytes go for each id's place in a map.
func sizeOf(tenant string, d Document) int {
	const idSize = 64
	size := memoSize + len(tenant)
	for _, limits := range []map[string]Limit{d.Users, d.Keys} {
		for id := range limits {
			size += len(id) + idSize
		}
	}
	return size
}
