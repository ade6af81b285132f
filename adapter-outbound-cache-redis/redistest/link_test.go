package redistest_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

func TestLink_refuseStopsNewDialsOnly(t *testing.T) {
	server := redistest.Start(t)
	link, c := greeted(t, server)
	addr := link.Addr()
	link.Refuse()
	wantRefused(t, addr)
	c.send("INCR counter")
	c.want(":1\r\n")
	link.Heal()
	if link.Addr() != addr {
		t.Errorf("healed at %s, want %s", link.Addr(), addr)
	}
	again := dial(t, addr)
	again.send("INCR counter")
	again.want(":2\r\n")
}

func TestLink_cutClosesWhatIsOpen(t *testing.T) {
	server := redistest.Start(t)
	link, c := greeted(t, server)
	other := dial(t, link.Addr())
	other.send("PING")
	other.want("+PONG\r\n")
	if open, dials := link.Open(), link.Dials(); open != 2 || dials != 2 {
		t.Fatalf("%d open of %d, want 2 of 2", open, dials)
	}
	link.Cut()
	if got := link.Open(); got != 0 {
		t.Errorf("%d open after the cut, want none", got)
	}
	c.wantEnd("", "closed")
	other.wantEnd("", "closed")
	again := dial(t, link.Addr())
	again.send("PING")
	again.want("+PONG\r\n")
	if open, most, dials := link.Open(), link.MaxOpen(), link.Dials(); open != 1 || most != 2 || dials != 3 {
		t.Errorf("%d open, at most %d, of %d; want 1, 2, 3", open, most, dials)
	}
}

func TestLink_blackholeTakesEverythingUntilHealed(t *testing.T) {
	server := redistest.Start(t)
	link, caught := greeted(t, server)
	idle := dial(t, link.Addr())
	idle.send("PING")
	idle.want("+PONG\r\n")
	link.Fault("INCR", 1, redistest.ResetBefore())

	link.Blackhole()
	caught.send("INCR counter")
	caught.wantMute()
	late := dial(t, link.Addr())
	late.send("INCR counter")
	late.wantMute()
	if got := link.Forwarded("INCR"); got != 0 {
		t.Errorf("%d forwarded into a black hole, want none", got)
	}

	link.Heal()
	caught.wantEnd("", "closed")
	late.wantEnd("", "closed")
	idle.send("INCR counter")
	idle.want(":1\r\n")
}

func TestLink_blackholeTakesRepliesOnTheirWay(t *testing.T) {
	server := redistest.Start(t)
	link, c := greeted(t, server)
	server.Pause(t)
	c.send("INCR counter")
	eventually(t, "the request is on its way", func() bool { return link.Forwarded("INCR") == 1 })
	link.Blackhole()
	server.Resume(t)
	eventually(t, "the server counts", func() bool { return server.Do(t, "GET", "counter") == once })
	c.wantMute()
	link.Heal()
	c.wantEnd("", "closed")
}

func TestLink_blackholeHidesTheDeathOfTheServer(t *testing.T) {
	server := redistest.Start(t)
	link, c := greeted(t, server)
	link.Blackhole()
	server.Kill(t)
	c.wantMute()
	late := dial(t, link.Addr())
	late.wantMute()
	link.Heal()
	c.wantEnd("", "closed")
	late.wantEnd("", "closed")
}

func TestLink_showsTheDeathOfTheServer(t *testing.T) {
	server := redistest.Start(t)
	link, c := greeted(t, server)
	server.Kill(t)
	c.wantEnd("", "closed")
	wantReset(t, link.Addr())
	server.Restart(t)
	again := dial(t, link.Addr())
	again.send("PING")
	again.want("+PONG\r\n")
}

func TestLink_cleanupEndsWhatIsStuck(t *testing.T) {
	server := redistest.Start(t)
	server.Pause(t)
	t.Run("a link in a black hole to a server that stands still", func(t *testing.T) {
		link := redistest.NewLink(t, server.Addr())
		dial(t, link.Addr()).send("INCR counter")
		eventually(t, "forwarded", func() bool { return link.Forwarded("INCR") == 1 })
		link.Blackhole()
		dial(t, link.Addr()).send("INCR counter")
		link.Cut()
		dial(t, link.Addr())
	})
	stacks := goroutines()
	for _, owner := range []string{"/redistest.(*conn)", "/redistest.(*Link)"} {
		if strings.Contains(stacks, owner) {
			t.Errorf("a goroutine of %s outlives the link's cleanup:\n%s", owner, stacks)
		}
	}
}

func TestLink_everyChargeIsCountedUnderConcurrentFaults(t *testing.T) {
	server := redistest.Start(t)
	link := redistest.NewLink(t, server.Addr())
	link.Fault("INCR", 200, redistest.Pass())
	for range 10 {
		link.Fault("INCR", 7, redistest.LoseReply())
		link.Fault("INCR", 7, redistest.ResetBefore())
		link.Fault("INCR", 7, redistest.HalfReply())
		link.Fault("INCR", 7, redistest.ResetAfter())
	}
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for range 200 {
				if err := charge(link.Addr()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	clients.Wait()
	// 800 requests, of which 70 met a reset before they were forwarded.
	if got := link.Forwarded("INCR"); got != 730 {
		t.Errorf("%d forwarded, want 730", got)
	}
	eventually(t, "the server ran what was forwarded", func() bool { return server.Do(t, "GET", "counter") == "730" })
}

// charge sends one INCR on a connection of its own and waits for whatever comes of it.
func charge(addr string) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, request("INCR", "counter")); err != nil {
		return fmt.Errorf("send a charge: %w", err)
	}
	_, _ = conn.Read(make([]byte, 64))
	return nil
}

// wantReset expects a reset as soon as the connection stands, which the dial itself may already report.
func wantReset(t *testing.T, addr string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err == nil {
		defer func() { _ = conn.Close() }()
		_, err = conn.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("the connection gave %v, want a reset", err)
	}
}
