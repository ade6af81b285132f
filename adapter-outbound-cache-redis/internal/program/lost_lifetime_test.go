package program_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
	"github.com/edgelimit/edgelimit/shared-contract/model"
)

// A state that lost its lifetime denies as any other and is left as it is; whoever
// comes when it says is admitted, and it has a lifetime again.
func TestLifetime_aStateWithoutOneDeniesNobodyForEver(t *testing.T) {
	servers(t, func(t *testing.T, client *redis.Client) {
		for _, p := range programtest.Ordinary(t) {
			b := programtest.Bed{T: t, Client: client, Key: "full " + string(p.Algorithm().Name())}
			programtest.Plant(t, client, b.Key, programtest.UsedFields(p, programtest.StateNowMillis)...)
			before := programtest.Content(t, client, b.Key)
			denied := b.Evaluate(p, programtest.StateNowMillis, 1)
			if after := programtest.Content(t, client, b.Key); denied.Reply.Status != model.Denied || denied.TTLMillis != 0 || after != before {
				t.Errorf("%s: got %+v and left %s, was %s", p.Algorithm().Name(), denied, after, before)
			}
			later := b.Evaluate(p, programtest.StateNowMillis+denied.Reply.RetryAfterMillis, 1)
			if later.Reply.Status != model.Allowed || later.TTLMillis <= 0 {
				t.Errorf("%s: got %+v when it said, with the lifetime %d", p.Algorithm().Name(), later.Reply, later.TTLMillis)
			}
		}
	})
}

func TestLog_withoutALifetimeDeniesNobodyForEver(t *testing.T) {
	servers(t, func(t *testing.T, client *redis.Client) {
		keys, limits := []string{"outer", "inner"}, []int64{1, 1}
		for _, key := range keys {
			programtest.PlantLog(t, client, key, programtest.LogNow)
			client.Persist(context.Background(), key)
		}
		denied := programtest.CallLog(t, client, keys, programtest.LogNow, programtest.LogWindow, limits)
		if denied.Status != model.Denied || denied.TTLs[0] != 0 || denied.TTLs[1] != 0 {
			t.Errorf("got %+v, want a denial that gives no lifetime", denied)
		}
		later := programtest.CallLog(t, client, keys, programtest.LogNow+denied.Numbers[2]*1000, programtest.LogWindow, limits)
		if later.Status != model.Allowed || later.TTLs[0] <= 0 || later.TTLs[1] <= 0 {
			t.Errorf("got %+v when it said, want an allow that gives both a lifetime", later)
		}
	})
}
