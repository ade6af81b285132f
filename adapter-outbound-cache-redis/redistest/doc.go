// Package redistest gives a test a redis-server of its own and a TCP link to it that fails on command.
//
// The one rule that matters: the server is the witness. A client that lost a reply cannot say whether its command
// ran; [Server.Do] and [Server.Calls] can, because they never pass through the link.
//
//	server := redistest.Start(t)
//	link := redistest.NewLink(t, server.Addr())
//	link.Fault("EVALSHA", 1, redistest.LoseReply())
//	// ... use link.Addr() once through the client under test ...
//	if got := server.Calls(t, "evalsha"); got != 1 {
//		t.Errorf("the server ran %d scripts, want 1", got)
//	}
//
// A Link reads requests and replies as frames, so a [Fault] meets the one command that it names and leaves the
// handshake of the connection alone, unless it names HELLO.
//
// Everything stops at the cleanup of the test that started it; no process and no goroutine is left. The server needs
// redis-server 7.0 or later, or valkey-server, on the PATH, or named by the environment variable EDGELIMIT_REDIS_SERVER.
//
// Read [Server] for the processes, [Link] for the network, and [Fault] for what can happen to one command; [Cluster] for
// a Redis Cluster of six processes, and [FakeCluster] for nodes that answer what a test says.
package redistest
