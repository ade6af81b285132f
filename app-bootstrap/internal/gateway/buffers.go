package gateway

import "sync"

// bufferSize is what the proxy itself would make for each response.
const bufferSize = 32 << 10

// buffers are the proxy's, from one response to the next. A pointer to an array
// goes into a pool without an allocation; a slice would not.
type buffers struct{ pool sync.Pool }

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte {
	if buffer, ok := b.pool.Get().(*[bufferSize]byte); ok {
		return buffer[:]
	}
	return make([]byte, bufferSize)
}

// Put implements httputil.BufferPool.
func (b *buffers) Put(buffer []byte) { b.pool.Put((*[bufferSize]byte)(buffer)) }
