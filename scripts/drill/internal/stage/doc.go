// Package stage is what a drill is played on: a redis-server that dies and comes
// back, gateways, an upstream and a steady load, all on loopback. Whatever it
// starts ends with this process at the latest.
package stage
