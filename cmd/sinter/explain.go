package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
)

type explainCmd struct {
	File string `arg:"" help:"A program as text or in wire form, or a capsule; \"-\" is standard input."`
	HTML string `name:"html" placeholder:"FILE" help:"Write a page with the graph, which needs no network."`
	Off  bool   `name:"unfused" help:"Plan one operation per kernel, to compare."`
	deviceFlags
	output
}

// Help is the long help of the command.
func (*explainCmd) Help() string {
	return `Runs a program once and prints how it was run: the kernels, the operations of each with the user's lines,
bytes read and written, what was not fused and why. Inputs are zeros, unless the file is a capsule with data.

A program is text such as

  program p
    in %1 f32[8,4]
    %2 = exp %1
    %3 = sum %2 {axes=[1]}
    out %3`
}

func (c *explainCmd) Run(e *env) error {
	capsule, err := loadCapsule(e, c.File)
	if err != nil {
		return err
	}
	client, done, err := c.client(fusion.Options{Plan: fusion.PlanOptions{Unfused: c.Off}})
	if err != nil {
		return err
	}
	defer done()
	var plans []fusion.Explanation
	stop := client.Inspect(func(r fusion.Run) { plans = append(plans, r.Explain()) })
	_, errs, err := client.RunProgram(e.ctx, capsule.Program, capsule.Inputs)
	stop()
	if err != nil {
		return err
	}
	if c.HTML != "" {
		if err := writePlans(c.HTML, plans); err != nil {
			return err
		}
	}
	for _, p := range plans {
		if c.JSON {
			e.stdout.object(p)
		} else {
			e.stdout.printf("%s", p)
		}
	}
	return errors.Join(errs...)
}

// client opens a device that fuses, of the command's own.
func (f *deviceFlags) client(o fusion.Options) (*fusion.Client, func(), error) {
	opt := cpu.Options{ID: f.Device}
	switch f.Device {
	case "cpu":
	case "interp":
		opt.Generator = cpu.Interpret
	default:
		return nil, nil, usage("--device is %q, expected cpu or interp", f.Device)
	}
	if f.Threads != nil {
		if *f.Threads < 1 || *f.Threads > maxThreads {
			return nil, nil, usage("--threads is %d, expected 1 to %d", *f.Threads, maxThreads)
		}
		opt.Threads = *f.Threads
	}
	d, err := cpu.New(opt)
	if err != nil {
		return nil, nil, err
	}
	var b backend.Backend = d
	c := fusion.New(b, o)
	return c, func() { c.Close() }, nil
}

// maxProgram bounds the files that are read.
const maxProgram = 1 << 30

// loadCapsule reads a capsule, or a program as a capsule without data.
func loadCapsule(e *env, file string) (*fusion.Capsule, error) {
	var r io.Reader = e.stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	b, err := io.ReadAll(io.LimitReader(r, maxProgram+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxProgram {
		return nil, fmt.Errorf("%s is larger than %d bytes", file, maxProgram)
	}
	switch {
	case bytes.HasPrefix(b, []byte("sinter capsule ")):
		return fusion.ReadCapsule(bytes.NewReader(b), nil)
	case bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n#"), []byte("program")):
		p, err := ir.ParseProgram(string(b), nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return &fusion.Capsule{Program: p}, nil
	}
	p, err := ir.DecodeWire(b, nil)
	if err != nil {
		return nil, fmt.Errorf("%s is neither a capsule nor a program as text, and as wire form: %w", file, err)
	}
	return &fusion.Capsule{Program: p}, nil
}

// writePlans writes the page of explanations.
func writePlans(file string, plans []fusion.Explanation) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	err = fusion.WriteHTML(f, plans)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
