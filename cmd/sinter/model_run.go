package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/onnx"
)

type runCmd struct {
	modelFlags
	inputFlags
	outputFlags
	Explain bool `name:"explain" help:"Show what the run did: operators, where they ran, and the plans of its launches."`
	Profile bool `name:"profile" help:"Show the time of a run and of each kind of operator; each node is waited for."`
	Runs    int  `name:"runs" default:"10" placeholder:"N" help:"Runs that --profile times. (default ${default})"`
	output
}

// Help is the long help of the command.
func (*runCmd) Help() string {
	return inputHelp + `

Without --output a summary of each output goes to standard output: dtype, extents, least, mean and
greatest element, and the first ones. --topk K adds the K greatest of the last axis, with the lines
of --labels as names.`
}

func (c *runCmd) Run(e *env) error {
	if c.Runs < 1 || c.Runs > 1_000_000 {
		return usage("--runs is %d, expected 1 to 1000000", c.Runs)
	}
	if err := c.outputFlags.check(); err != nil {
		return err
	}
	m, dev, closeDevice, err := c.load()
	if err != nil {
		return err
	}
	defer closeDevice()
	prog, err := m.Compile(onnx.On(dev))
	if err != nil {
		return fmt.Errorf("%s: %w", c.Model, err)
	}
	defer prog.Release()
	targets, err := c.targets(prog)
	if err != nil {
		return err
	}
	in, err := c.values(prog)
	if err != nil {
		return err
	}
	results, err := runModel(e.ctx, prog, in)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Model, err)
	}
	if err := c.show(e, c.JSON, targets, results); err != nil {
		return err
	}
	if c.Explain {
		if err := explainRun(e, m, dev, in, c.JSON); err != nil {
			return err
		}
	}
	if c.Profile {
		return profileRun(e, m, dev, in, c.Runs, c.JSON)
	}
	return nil
}

// outputValue is an output of a run, on the host.
type outputValue struct {
	name  string
	value *onnx.Value
	array sinter.Array // of tensors of numbers
}

// runModel runs a model once and waits for its outputs.
func runModel(ctx context.Context, p *onnx.Program, in map[string]*onnx.Value) ([]outputValue, error) {
	values, err := p.RunValues(ctx, in)
	if err != nil {
		return nil, err
	}
	var out []outputValue
	for _, d := range p.Outputs() {
		o := outputValue{name: d.Name, value: values[d.Name]}
		if v := o.value; v != nil && !v.IsNone() && !v.IsSequence() && v.Elem != onnx.String {
			if o.array, err = v.Array(ctx); err != nil {
				return nil, fmt.Errorf("output %q: %w", d.Name, err)
			}
		}
		out = append(out, o)
	}
	return out, nil
}

// waitFor waits for all outputs without copying more than it must, and gives
// them up.
func waitFor(ctx context.Context, dev *sinter.Device, values map[string]*onnx.Value) error {
	err := dev.Sync(ctx)
	for _, v := range values {
		v.Release()
	}
	return err
}

// timed runs a program and returns how long it took until the device was done.
func timed(ctx context.Context, p *onnx.Program, dev *sinter.Device, in map[string]*onnx.Value) (time.Duration, error) {
	began := time.Now()
	values, err := p.RunValues(ctx, in)
	if err == nil {
		err = waitFor(ctx, dev, values)
	}
	return time.Since(began), err
}
