package promises_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// tap passes all bytes on between clients and a server, and keeps them.
type tap struct {
	addr  string
	mu    sync.Mutex
	conns []*tapped
}

// tapped are the bytes of one connection, each way.
type tapped struct {
	mu       sync.Mutex
	sent     bytes.Buffer
	answered bytes.Buffer
}

// keeper is one way of a connection.
type keeper struct {
	of *tapped
	to *bytes.Buffer
}

func (k keeper) Write(b []byte) (int, error) {
	k.of.mu.Lock()
	defer k.of.mu.Unlock()
	return k.to.Write(b)
}

// newTap listens until the test ends, and until those who dialled have closed.
func newTap(t *testing.T, target string) *tap {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	made := &tap{addr: listener.Addr().String()}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			open.Go(func() { made.carry(client, target) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		open.Wait()
	})
	return made
}

func (t *tap) carry(client net.Conn, target string) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	c := &tapped{}
	t.mu.Lock()
	t.conns = append(t.conns, c)
	t.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(io.MultiWriter(keeper{c, &c.sent}, server), client)
		_ = server.Close()
	})
	_, _ = io.Copy(io.MultiWriter(keeper{c, &c.answered}, client), server)
	_ = client.Close()
	both.Wait()
}

// requests are the words of every command that was sent whole.
func (t *tap) requests() [][]string {
	var all [][]string
	t.each(func(sent, _ []byte) {
		for r := bufio.NewReader(bytes.NewReader(sent)); ; {
			words, err := request(r)
			if err != nil {
				return
			}
			all = append(all, words)
		}
	})
	return all
}

// request reads one command.
func request(r *bufio.Reader) ([]string, error) {
	var count, size int
	if _, err := fmt.Fscanf(r, "*%d\r\n", &count); err != nil {
		return nil, err
	}
	words := make([]string, count)
	for i := range words {
		if _, err := fmt.Fscanf(r, "$%d\r\n", &size); err != nil {
			return nil, err
		}
		word := make([]byte, size+len("\r\n"))
		if _, err := io.ReadFull(r, word); err != nil {
			return nil, err
		}
		words[i] = string(word[:size])
	}
	words[0] = strings.ToUpper(words[0])
	return words, nil
}

// keysWith are the words of all commands that begin so.
func (t *tap) keysWith(prefix string) map[string]bool {
	keys := map[string]bool{}
	for _, words := range t.requests() {
		for _, word := range words[1:] {
			if strings.HasPrefix(word, prefix) {
				keys[word] = true
			}
		}
	}
	return keys
}

// answeredProtocol tells whether every connection that was answered at all was told that this version of RESP is spoken.
func (t *tap) answeredProtocol(version string) bool {
	conns, spoken := 0, 0
	t.each(func(_, answered []byte) {
		if len(answered) == 0 {
			return
		}
		conns++
		if bytes.Contains(answered, []byte("$5\r\nproto\r\n:"+version+"\r\n")) {
			spoken++
		}
	})
	return conns > 0 && spoken == conns
}

func (t *tap) each(look func(sent, answered []byte)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.conns {
		c.mu.Lock()
		look(bytes.Clone(c.sent.Bytes()), bytes.Clone(c.answered.Bytes()))
		c.mu.Unlock()
	}
}
