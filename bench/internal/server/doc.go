// Package server runs the Redis that everything is measured on, and reads what it
// counts: a redis-server of its own on a free loopback port, which keeps nothing on
// disk and ends with the program.
package server
