package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/edgelimit/edgelimit/scripts/drill/internal/report"
	"github.com/edgelimit/edgelimit/scripts/drill/internal/source"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "drill:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	root := flag.String("root", "../..", "the repository")
	file := flag.String("report", "../../docs/evidence/outage-drill.md", "the report to write, or to check")
	redis := flag.String("redis", "redis-server", "the server to kill")
	short := flag.Bool("short", false, "shorter windows and phases; not evidence")
	only := flag.String("only", "", "drill only the policies whose name contains this")
	check := flag.Bool("check", false, "check the report and run nothing")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("what is %q?", flag.Arg(0))
	}
	code, err := source.Digest(*root)
	if err != nil {
		return err
	}
	if *check {
		return checkReport(*file, code)
	}

	r, d := full, drill{redis: *redis, longer: 1}
	if *short {
		r, d.longer = quick, 0
	}
	r.Date = time.Now().UTC().Format("2006-01-02 15:04 UTC")
	r.Code = code
	r.Command = command(*short, *only)
	r.Machine = fmt.Sprintf("%s/%s, %d CPUs, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	if d.folder, err = os.MkdirTemp("", "outage-drill-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(d.folder) }()
	if d.program, err = build(ctx, *root, d.folder); err != nil {
		return err
	}
	if now, err := source.Digest(*root); err != nil || now != code {
		return errors.Join(errors.New("the code changed while it was built: run the drill again"), err)
	}
	if err := d.play(ctx, &r, *only); err != nil {
		return err
	}
	text := r.Text()
	if broken := r.Broken(); len(broken) > 0 {
		return fmt.Errorf("%s\n\n%s", text, strings.Join(broken, "\n"))
	}
	for _, s := range r.Scenarios {
		fmt.Println(s.Risk(r))
	}
	if err := os.MkdirAll(filepath.Dir(*file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(*file, []byte(text), 0o644)
}

func command(short bool, only string) string {
	line := "scripts/outage-drill.sh"
	if short {
		line += " -short"
	}
	if only != "" {
		line += fmt.Sprintf(" -only %q", only)
	}
	return line
}

// build makes the program under drill, and a copy that no other build replaces.
func build(ctx context.Context, root, folder string) (string, error) {
	out, err := exec.CommandContext(ctx, "make", "-s", "-C", root, "build").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("make build: %w\n%s", err, out)
	}
	program, err := os.ReadFile(filepath.Join(root, "bin", "edgelimit"))
	if err != nil {
		return "", err
	}
	copied := filepath.Join(folder, "edgelimit")
	return copied, os.WriteFile(copied, program, 0o700)
}

func checkReport(file, code string) error {
	text, err := os.ReadFile(file)
	if err == nil {
		err = report.Check(string(text), code)
	}
	if err != nil {
		return fmt.Errorf("%s is no report to release with:\n%w\nthe fix: make drill", file, err)
	}
	return nil
}
