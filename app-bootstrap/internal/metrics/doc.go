// Package metrics shows the rate limiter to Prometheus.
//
// The one rule that matters: labels are bounded. A policy is one of the
// catalogue's or "unknown"; no subject, address, route or error text is a label.
package metrics
