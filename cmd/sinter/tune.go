package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/cpu/tune"
	"github.com/sinter-go/sinter/ir"
)

type tuneCmd struct {
	Threads  []int    `name:"threads" placeholder:"N,..." help:"Threads of devices to tune for. (default: one per processor)"`
	Choices  []string `name:"choices" placeholder:"NAME,..." help:"What to measure, as --list shows it. (default: all)"`
	Products []string `name:"products" placeholder:"MxNxK,..." help:"Products of matrices to choose blocks for. (default: some common ones)"`
	Rounds   int      `name:"rounds" default:"5" placeholder:"N" help:"Rounds in which the candidates take turns. (default ${default})"`
	List     bool     `name:"list" help:"Show what there is to choose, and the file; measure nothing."`
	DryRun   bool     `name:"dry-run" help:"Do not save."`
	output
}

// Help is the long help of the command.
func (*tuneCmd) Help() string {
	return `Measures block sizes, thresholds and waiting times on this machine and saves the ranking in the user's
cache folder, for this processor and version. Programs follow it from then on; their answers do not
depend on it. SINTER_TUNE=off makes a program ignore it, SINTER_TUNE=idle has devices also measure the
products that they meet while they are idle. Close other programs first.`
}

// tuned is a ranking as it is printed.
type tuned struct {
	Choice  string          `json:"choice"`
	Bucket  string          `json:"bucket,omitempty"`
	Ranking []tune.Measured `json:"ranking"`
}

func (c *tuneCmd) Run(e *env) error {
	o := cpu.TuneOptions{Choices: c.Choices, Rounds: c.Rounds, Note: func(choice, bucket string, r []tune.Measured) { c.print(e.stdout, tuned{choice, bucket, r}) }}
	if c.Rounds < 1 || c.Rounds > 1000 {
		return usage("--rounds is %d, expected 1 to 1000", c.Rounds)
	}
	for _, p := range c.Products {
		s, err := parseProduct(p)
		if err != nil {
			return err
		}
		o.Products = append(o.Products, s)
	}
	if c.Threads == nil {
		c.Threads = []int{0}
	}
	for _, n := range c.Threads {
		if n < 0 || n > maxThreads || n == 0 && len(c.Threads) > 1 {
			return usage("--threads is %d, expected 1 to %d", n, maxThreads)
		}
	}
	for _, n := range c.Threads {
		if err := c.tune(e, n, o); err != nil {
			return err
		}
	}
	return nil
}

// tune tunes a device with so many threads.
func (c *tuneCmd) tune(e *env, threads int, o cpu.TuneOptions) error {
	d, err := cpu.New(cpu.Options{Threads: threads})
	if err != nil {
		return err
	}
	defer d.Close()
	if warning := d.Info().Extra["tuning"]; warning != "" {
		e.stderr.printf("%s\n", warning)
	}
	table := d.TuningTable()
	if c.List {
		for _, name := range cpu.Choices() {
			e.stdout.printf("%s\n", name)
		}
		e.stdout.printf("in %s\n", table.Path())
		return nil
	}
	if err := d.Tune(e.ctx, o); errors.Is(err, ir.ErrArgument) {
		return usage("%v", err)
	} else if err != nil {
		return err
	}
	if c.DryRun {
		return nil
	}
	if table.Path() == "" {
		e.stderr.printf("nothing was saved: SINTER_TUNE=off, or there is no cache folder\n")
		return nil
	}
	if err := table.Save(); err != nil {
		return err
	}
	if !c.JSON {
		e.stdout.printf("saved in %s\n", table.Path())
	}
	return nil
}

func (c *tuneCmd) print(out *console, t tuned) {
	if c.JSON {
		out.object(t)
		return
	}
	out.printf("%s", t.Choice)
	if t.Bucket != "" {
		out.printf(", %s", t.Bucket)
	}
	out.printf(":\n")
	for _, m := range t.Ranking {
		if m.Skipped != "" {
			out.printf("  %-16s %s: %s\n", m.Candidate, m.Skipped, m.Detail)
		} else {
			out.printf("  %-16s %.2f\n", m.Candidate, m.NS/t.Ranking[0].NS)
		}
	}
}

// parseProduct reads "512x128x64".
func parseProduct(s string) (out [3]int64, err error) {
	words := strings.Split(s, "x")
	if len(words) != 3 {
		return out, usage("--products is %q, expected MxNxK", s)
	}
	for i, w := range words {
		if out[i], err = strconv.ParseInt(w, 10, 32); err != nil || out[i] < 1 {
			return out, usage("--products is %q, expected MxNxK, positive numbers", s)
		}
	}
	return out, nil
}
