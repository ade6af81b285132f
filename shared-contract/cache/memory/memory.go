package memory

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/cache"
)

// Config bounds a Cache.
type Config struct {
	// MaxEntries is above 0.
	MaxEntries int

	// MaxBytes is of keys and values together, at least MinBytes.
	MaxBytes int

	// Clock is how long something has been running. It never goes back.
	Clock func() time.Duration
}

// MinBytes is room for the largest entry.
const MinBytes = cache.MaxValueLen + cache.MaxNameLen + cache.MaxRegionLen

// Cache is a CachePort. It has no goroutine: what has expired goes when its key is
// asked for, or as the longest unused. Make one with New.
type Cache struct {
	config Config

	mu      sync.Mutex
	entries map[cache.Key]*list.Element
	used    *list.List // of *kept, the latest used first
	bytes   int
}

type kept struct {
	key   cache.Key
	value []byte
	token cache.Token
	end   time.Duration
}

var _ cache.CachePort = (*Cache)(nil)

// New makes an empty Cache.
func New(c Config) (*Cache, error) {
	if c.MaxEntries < 1 || c.MaxBytes < MinBytes || c.Clock == nil {
		return nil, fmt.Errorf("memory: MaxEntries must be above 0, MaxBytes at least %d, and there must be a Clock", MinBytes)
	}
	return &Cache{config: c, entries: map[cache.Key]*list.Element{}, used: list.New()}, nil
}

// Len is how many entries there are, those included that have expired and were not
// asked for since.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries)
}

// Get implements [cache.CachePort].
func (c *Cache) Get(ctx context.Context, key cache.Key) cache.Reading {
	if cause, refused := refuse(ctx, key.IsZero()); refused {
		return cache.Unavailable{Cause: cause}.Reading()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.config.Clock()
	found := c.find(key, now)
	if found == nil {
		return cache.Miss{}.Reading()
	}
	return cache.Hit{Value: found.value, Token: found.token, TTL: found.end - now}.Reading()
}

// Put implements [cache.CachePort].
func (c *Cache) Put(ctx context.Context, key cache.Key, entry cache.Entry) cache.Writing {
	return c.write(ctx, key, entry, func(*kept) bool { return true })
}

// PutIfAbsent implements [cache.CachePort].
func (c *Cache) PutIfAbsent(ctx context.Context, key cache.Key, entry cache.Entry) cache.Writing {
	return c.write(ctx, key, entry, func(there *kept) bool { return there == nil })
}

// CompareAndReplace implements [cache.CachePort].
func (c *Cache) CompareAndReplace(ctx context.Context, key cache.Key, observed cache.Token, entry cache.Entry) cache.Writing {
	return c.write(ctx, key, entry, func(there *kept) bool { return there != nil && there.token == observed })
}

// Delete implements [cache.CachePort].
func (c *Cache) Delete(ctx context.Context, key cache.Key) cache.Writing {
	if cause, refused := refuse(ctx, key.IsZero()); refused {
		return cache.Unavailable{Cause: cause}.Writing()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if element := c.entries[key]; element != nil {
		c.drop(element)
	}
	return cache.Stored{}.Writing()
}

// write stores entry if what is there, or nil, lets it.
func (c *Cache) write(ctx context.Context, key cache.Key, entry cache.Entry, may func(there *kept) bool) cache.Writing {
	if cause, refused := refuse(ctx, key.IsZero() || entry.IsZero()); refused {
		return cache.Unavailable{Cause: cause}.Writing()
	}
	made := &kept{key: key, value: entry.Value(), token: cache.NewToken()}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.config.Clock()
	if !may(c.find(key, now)) {
		return cache.Conflict{}.Writing()
	}
	if element := c.entries[key]; element != nil {
		c.drop(element)
	}
	made.end = now + entry.TTL()
	c.entries[key] = c.used.PushFront(made)
	c.bytes += made.size()
	for len(c.entries) > c.config.MaxEntries || c.bytes > c.config.MaxBytes {
		c.drop(c.used.Back())
	}
	return cache.Stored{Token: made.token}.Writing()
}

// find is what is under key, the latest used from now on, or nil.
func (c *Cache) find(key cache.Key, now time.Duration) *kept {
	element := c.entries[key]
	if element == nil {
		return nil
	}
	there := element.Value.(*kept)
	if there.end <= now {
		c.drop(element)
		return nil
	}
	c.used.MoveToFront(element)
	return there
}

func (c *Cache) drop(element *list.Element) {
	gone := c.used.Remove(element).(*kept)
	delete(c.entries, gone.key)
	c.bytes -= gone.size()
}

func (k *kept) size() int { return len(k.key.Region()) + len(k.key.Name()) + len(k.value) }

// refuse says why a call is not served.
func refuse(ctx context.Context, zero bool) (cache.Cause, bool) {
	if zero {
		return cache.CauseRequest, true
	}
	if _, finite := ctx.Deadline(); !finite || ctx.Err() != nil {
		return cache.CauseDeadline, true
	}
	return "", false
}
