package gateway

import "sync"

// bufferSize is what a proxy without a pool makes for each response.
const bufferSize = 32 << 10

// buffers are what the bodies of responses are copied through, used again. That is
// sound as long as the server speaks HTTP/1, whose Write is done with the bytes when
// it returns: over HTTP/2 a frame may still read them, and send another client's. A
// pointer to an array goes into a pool without an allocation; a slice would not.
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
