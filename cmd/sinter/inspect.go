package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/onnx"
)

type inspectCmd struct {
	Model string   `arg:"" help:"ONNX model file."`
	HTML  string   `name:"html" placeholder:"FILE" help:"Write a page with the graph, which needs no network."`
	Dims  []string `name:"dim" placeholder:"NAME=N" help:"Extent of a named dimension, for the estimate of memory. (default: 1)"`
	Input []string `name:"input" short:"i" sep:"none" placeholder:"NAME=WHAT" help:"An input as \"sinter run\" takes it, for the estimate of memory. (default: zeros)"`
	NoRun bool     `name:"no-run" help:"Do not run the model once on zeros to estimate the memory of intermediate values."`
	output
}

// Help is the long help of the command.
func (*inspectCmd) Help() string {
	return `Shows inputs, outputs, operators with their counts and whether they are supported, parameters and the
largest of them, and an estimate of the memory of a run: what the model's nodes keep at once, without
fusion and without what single operators need in between. The exit code is 1 if the model does not run.`
}

// inspection is what is found out about a model.
type inspection struct {
	Model      string           `json:"model"`
	Producer   string           `json:"producer,omitempty"`
	IR         int64            `json:"ir_version"`
	Opsets     map[string]int64 `json:"opsets"`
	Nodes      int              `json:"nodes"`
	Inputs     []inspectedValue `json:"inputs"`
	Outputs    []inspectedValue `json:"outputs"`
	Operators  []inspectedOp    `json:"operators"`
	Tensors    int              `json:"constants"`
	Parameters int64            `json:"parameters"`
	Bytes      int64            `json:"parameter_bytes"`
	Largest    []inspectedValue `json:"largest_constants,omitempty"`
	Peak       *int64           `json:"intermediate_bytes,omitempty"` // of one run, at once
	At         string           `json:"intermediate_peak_at,omitempty"`
	NoPeak     string           `json:"intermediate_unknown,omitempty"` // why Peak is not there
	Problems   string           `json:"problems,omitempty"`

	shapes map[string]string // of values, from the file or from a run
	model  *onnx.Model
}

type inspectedValue struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Bytes   int64  `json:"bytes,omitempty"`
	Default bool   `json:"has_default,omitempty"`
}

type inspectedOp struct {
	Op        string `json:"op"`
	Count     int    `json:"count"`
	Opset     int64  `json:"opset"`
	Supported bool   `json:"supported"`
	Reason    string `json:"reason,omitempty"`
	Function  bool   `json:"function,omitempty"`
}

// errDoesNotRun is the error of a model that was inspected and does not compile.
var errDoesNotRun = fmt.Errorf("the model does not run")

func (c *inspectCmd) Run(e *env) error {
	dims, err := parseDims(c.Dims)
	if err != nil {
		return err
	}
	if c.HTML != "" {
		if err := writable("--html", c.HTML); err != nil {
			return err
		}
	}
	m, err := loadModel(c.Model)
	if err != nil {
		return err
	}
	x := inspect(c.Model, m)
	if x.Problems == "" && !c.NoRun {
		if err := x.measure(e.ctx, dims, c.Input); err != nil {
			return err
		}
	}
	if c.HTML != "" {
		if err := x.writeHTML(c.HTML); err != nil {
			return err
		}
	}
	if c.JSON {
		e.stdout.object(x)
	} else {
		x.print(e.stdout)
		if c.HTML != "" {
			e.stdout.printf("wrote %s\n", c.HTML)
		}
	}
	if x.Problems != "" {
		return fmt.Errorf("%s: %w", c.Model, errDoesNotRun)
	}
	return nil
}

func parseDims(list []string) (map[string]int, error) {
	dims := map[string]int{}
	for _, s := range list {
		name, value, ok := strings.Cut(s, "=")
		n, err := strconv.Atoi(value)
		if !ok || err != nil || n < 1 || name == "" {
			return nil, usage("--dim is %q, expected NAME=N with a number above 0", s)
		}
		dims[name] = n
	}
	return dims, nil
}

