package limiter

// Drop lets the logs of keys go, as an expiry does.
func (l *LocalLimiter) Drop(keys ...string) {
	for _, key := range keys {
		s := l.shardOf(key)
		s.mu.Lock()
		logs := s.stores[kindOf(key)]
		if log, ok := logs.logs.Peek(key); ok {
			logs.logs.Remove(key)
			logs.forget(log)
		}
		s.mu.Unlock()
	}
}

// Calls is what the logs have memory for.
func (l *LocalLimiter) Calls() (n int) {
	for k := range l.budgets {
		n += int(l.budgets[k].calls.Load())
	}
	return n
}

// SameShard tells whether two keys are in one shard.
func (l *LocalLimiter) SameShard(a, b string) bool { return l.shardOf(a) == l.shardOf(b) }
