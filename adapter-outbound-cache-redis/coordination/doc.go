// Package coordination is the dedicated connection to the Redis that counts.
// It owns its connections one by one, and therefore knows of each call whether a
// byte of it was written: no error value has to be interpreted for that, and no
// retry exists below the port.
//
// The one rule that matters: a connection takes no evaluation before its server
// has passed the version and rights check of this client.
//
// Read config.go for what a client needs, dispatch.go for the path of one call,
// pool.go for who may call, lane.go and group.go for how calls share a connection,
// monitor.go for health, and cluster.go for a Redis Cluster, which is one client a
// master.
package coordination
