package server_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/bench/internal/server"
)

func TestBill_tellsCommandsAndTheScriptsAroundThem(t *testing.T) {
	s, err := server.Start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	client := redis.NewClient(&redis.Options{Addr: s.Addr()})
	defer func() { _ = client.Close() }()
	before, err := s.Bill(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const loop = `for i = 1, 2000 do redis.call('INCR', KEYS[1]) end return 1`
	for range 3 {
		if err := client.Eval(context.Background(), loop, []string{"n"}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	after, err := s.Bill(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bill := after.Since(before)
	if got := bill["eval"].Calls; got != 3 {
		t.Errorf("%d scripts, want 3", got)
	}
	if got := bill["incr"].Calls; got != 6000 {
		t.Errorf("%d commands within them, want 6000", got)
	}
	if whole, within := bill.Scripts(), bill["incr"].Time; within <= 0 || whole <= within {
		t.Errorf("scripts took %v, their commands %v; want more, and more than nothing", whole, within)
	}
	if _, there := bill["flushall"]; there {
		t.Error("a command that nobody gave is in the bill")
	}
}

func TestBill_tellsWhatScriptsGave(t *testing.T) {
	bill := server.Bill{"get": {Calls: 1, Time: time.Second}, "set": {Calls: 1, Time: time.Minute}, "evalsha": {Calls: 1, Time: time.Hour}, "info": {Calls: 2, Time: time.Hour}}
	if got, want := bill.Given(), time.Minute+time.Second; got != want {
		t.Errorf("scripts' commands took %v, want %v", got, want)
	}
	if got := bill.Within(); len(got) != 2 || len(bill) != 4 {
		t.Errorf("scripts gave %v of %v, want two of four", got, bill)
	}
	if got := bill.Scripts(); got != time.Hour {
		t.Errorf("scripts took %v, want 1h", got)
	}
}
