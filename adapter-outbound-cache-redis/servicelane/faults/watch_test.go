package faults_test

import (
	"runtime"
	"runtime/metrics"
	"time"
)

const watchEvery = 2 * time.Millisecond

// memory is the bytes of objects and stacks, without what nobody holds.
func memory() uint64 {
	runtime.GC()
	runtime.GC() // what is pooled lives on for one
	return inUse()
}

// inUse is memory with what is not collected yet.
func inUse() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() + samples[1].Value.Uint64()
}

// watch looks at this process from time to time and keeps the most that it has seen.
type watch struct {
	stop, stopped chan struct{}
	base          int
	routines      int
	bytes         uint64
}

// beginWatch counts goroutines beyond those that there are now.
func beginWatch() *watch {
	w := &watch{stop: make(chan struct{}), stopped: make(chan struct{}), base: runtime.NumGoroutine() + 1}
	go w.look()
	return w
}

func (w *watch) look() {
	defer close(w.stopped)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		w.routines, w.bytes = max(w.routines, runtime.NumGoroutine()-w.base), max(w.bytes, inUse())
		select {
		case <-tick.C:
		case <-w.stop:
			return
		}
	}
}

// end answers the most goroutines beside those at the beginning, and the most bytes.
func (w *watch) end() (routines int, bytes uint64) {
	close(w.stop)
	<-w.stopped
	return w.routines, w.bytes
}
