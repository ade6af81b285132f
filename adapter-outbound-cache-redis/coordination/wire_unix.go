//go:build unix

package coordination

import (
	"errors"
	"syscall"
)

// peek looks at a socket without taking anything from it. The zero peek sees
// nothing.
type peek struct {
	socket syscall.RawConn
	look   func(fd uintptr) // made once
	one    [1]byte
	found  error
}

func (p *peek) at(socket syscall.Conn) {
	p.socket, _ = socket.SyscallConn()
	p.look = func(fd uintptr) {
		n, _, err := syscall.Recvfrom(int(fd), p.one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		switch {
		case n > 0:
			p.found = errUnread
		case err == nil:
			p.found = errEnded
		case err == syscall.EAGAIN || err == syscall.EWOULDBLOCK:
			p.found = nil
		default:
			p.found = err
		}
	}
}

var (
	errEnded  = errors.New("the server has closed the connection")
	errUnread = errors.New("the server has said something that nobody asked for")
)

// quiet is nil while nothing has arrived, the connection's end included.
func (w *wire) quiet() error {
	if w.peek.socket == nil {
		return nil
	}
	// Not Read, which the deadline of the last command would end.
	if err := w.peek.socket.Control(w.peek.look); err != nil {
		return err
	}
	return w.peek.found
}
