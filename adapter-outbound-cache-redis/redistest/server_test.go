package redistest_test

import (
	"fmt"
	"io"
	"net"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

func TestServer_doGivesEachTypeOfReply(t *testing.T) {
	server := redistest.Start(t)
	for _, row := range []struct {
		command string
		want    any
	}{
		{"SET key value", "OK"},
		{"GET key", "value"},
		{"GET nothing", nil},
		{"INCR counter", int64(1)},
		{"MGET key nothing counter", []any{"value", nil, "1"}},
		{"LPOP nothing 2", nil},
		{"INCR key", redistest.ServerError("ERR value is not an integer or out of range")},
		{"KEYS none*", []any{}},
	} {
		if got := server.Do(t, strings.Fields(row.command)...); !reflect.DeepEqual(got, row.want) {
			t.Errorf("%s: %#v, want %#v", row.command, got, row.want)
		}
	}
}

func TestServer_callsCountsWhatRan(t *testing.T) {
	server := redistest.Start(t)
	if got := server.Calls(t, "incr"); got != 0 {
		t.Errorf("%d calls before the first, want 0", got)
	}
	server.Do(t, "INCR", "a")
	server.Do(t, "EVAL", "return redis.call('INCR', KEYS[1])", "1", "a")
	server.Do(t, "SCRIPT", "LOAD", "return 1")
	if got := server.Calls(t, "INCR"); got != 2 {
		t.Errorf("%d calls, want 2", got)
	}
	if got := server.Calls(t, "script|load"); got != 1 {
		t.Errorf("%d calls of a subcommand, want 1", got)
	}
}

func TestServer_restartKeepsTheAddressAndNotTheData(t *testing.T) {
	server := redistest.Start(t)
	addr := server.Addr()
	server.Do(t, "SET", "key", "value")
	server.Kill(t)
	server.Kill(t)
	wantRefused(t, addr)
	server.Restart(t)
	if server.Addr() != addr {
		t.Errorf("restarted at %s, want %s", server.Addr(), addr)
	}
	if got := server.Do(t, "GET", "key"); got != nil {
		t.Errorf("the key survived as %v", got)
	}
}

func TestServer_restartOfOneThatRunsKeepsWhatDirectivesSave(t *testing.T) {
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	server.Do(t, "SET", "key", "value")
	server.Restart(t)
	if got := server.Do(t, "GET", "key"); got != "value" {
		t.Errorf("the key came back as %v, want value", got)
	}
}

func TestServer_pauseStandsStillUntilResumed(t *testing.T) {
	server := redistest.Start(t)
	c := dial(t, server.Addr())
	server.Pause(t)
	c.send("PING")
	c.wantMute()
	server.Resume(t)
	c.want("+PONG\r\n")
	server.Pause(t)
}

func TestServer_directives(t *testing.T) {
	server := redistest.Start(t, "--maxmemory", "3mb", "--requirepass", "secret")
	if got := server.Do(t, "CONFIG", "GET", "maxmemory"); !reflect.DeepEqual(got, []any{"maxmemory", "3145728"}) {
		t.Errorf("maxmemory is %v", got)
	}
	c := dial(t, server.Addr())
	c.send("PING")
	c.want("-NOAUTH Authentication required.\r\n")
}

func TestAbsent_startsLater(t *testing.T) {
	server := redistest.Absent(t, "--maxclients", "50")
	wantRefused(t, server.Addr())
	server.Restart(t)
	if got := server.Do(t, "CONFIG", "GET", "maxclients"); !reflect.DeepEqual(got, []any{"maxclients", "50"}) {
		t.Errorf("maxclients is %v", got)
	}
}

func TestServer_saysWhyItCannotRun(t *testing.T) {
	for _, row := range []struct {
		name string
		fail func(t *testing.T, tb testing.TB)
		want string
	}{
		{"no binary", func(t *testing.T, tb testing.TB) {
			t.Setenv(redistest.ServerVariable, "/nowhere/redis-server")
			redistest.Start(tb)
		}, "/nowhere/redis-server is no program here: install one, or name one by EDGELIMIT_REDIS_SERVER"},
		{"a directive it does not know", func(_ *testing.T, tb testing.TB) {
			redistest.Start(tb, "--nonsense", "1")
		}, "ended before it answered PING"},
		{"a stranger on its port", func(t *testing.T, tb testing.TB) {
			server := redistest.Absent(tb)
			stranger, err := net.Listen("tcp", server.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = stranger.Close() }()
			server.Restart(tb)
		}, "another process took the port"},
		{"a stranger on its port that answers like it", func(t *testing.T, tb testing.TB) {
			other := redistest.Start(t)
			server := redistest.Absent(tb)
			relay(t, server.Addr(), other.Addr())
			server.Restart(tb)
		}, "another process took the port"},
		{"pausing what does not run", func(_ *testing.T, tb testing.TB) {
			redistest.Absent(tb).Pause(tb)
		}, "it is not running"},
	} {
		t.Run(row.name, func(t *testing.T) {
			tb := &failing{TB: t}
			done := make(chan struct{})
			go func() {
				defer close(done)
				row.fail(t, tb)
			}()
			<-done
			if !strings.Contains(tb.message, row.want) {
				t.Errorf("failed with %q, want %q", tb.message, row.want)
			}
		})
	}
}

// failing keeps the message of a fatal failure from the test around it.
type failing struct {
	testing.TB
	message string
}

func (f *failing) Fatal(args ...any) {
	f.message = fmt.Sprint(args...)
	runtime.Goexit()
}

func (f *failing) Fatalf(format string, args ...any) { f.Fatal(fmt.Sprintf(format, args...)) }

// relay listens on from and passes everything on to another address.
func relay(t *testing.T, from, to string) {
	t.Helper()
	listener, err := net.Listen("tcp", from)
	if err != nil {
		t.Error(err)
		return
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = client.Close() }()
				server, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				go func() {
					_, _ = io.Copy(server, client)
					_ = server.Close()
				}()
				_, _ = io.Copy(client, server)
			}()
		}
	}()
}
