package redistest_test

import (
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

const (
	hello = "HELLO 3"
	once  = "1"
)

// greeted is a client of a new link to the server, after a handshake that no fault of a later command may touch.
func greeted(t *testing.T, server *redistest.Server) (*redistest.Link, *client) {
	t.Helper()
	link := redistest.NewLink(t, server.Addr())
	c := dial(t, link.Addr())
	c.send(hello)
	c.frame()
	return link, c
}

func TestLink_faultThatEndsTheConnection(t *testing.T) {
	server := redistest.Start(t)
	for _, row := range []struct {
		name      string
		fault     redistest.Fault
		counter   any
		forwarded int64
		bytes     string
		end       string
	}{
		{"a lost reply leaves the charge and closes", redistest.LoseReply(), once, 1, "", "closed"},
		{"half a reply leaves the charge and closes", redistest.HalfReply(), once, 1, ":1", "closed"},
		{"a reset before leaves nothing", redistest.ResetBefore(), nil, 0, "", "reset"},
		{"a reset after leaves the charge", redistest.ResetAfter(), once, 1, "", "reset"},
	} {
		t.Run(row.name, func(t *testing.T) {
			server.Do(t, "FLUSHALL")
			link, c := greeted(t, server)
			link.Fault("incr", 1, row.fault)
			c.send("INCR counter")
			c.wantEnd(row.bytes, row.end)
			if got := server.Do(t, "GET", "counter"); got != row.counter {
				t.Errorf("the server counted %v, want %v", got, row.counter)
			}
			if got := link.Forwarded("INCR"); got != row.forwarded {
				t.Errorf("%d forwarded, want %d", got, row.forwarded)
			}
			if got := link.Open(); got != 0 {
				t.Errorf("%d connections open, want none", got)
			}
			again := dial(t, link.Addr())
			again.send("INCR other")
			again.want(":1\r\n")
		})
	}
}

func TestLink_faultThatKeepsTheConnection(t *testing.T) {
	server := redistest.Start(t)
	for _, row := range []struct {
		name  string
		fault redistest.Fault
		first string
	}{
		{"pass changes nothing", redistest.Pass(), ":1\r\n"},
		{"the zero fault changes nothing", redistest.Fault{}, ":1\r\n"},
		{"a delayed reply is whole", redistest.Delay(time.Millisecond), ":1\r\n"},
		{"a replaced reply hides the true one", redistest.Replace([]byte("-LOADING soon\r\n")), "-LOADING soon\r\n"},
		{"a reply replaced by nothing lets the next one stand in its place", redistest.Replace(nil), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			server.Do(t, "FLUSHALL")
			link, c := greeted(t, server)
			link.Fault("INCR", 1, row.fault)
			c.send("INCR counter", "INCR counter")
			if row.first != "" {
				c.want(row.first)
			}
			c.want(":2\r\n")
			if got := server.Do(t, "GET", "counter"); got != "2" {
				t.Errorf("the server counted %v, want 2", got)
			}
		})
	}
}

func TestLink_delayIsNoShorterThanSaid(t *testing.T) {
	const late = 60 * time.Millisecond
	server := redistest.Start(t)
	link, c := greeted(t, server)
	link.Fault("INCR", 1, redistest.Delay(late))
	due := time.After(late)
	c.send("INCR counter")
	c.want(":1\r\n")
	select {
	case <-due:
	default:
		t.Errorf("the reply came sooner than %v", late)
	}
}

func TestLink_delaysOfAPipelineRunAtTheSameTime(t *testing.T) {
	const late = 300 * time.Millisecond
	server := redistest.Start(t)
	link, c := greeted(t, server)
	link.Fault("INCR", -1, redistest.Delay(late))
	oneAfterTheOther := time.After(5 * late)
	c.send("INCR a", "INCR a", "INCR a", "INCR a", "INCR a")
	c.want(":1\r\n", ":2\r\n", ":3\r\n", ":4\r\n", ":5\r\n")
	select {
	case <-oneAfterTheOther:
		t.Errorf("five replies took five delays")
	default:
	}
}

func TestLink_aDelayEndsWithItsConnection(t *testing.T) {
	server := redistest.Start(t)
	link, c := greeted(t, server)
	link.Fault("INCR", 1, redistest.Delay(time.Hour))
	c.send("INCR counter")
	eventually(t, "the server counts", func() bool { return server.Do(t, "GET", "counter") == once })
	link.Cut()
	c.wantEnd("", "closed")
}

func TestLink_silenceRunsAndAnswersNothingForGood(t *testing.T) {
	server := redistest.Start(t)
	link, c := greeted(t, server)
	link.Fault("INCR", 1, redistest.Silence())
	c.send("INCR counter", "INCR counter")
	eventually(t, "both run", func() bool { return server.Do(t, "GET", "counter") == "2" })
	c.wantMute()
	link.Heal()
	c.send("INCR counter")
	eventually(t, "the third runs", func() bool { return server.Do(t, "GET", "counter") == "3" })
	c.wantMute()
	server.Kill(t)
	c.wantMute()
	if got := link.Open(); got != 1 {
		t.Errorf("%d connections open, want 1", got)
	}
}

func TestLink_swallowRunsNothingForGood(t *testing.T) {
	server := redistest.Start(t)
	link, c := greeted(t, server)
	link.Fault("INCR", 1, redistest.Swallow())
	c.send("SET before 1", "INCR counter", "SET after 1")
	c.want("+OK\r\n")
	c.wantMute()
	link.Heal()
	c.send("INCR counter")
	c.wantMute()
	if got := server.Do(t, "KEYS", "*").([]any); len(got) != 1 || got[0] != "before" {
		t.Errorf("the server holds %v, want what came before", got)
	}
	if got := link.Forwarded("INCR"); got != 0 {
		t.Errorf("%d forwarded, want none", got)
	}
}

func TestLink_faultsMeetRequestsInTheOrderSet(t *testing.T) {
	server := redistest.Start(t)
	link, c := greeted(t, server)
	link.Fault("INCR", 2, redistest.Pass())
	link.Fault("INCR", 0, redistest.ResetBefore())
	link.Fault("", 1, redistest.Replace([]byte("+ANY\r\n")))
	link.Fault("INCR", -1, redistest.Replace([]byte("+ALL\r\n")))
	c.send("INCR a", "INCR a", "INCR a", "INCR a", "incr a", "PING")
	c.want(":1\r\n", ":2\r\n", "+ANY\r\n", "+ALL\r\n", "+ALL\r\n", "+PONG\r\n")
	link.Heal()
	c.send("INCR a")
	c.want(":6\r\n")
	if incr, all := link.Forwarded("incr"), link.Forwarded(""); incr != 6 || all != 8 {
		t.Errorf("forwarded %d INCR of %d in all, want 6 of 8", incr, all)
	}
}

func TestLink_handshakeFailsOnlyWhenNamed(t *testing.T) {
	server := redistest.Start(t)
	link := redistest.NewLink(t, server.Addr())
	link.Fault("HELLO", 1, redistest.LoseReply())
	c := dial(t, link.Addr())
	c.send(hello)
	c.wantEnd("", "closed")
	second := dial(t, link.Addr())
	second.send(hello, "PING")
	second.frame()
	second.want("+PONG\r\n")
}
