package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
)

type explainCmd struct {
	File  string `arg:"" help:"A program as text or in wire form, or a capsule; \"-\" is standard input."`
	HTML  string `name:"html" placeholder:"FILE" help:"Write a page with the graph, which needs no network."`
	Off   bool   `name:"unfused" help:"Plan one operation per kernel, to compare."`
	Times bool   `name:"times" help:"Run the program again and show the time of each kernel, by the device's clock."`
	deviceFlags
	output
}

// Help is the long help of the command.
func (*explainCmd) Help() string {
	return `Runs a program once and prints how it was run: the kernels, the operations of each with the user's lines,
bytes read and written, what was not fused and why. With --times the program runs once more, and the
time of each kernel follows. Inputs are zeros, unless the file is a capsule with data.

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
	device, client, err := c.client(fusion.Options{Plan: fusion.PlanOptions{Unfused: c.Off}})
	if err != nil {
		return err
	}
	defer device.Close()
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
	if c.Times && errors.Join(errs...) == nil {
		p, err := device.Profile(e.ctx, func() error {
			_, _, err := client.RunProgram(e.ctx, capsule.Program, capsule.Inputs)
			return err
		})
		if err != nil {
			return err
		}
		if c.JSON {
			e.stdout.object(timesOf(p))
		} else {
			e.stdout.printf("\n%s", p)
		}
	}
	return errors.Join(errs...)
}

// deviceTimes is what --times --json prints.
type deviceTimes struct {
	Event   string        `json:"event"`
	Took    seconds       `json:"seconds"`
	Kernels []kernelTimes `json:"kernels"`
}

type kernelTimes struct {
	Name string  `json:"name"`
	Runs int64   `json:"runs"`
	Took seconds `json:"seconds"`
}

func timesOf(p *sinter.Profile) deviceTimes {
	t := deviceTimes{Event: "times", Took: seconds(p.Time), Kernels: []kernelTimes{}}
	for _, k := range p.Kernels {
		t.Kernels = append(t.Kernels, kernelTimes{k.Name, k.Runs, seconds(k.Time)})
	}
	return t
}

// client opens a device that fuses, of the command's own. The caller closes it.
func (f *deviceFlags) client(o fusion.Options) (*sinter.Device, *fusion.Client, error) {
	if strings.HasPrefix(f.Device, "router/") || !known(f.Device) {
		return nil, nil, usage("--device is %q, expected cpu, interp or a GPU such as cuda:0", f.Device)
	}
	runtime := sinter.NewRuntime(sinter.WithFusionOptions(o))
	d, err := runtime.Device(f.Device)
	if err != nil {
		return nil, nil, err
	}
	b, err := f.special()
	if err != nil {
		d.Close()
		return nil, nil, err
	}
	if b != nil { // the other is opened all the same, which checks the switches of the process
		d.Close()
		d = runtime.Adopt(b)
	}
	c, ok := d.Backend().(*fusion.Client)
	if !ok {
		d.Close()
		return nil, nil, fmt.Errorf("device %s does not fuse", f.Device)
	}
	return d, c, nil
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
