// Package compose joins the modules into the running program. It is the only
// place where the adapters meet.
//
// The one rule that matters: rate limiting that is off is absent. There is then
// no connection, no goroutine, no port and no route that always allows.
package compose
