// Package tally counts what a load saw. Its rule: a request was decided at some
// instant between its beginning and its end, and nobody outside knows when. So a
// count of a window takes only requests that lie in it whole, which is never more
// than the limiter admitted there.
package tally
