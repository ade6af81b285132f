package cputime

import (
	"slices"
	"strings"
)

// Part is what CPU time is for.
type Part string

// The parts.
const (
	Write      Part = "system calls: write"
	Read       Part = "system calls: read"
	Look       Part = "system calls: is the connection still good"
	Wait       Part = "system calls: wait for the network (epoll)"
	Schedule   Part = "the runtime's scheduler, locks and wake-ups"
	Memory     Part = "allocation and garbage collection"
	Clock      Part = "clocks, timers and deadlines"
	Key        Part = "limiter: the key (HMAC)"
	Encode     Part = "limiter: commands out, replies in"
	Carry      Part = "limiter: lines, groups, breaker"
	Port       Part = "limiter: the port around them"
	Library    Part = "the peer's libraries"
	Benchmark  Part = "the benchmark's own loop"
	Unassigned Part = "the rest"
)

// Parts is all of them, in the order of a table.
func Parts() []Part {
	return []Part{Write, Read, Look, Wait, Schedule, Memory, Clock, Key, Encode, Carry, Port, Library, Benchmark, Unassigned}
}

// rule assigns a stack that has one of the functions on it, each a part of a name.
type rule struct {
	part      Part
	functions []string
}

// rules are tried in this order, on the whole stack: what a socket takes is the
// socket's whoever asked for it.
var rules = []rule{
	{Write, []string{"internal/poll.(*FD).Write"}},
	{Look, []string{"syscall.Recvfrom", "internal/poll.(*FD).RawRead", "internal/poll.(*FD).RawControl"}},
	{Read, []string{"internal/poll.(*FD).Read"}},
	{Wait, []string{"runtime.netpoll"}},
	{Memory, []string{"runtime.mallocgc", "runtime.gcBgMarkWorker", "runtime.gcStart", "runtime.bgsweep", "runtime.bgscavenge", "runtime.gcAssistAlloc", "runtime.gcWriteBarrier", "runtime.wbBufFlush"}},
	{Clock, []string{"time.Now", "time.runtimeNow", "runtime.nanotime", "time.Since", "time.Until", "internal/poll.setDeadlineImpl", "runtime.(*timer", "runtime.resetForSleep", "time.(*Timer)", "context.AfterFunc", "context.WithDeadline", "context.WithTimeout"}},
	{Schedule, []string{
		"runtime.mcall", "runtime.schedule", "runtime.findRunnable", "runtime.mstart", "runtime.sysmon", "runtime.gopark", "runtime.goready", "runtime.ready", "runtime.newproc", "runtime.goexit0",
		"runtime.chansend", "runtime.chanrecv", "runtime.selectgo", "runtime.selectnb", "runtime.closechan", "runtime.futex", "runtime.lock2", "runtime.unlock2",
		"sync.(*Mutex)", "sync.(*RWMutex)", "sync.(*Cond)", "internal/sync.(*Mutex)", "runtime.entersyscall", "runtime.exitsyscall", "runtime.morestack", "runtime.asyncPreempt",
	}},
	{Key, []string{adapter + "internal/key."}},
	{Encode, []string{adapter + "internal/reply.", adapter + "coordination.(*group)"}},
	{Carry, []string{adapter + "coordination.", adapter + "internal/executor.", adapter + "internal/certainty.", "sony/gobreaker"}},
	{Port, []string{adapter, module + "shared-contract/"}},
	{Library, []string{"redis/go-redis", "go-redis/redis_rate", "redis/rueidis"}},
	{Benchmark, []string{module + "bench/"}},
}

const (
	module  = "github.com/edgelimit/edgelimit/"
	adapter = module + "adapter-outbound-cache-redis/"
)

// PartOf is the part of a stack, whose first function is the one that ran.
func PartOf(stack []string) Part {
	for _, r := range rules {
		for _, function := range r.functions {
			if slices.ContainsFunc(stack, func(name string) bool { return strings.Contains(name, function) }) {
				return r.part
			}
		}
	}
	return Unassigned
}

// ownName is a function's name without the module's, if it is of this repository and
// not of the benchmark.
func ownName(name string) (string, bool) {
	if !strings.HasPrefix(name, module) || strings.HasPrefix(name, module+"bench/") {
		return "", false
	}
	return shortened(name), true
}

func shortened(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, adapter), module)
}
