package promises_test

import (
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
)

func vectorsByEachProgram(t *testing.T, at redistest.Witness) {
	s := newScene(t, at)
	steps := programtest.Vectors(t, s.client, s.key(""))
	evidence.Record(t, "steps of the edge vectors, by each algorithm's program", "%d", steps)
}

func vectorsByTheBatch(t *testing.T, at redistest.Witness) {
	s := newScene(t, at)
	steps, together := programtest.BatchVectors(t, s.client, s.key(""))
	evidence.Record(t, "steps of the edge vectors, by the batch program", "%d, of them %d in a batch with one before", steps, together)
}

func vectorsOfTheLogs(t *testing.T, at redistest.Witness) {
	s := newScene(t, at)
	steps := programtest.LogVectors(t, s.client, s.key(""))
	evidence.Record(t, "steps of the log vectors, of one log and of two", "%d", steps)
}
