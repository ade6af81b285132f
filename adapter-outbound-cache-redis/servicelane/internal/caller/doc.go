// Package caller is a client in a container of its own: a provider, and a test that gives it orders, one line of JSON
// each, over standard input, and reads one line of answer to each from standard output.
//
// The one rule that matters: every moment is by the caller's own clock. What happens outside is put into its account by
// a [Order] that marks it, so no two clocks are ever compared.
package caller