func inspect(path string, m *onnx.Model) *inspection {
	x := &inspection{Model: path, Producer: strings.TrimSpace(m.Producer + " " + m.ProducerVersion), IR: m.IRVersion, Opsets: map[string]int64{},
		shapes: map[string]string{}, model: m}
	for d, v := range m.Opsets {
		x.Opsets[domainName(d)] = v
	}
	inits := map[string]bool{}
	var all []inspectedValue
	note := func(name string, t *onnx.Tensor) {
		v := inspectedValue{Name: name, Type: fmt.Sprintf("%s%s", t.Elem, extents(t.Dims)), Bytes: tensorBytes(t)}
		x.Tensors++
		x.Parameters += tensorSize(t)
		x.Bytes += v.Bytes
		all = append(all, v)
	}
	for _, t := range m.Graph.Initializers {
		inits[t.Name] = true
	}
	eachConstant(m, note)
	slices.SortStableFunc(all, func(a, b inspectedValue) int { return cmp.Compare(b.Bytes, a.Bytes) })
	x.Largest = all[:min(len(all), 5)]
	for _, v := range m.Graph.Inputs {
		if inits[v.Name] && m.IRVersion < 4 {
			continue
		}
		x.Inputs = append(x.Inputs, inspectedValue{Name: v.Name, Type: v.Type.String(), Default: inits[v.Name]})
		x.shapes[v.Name] = v.Type.String()
	}
	for _, v := range m.Graph.Outputs {
		x.Outputs = append(x.Outputs, inspectedValue{Name: v.Name, Type: v.Type.String()})
	}
	for _, v := range m.Graph.Values {
		x.shapes[v.Name] = v.Type.String()
	}
	for _, u := range m.Operators() {
		op := inspectedOp{Op: opName(u.Domain, u.Name), Count: u.Count, Opset: u.Opset, Supported: u.Err == nil, Function: u.Function}
		if u.Err != nil {
			op.Reason = u.Err.Error()
		}
		x.Nodes += u.Count
		x.Operators = append(x.Operators, op)
	}
	if p, err := m.Compile(); err != nil {
		x.Problems = err.Error()
	} else {
		p.Release()
	}
	return x
}

// eachConstant calls f for initializers and the tensors of Constant nodes, those
// in graphs of attributes and functions included.
func eachConstant(m *onnx.Model, f func(name string, t *onnx.Tensor)) {
	var nodes func([]*onnx.Node)
	var graph func(*onnx.Graph)
	nodes = func(list []*onnx.Node) {
		for _, n := range list {
			if t := constantOf(n); t != nil {
				f(n.Outputs[0], t)
			}
			for _, a := range n.Attrs {
				if a.Graph != nil {
					graph(a.Graph)
				}
			}
		}
	}
	graph = func(g *onnx.Graph) {
		for _, t := range g.Initializers {
			f(t.Name, t)
		}
		nodes(g.Nodes)
	}
	graph(m.Graph)
	for _, fn := range m.Functions {
		nodes(fn.Nodes)
	}
}

func opName(domain, name string) string {
	if domain == "" {
		return name
	}
	return domain + "." + name
}

func domainName(d string) string {
	if d == "" {
		return "ai.onnx"
	}
	return d
}

func extents(dims []int64) string {
	words := make([]string, len(dims))
	for i, d := range dims {
		words[i] = strconv.FormatInt(d, 10)
	}
	return "[" + strings.Join(words, ",") + "]"
}

// tensorSize is the number of elements that a tensor of a file claims.
func tensorSize(t *onnx.Tensor) int64 {
	n := int64(1)
	for _, d := range t.Dims {
		if d < 0 || d > 0 && n > 1<<50/d {
			return 0
		}
		n *= d
	}
	return n
}

func tensorBytes(t *onnx.Tensor) int64 {
	if d := t.Elem.DType(); d.Valid() {
		return tensorSize(t) * int64(d.Size())
	}
	return 0
}

