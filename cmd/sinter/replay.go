package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/internal/metamorphic"
	"github.com/sinter-go/sinter/ir"
)

type replayCmd struct {
	File   string `arg:"" help:"A capsule, or a program; \"-\" is standard input."`
	Shrink string `name:"shrink" placeholder:"FILE" help:"Reduce a case that fails as long as it fails, and write the capsule."`
	output
}

// Help is the long help of the command.
func (*replayCmd) Help() string {
	return `Runs the program of a capsule on the interpreter, one operation per kernel, and compares the bits of every
way to run it here: interpreter and each generator of this processor, fused and not, one thread and several.
The exit code is 1 if any differs.`
}

// replayed is the outcome of one way.
type replayed struct {
	Way     string `json:"way"`
	Differs string `json:"differs,omitempty"` // how it is not the reference
}

var errReplay = errors.New("the ways to run the program do not agree")

func (c *replayCmd) Run(e *env) error {
	capsule, err := loadCapsule(e, c.File)
	if err != nil {
		return err
	}
	p, inputs := capsule.Program, capsule.Inputs
	if inputs == nil {
		for _, t := range p.Inputs {
			inputs = append(inputs, make([]byte, t.Bytes()))
		}
	}
	want, err := replayReference.Run(p, inputs)
	if err != nil {
		return err
	}
	var failing *metamorphic.Way
	for _, w := range replayWays() {
		got, err := w.Run(p, inputs)
		r := replayed{Way: w.Name}
		if err != nil {
			r.Differs = err.Error()
		} else {
			r.Differs = metamorphic.Compare(p, want, got)
		}
		if r.Differs != "" && failing == nil {
			failing = &w
		}
		switch {
		case c.JSON:
			e.stdout.object(r)
		case r.Differs == "":
			e.stdout.printf("%-28s equal\n", r.Way)
		default:
			e.stdout.printf("%-28s %s\n", r.Way, r.Differs)
		}
	}
	if failing == nil {
		return nil
	}
	if c.Shrink == "" {
		return errReplay
	}
	small, data := metamorphic.Shrink(p, inputs, func(q *ir.Program, in [][]byte) bool {
		want, err := replayReference.Run(q, in)
		if err != nil || e.ctx.Err() != nil {
			return false
		}
		got, err := failing.Run(q, in)
		return err != nil || metamorphic.Compare(q, want, got) != ""
	})
	out := &fusion.Capsule{Device: capsule.Device, Error: capsule.Error, Program: small, Inputs: data}
	for i := range small.Nodes {
		out.Sites = append(out.Sites, small.Nodes[i].Site.String())
	}
	var b bytes.Buffer
	if _, err := out.WriteTo(&b); err != nil {
		return err
	}
	if err := os.WriteFile(c.Shrink, b.Bytes(), 0o644); err != nil {
		return err
	}
	e.stderr.printf("sinter: %d of %d operations are left in %s\n", len(small.Nodes), len(p.Nodes), c.Shrink)
	return errReplay
}

// replayOpen opens a device for one run.
func replayOpen(g cpu.Generator, threads int, o *fusion.Options) func() (backend.Backend, error) {
	return func() (backend.Backend, error) {
		d, err := cpu.New(cpu.Options{Generator: g, Threads: threads})
		if err != nil {
			return nil, err
		}
		if o == nil {
			return d, nil
		}
		return fusion.New(d, *o), nil
	}
}

var replayReference = metamorphic.Way{Name: "interpreter, one by one", Open: replayOpen(cpu.Interpret, 1, nil), Batch: 1}

// replayWays lists the ways that this processor has. Tests add one that is wrong.
var replayWays = func() []metamorphic.Way {
	var out []metamorphic.Way
	for _, g := range []cpu.Generator{cpu.Interpret, cpu.AVX2, cpu.AVX512} {
		d, err := cpu.New(cpu.Options{Generator: g})
		if err != nil {
			continue // not of this processor
		}
		d.Close()
		for _, threads := range []int{1, 4} {
			out = append(out,
				metamorphic.Way{Name: fmt.Sprintf("%s, %d threads, one by one", g, threads), Open: replayOpen(g, threads, nil)},
				metamorphic.Way{Name: fmt.Sprintf("%s, %d threads, fused", g, threads), Open: replayOpen(g, threads, &fusion.Options{}), Free: true},
				metamorphic.Way{Name: fmt.Sprintf("%s, %d threads, all stored", g, threads), Open: replayOpen(g, threads, &fusion.Options{})})
		}
	}
	return out
}
