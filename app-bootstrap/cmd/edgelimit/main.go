// Command edgelimit runs the rate limiter; see edgelimit help.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9/logging"

	"github.com/edgelimit/edgelimit/app-bootstrap/internal/cli"
)

func main() {
	// net/http's client has no logger but this one, and repeats there what an
	// upstream sent.
	log.SetOutput(io.Discard)
	// What the Redis client has to say beside its errors is in the adapter's words.
	logging.Disable()
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal drains; with the handler released, a second one ends the
	// process at once.
	context.AfterFunc(ctx, release)
	os.Exit(cli.Run(ctx, cli.Process{
		Args: os.Args[1:], Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr,
	}))
}