// measure runs the model once on zeros, or the inputs given, and finds how many
// bytes its nodes keep at once. The error is about the inputs given.
func (x *inspection) measure(ctx context.Context, dims map[string]int, given []string) error {
	live := newLiveness(x.model)
	p, err := x.model.Compile(onnx.Observe(func(s onnx.Step) {
		for i, v := range s.Outputs {
			if v != nil && s.Depth == 0 && i < len(s.Node.Outputs) {
				x.shapes[s.Node.Outputs[i]] = v.String()
			}
		}
		live.step(s)
	}))
	if err != nil {
		x.NoPeak = err.Error()
		return nil
	}
	defer p.Release()
	f := inputFlags{Input: given, Seed: 1}
	named := map[string]bool{}
	for _, spec := range given {
		to, _, err := splitInput(spec, modelInputs(p))
		if err != nil {
			return err
		}
		named[to.Name] = true
	}
	for _, v := range modelInputs(p) {
		if named[v.Name] || v.optional || v.Type == nil || !v.Type.HasShape {
			continue
		}
		f.Input = append(f.Input, v.Name+"=zeros:"+shapeText(declaredShape(v.Type, dims)))
	}
	in, err := f.values(p)
	if err != nil && given != nil {
		return err
	} else if err != nil {
		x.NoPeak = err.Error()
		return nil
	}
	if _, err := timed(ctx, p, sinter.DefaultDevice(), in); err != nil {
		x.NoPeak = "a run fails, give --input or --dim: " + err.Error()
		return nil
	}
	x.Peak, x.At = &live.peak, live.at
	return nil
}

func (x *inspection) print(c *console) {
	c.printf("%s", c.paint(bold, x.Model))
	if x.Producer != "" {
		c.printf("  %s", c.paint(faint, "by "+x.Producer))
	}
	c.printf("\n")
	var opsets []string
	for _, d := range slices.Sorted(maps.Keys(x.Opsets)) {
		opsets = append(opsets, fmt.Sprintf("%s %d", d, x.Opsets[d]))
	}
	c.printf("  IR version %d, opsets %s, %d nodes\n", x.IR, strings.Join(opsets, ", "), x.Nodes)
	values := func(title string, list []inspectedValue) {
		c.printf("%s\n", c.paint(bold, title))
		wide := 0
		for _, v := range list {
			wide = max(wide, len(v.Name))
		}
		for _, v := range list {
			c.printf("  %-*s  %s", min(wide, 40), v.Name, v.Type)
			if v.Bytes > 0 {
				c.printf("  %s", bytesText(v.Bytes))
			}
			if v.Default {
				c.printf("  (has a default)")
			}
			c.printf("\n")
		}
	}
	values("inputs", x.Inputs)
	values("outputs", x.Outputs)
	c.printf("%s\n", c.paint(bold, "operators"))
	for _, o := range slices.SortedStableFunc(slices.Values(x.Operators), func(a, b inspectedOp) int { return cmp.Compare(b.Count, a.Count) }) {
		c.printf("  %6d  %s", o.Count, o.Op)
		switch {
		case !o.Supported:
			c.printf("  %s", c.paint(red, "not supported: "+o.Reason))
		case o.Function:
			c.printf("  %s", c.paint(faint, "function of the model"))
		}
		c.printf("\n")
	}
	c.printf("%s\n  %d parameters in %d initializers and constants, %s\n", c.paint(bold, "parameters"), x.Parameters, x.Tensors, bytesText(x.Bytes))
	if len(x.Largest) > 0 {
		values("largest", x.Largest)
	}
	switch {
	case x.Peak != nil:
		c.printf("%s\n  %s of intermediate values at once (at %s), %s with the parameters\n", c.paint(bold, "memory of a run"), bytesText(*x.Peak), x.At, bytesText(*x.Peak+x.Bytes))
	case x.NoPeak != "":
		c.printf("%s\n  not known: %s\n", c.paint(bold, "memory of a run"), x.NoPeak)
	}
	if x.Problems != "" {
		c.printf("%s\n  %s\n", c.paint(red, "it does not run"), strings.ReplaceAll(x.Problems, "\n", "\n  "))
	}
}

// writeHTML writes the page.
func (x *inspection) writeHTML(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := x.page(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
