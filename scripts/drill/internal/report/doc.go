// Package report is the page that a drill leaves: figures, what they say of the
// accepted risk, and what was checked. The page is a function of its figures.
// Read takes them from its tables and Check writes the page again, so a sentence
// that disagrees with a table, and a figure that no run gave a sentence for, are
// found.
package report
