// Package vectors holds timelines with exact expected answers: the law for
// every implementation, the reference models and each Redis program. They were
// computed by an independent integer model of arbitrary precision and are never
// regenerated from this project's code.
//
// The one rule that matters: an unknown key or value in a vector file is an
// error, never passed over.
//
// All reads the embedded files, or the folder that the environment variable
// EDGELIMIT_VECTORS names, in which an absent file counts as empty. Read reads
// any other folder.
package vectors
