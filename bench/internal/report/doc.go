// Package report writes what was found as a page.
package report
