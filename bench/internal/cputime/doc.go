// Package cputime says where this process spends its CPU while something runs: by
// function, and by what the work is for.
package cputime
