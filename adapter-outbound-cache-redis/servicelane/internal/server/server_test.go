package server_test

import (
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
)

func TestStart_keepsItsAddressOverKillAndRestart(t *testing.T) {
	s := server.Start(t)
	s.Do(t, "SET", "a", "1")
	if got := s.Do(t, "GET", "a"); got != "1" {
		t.Fatalf("got %v, want 1", got)
	}
	s.Pause(t)
	s.Resume(t)
	s.Kill(t)
	s.Restart(t)
	if got := s.Do(t, "GET", "a"); got != nil {
		t.Errorf("got %v after SIGKILL without persistence, want nothing", got)
	}
	if got := s.Calls(t, "get"); got != 1 {
		t.Errorf("the new run has counted %d GETs, want 1", got)
	}
}

func TestFind_looksAtTheVariablesInTheirOrder(t *testing.T) {
	t.Setenv(server.AddrVariable, "")
	t.Setenv(server.ImageVariable, "")
	t.Setenv(server.BinaryVariable, "no-such-program")
	if found, err := server.Find(); err == nil {
		t.Errorf("got %v for a program that there is not, want an error", found)
	}
	t.Setenv(server.ImageVariable, "redis:test")
	if found, err := server.Find(); err != nil || found != (server.Source{Image: "redis:test"}) {
		t.Errorf("got %v, %v, want the image", found, err)
	}
	t.Setenv(server.AddrVariable, "127.0.0.1:6379")
	if found, err := server.Find(); err != nil || found != (server.Source{Addr: "127.0.0.1:6379"}) {
		t.Errorf("got %v, %v, want the address", found, err)
	}
}

func TestName_isTheServersOwn(t *testing.T) {
	for info, want := range map[string]string{
		"# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n":                     "redis 7.0.15",
		"# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.1\r\n": "valkey 8.1.1",
		"nothing of the kind": "unknown 0",
	} {
		name, version := server.Name(info)
		if got := name + " " + version; got != want {
			t.Errorf("%q: got %s, want %s", info, got, want)
		}
	}
}
