package limiter

import "time"

// sweepGrace is how long a log stays after its last call has stopped counting.
const sweepGrace = time.Second

// Sweep frees the memory of keys of which nothing has counted for a second. With
// the default clock it happens by itself, once a window while there are keys, also
// without traffic; with another it is for the owner of the clock to call. It
// changes no answer, unless the clock steps back afterwards.
func (l *LocalLimiter) Sweep() {
	for i := range l.shards {
		l.shards[i].sweep(l.window, l.clock)
	}
}

// Keys is how many keys of all kinds there are.
func (l *LocalLimiter) Keys() (n int) {
	for k := range l.budgets {
		n += int(l.budgets[k].keys.Load())
	}
	return n
}

// settle keeps the bounds after a call that may have added a key or memory, and
// sees to it that there is a timer while there are keys.
func (l *LocalLimiter) settle() {
	for k := range l.budgets {
		if b := &l.budgets[k]; b.overKeys() || b.overCalls() {
			l.relieve(kind(k), b)
		}
	}
	if l.ages && !l.sweeping.Load() && l.sweeping.CompareAndSwap(false, true) {
		time.AfterFunc(l.window+sweepGrace, l.onTimer)
	}
}

// relieve goes round the shards, one lock at a time, until there is room, or none
// of them can give.
func (l *LocalLimiter) relieve(k kind, b *budget) {
	shards := uint64(len(l.shards))
	for spared := uint64(0); spared < shards && (b.overKeys() || b.overCalls()); {
		if l.shards[b.next.Load()%shards].relieve(k) {
			spared = 0
		} else {
			spared++
		}
		b.next.Add(1)
	}
}

// onTimer looks for keys once more after it has given up the timer: a call that
// added one before has seen it, and set none.
func (l *LocalLimiter) onTimer() {
	l.Sweep()
	l.sweeping.Store(false)
	if l.Keys() > 0 {
		l.settle()
	}
}
