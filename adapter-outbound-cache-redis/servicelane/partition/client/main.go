// Command client asks a provider from within a container, on orders that it reads from standard input.
package main

import (
	"fmt"
	"os"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/caller"
)

func main() {
	if err := caller.Serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
