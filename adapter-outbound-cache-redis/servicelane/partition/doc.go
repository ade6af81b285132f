// Package partition is the suite of networks that are cut in two: a master from its replica, and one master of a Redis
// Cluster of six from the rest, for 8 s, with a client on each side.
//
// The one rule that matters: what was admitted of each key is counted on both sides and held to the bound that is
// promised, limit x (1 + histories lost or side by side), and what was not parted stays exact. How much of the bound was
// used, and how long who was without service, is evidence and nothing that is promised.
//
// Servers and clients are containers on private networks, and a cut takes a container off one. Servers speak with each
// other on the network between; each side has one more for its clients, where they find servers by name. So
//
//	left:    old master, left client
//	between: old master | the other servers
//	right:   the other servers, right client
//
// is cut by one container's leaving of the network between, and the client on the left still reaches the old master.
// The test itself is on none of these networks: it speaks with a client over its standard input and output, and with a
// server through the client on its side.
//
// It needs a container engine on Linux, and fails without one.
package partition
