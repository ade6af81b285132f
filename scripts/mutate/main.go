package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	listed := flag.String("list", "../mutants.txt", "the list of mutants")
	root := flag.String("root", "../..", "the repository")
	only := flag.String("only", "", "run only the mutants whose sentence contains this")
	part := flag.Int("part", -1, "run only every sixteenth mutant, from the one of this number modulo sixteen, and take for granted that the code as it is passes")
	workers := flag.Int("workers", 2, "how many are tested at once")
	flag.Parse()

	content, err := os.ReadFile(*listed)
	if err != nil {
		return fmt.Errorf("read the list: %w", err)
	}
	mutants, err := parse(string(content))
	if err != nil {
		return fmt.Errorf("%s: %w", *listed, err)
	}
	var chosen []mutant
	for i, m := range mutants {
		if strings.Contains(m.sentence, *only) && (*part < 0 || i%16 == *part%16) {
			chosen = append(chosen, m)
		}
	}
	if len(chosen) == 0 {
		return errors.New("no mutant is chosen")
	}
	if err := check(*root, mutants); err != nil { // of all: a text that is gone is found by any part
		return err
	}

	jobs := chosen
	if *part < 0 {
		jobs = append(baselines(chosen), chosen...)
	}
	results := make([]result, len(jobs))
	next := make(chan int)
	var all sync.WaitGroup
	for range *workers {
		all.Go(func() {
			for i := range next {
				results[i] = jobs[i].try(ctx, *root)
			}
		})
	}
	for i := range jobs {
		next <- i
	}
	close(next)
	all.Wait()
	return report(jobs, results, len(jobs)-len(chosen))
}

// baselines are the code as it is, once for each selection of tests.
func baselines(mutants []mutant) []mutant {
	var found []mutant
	seen := map[string]bool{}
	for _, m := range mutants {
		if key := m.tests.String(); !seen[key] {
			seen[key] = true
			found = append(found, mutant{sentence: "the code as it is passes " + m.tests.name, tests: m.tests})
		}
	}
	return found
}

// report prints a line for each job, and the score; the first so many jobs must
// pass and the others must fail.
func report(jobs []mutant, results []result, mustPass int) error {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	var bad []error
	killed := 0
	for i, r := range results {
		verdict := r.verdict
		switch {
		case i < mustPass && verdict == survived:
			verdict = "passes"
		case i < mustPass:
			bad = append(bad, fmt.Errorf("%s: it does not (%s)\n%s", jobs[i].sentence, r.verdict, r.output))
		case verdict == dead:
			killed++
		default:
			bad = append(bad, fmt.Errorf("%s (%s): %s\n%s", jobs[i].sentence, jobs[i].file, r.verdict, r.output))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", verdict, r.took.Round(100*time.Millisecond), jobs[i].sentence, r.killer)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Printf("%d of %d mutants killed\n", killed, len(jobs)-mustPass)
	return errors.Join(bad...)
}
