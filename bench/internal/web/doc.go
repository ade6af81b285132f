// Package web measures the gateway from outside: wrk asks the built program, once
// with limiting and once without, in front of one upstream.
package web
