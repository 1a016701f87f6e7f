// Package workload describes what Sinter is measured by: what a workload is
// called, here and by the peers (package peers), its sizes, the bytes it must move
// and the operations it must do at least, and how Sinter does it. There is one
// description of each: a row of a table.
package workload

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/bench/limit"
	"github.com/sinter-go/sinter/bench/peers"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/onnx"
)

// Workload is one thing to measure.
type Workload struct {
	Group string // "elementwise", "rows" and so on
	Op    string // as peers know it
	Sizes []int  // bench/README.md says what they mean
	DType ir.DType
	Quick bool // it is one of the few that stand for the others
	Cost  Cost

	of *op
}

// Cost is what no implementation can do without.
type Cost struct {
	Bytes int64      // read and written, each tensor once
	Moves limit.Kind // at which bandwidth
	Work  float64    // operations; 0 where bytes are all that counts
	Unit  limit.Kind // of these
}

// op is a row of the tables.
type op struct {
	group, name string
	label       func(sizes []int) string // "" stands for the sizes with × between them
	cases       []variant
	gpu         []variant // those of a GPU
	tiny        []int     // sizes of a test, where those of the cases cannot be cut down one by one

	// A function of its inputs, or else a state that steps on, perhaps with a result
	// beside it.
	inputs func(sizes []int, t ir.DType) []input
	call   func(sizes []int, in []*sinter.Tensor) []*sinter.Tensor
	state  func(sizes []int, t ir.DType, d *sinter.Device) stateStep

	// operator is the ONNX operator of the inputs, for a row that is recorded as what
	// it is made of; nil where the function is exported as it is recorded.
	operator func(sizes []int) *onnx.Node

	cost func(sizes []int, t ir.DType) Cost
}

// stateStep makes a state step on: what it records belongs to a scope.
type stateStep func(s *sinter.Scope) ([]*sinter.Tensor, error)

// variant is sizes and a dtype in which an operation is measured.
type variant struct {
	t     ir.DType
	sizes []int
	quick bool
}

// input is an operand: random values, or the same ones at each call where it is
// constant, such as a weight, which may be packed once.
type input struct {
	t        ir.DType
	shape    []int
	below    int // of indices: they are in [0, below)
	constant bool
}

// in f32 and the like make variants; the first of the list is the quick one.
func in(t ir.DType, list ...[]int) []variant {
	var out []variant
	for i, s := range list {
		out = append(out, variant{t: t, sizes: s, quick: i == 0})
	}
	return out
}

// both makes the variants of in for f32 and for bf16.
func both(list ...[]int) []variant {
	return append(in(ir.F32, list...), in(ir.BF16, list...)...)
}

// Kind is the kind of device that workloads are for: what fills a processor is
// nothing to a GPU.
type Kind int

const (
	CPU Kind = iota
	GPU
)

// All returns every workload of a kind of device, in the order of tables.
func (k Kind) All() []*Workload {
	var out []*Workload
	for _, table := range [][]op{elementwise, rows, reductions, orders, products, quantizedProducts, convolutions, attentions, trainings, models} {
		for i := range table {
			o := &table[i]
			variants := o.cases
			if k == GPU {
				variants = o.gpu
			}
			for _, v := range variants {
				out = append(out, o.workload(v))
			}
		}
	}
	return out
}

func (o *op) workload(v variant) *Workload {
	return &Workload{Group: o.group, Op: o.name, Sizes: v.sizes, DType: v.t, Quick: v.quick, Cost: o.cost(v.sizes, v.t), of: o}
}

// All returns every workload of a processor, in the order of tables.
func All() []*Workload { return CPU.All() }

// Name is the operation, its sizes, and its dtype unless that is f32:
// "softmax/1024x1024", "matmul/512x512x512/f64".
func (w *Workload) Name() string {
	name := w.Op + "/"
	if w.of.label != nil {
		name += w.of.label(w.Sizes)
	} else {
		name += times(w.Sizes...)
	}
	if w.DType != ir.F32 {
		name += "/" + w.DType.String()
	}
	return name
}

// Match reports whether a pattern fits the group, the operation or the name. It is
// one of [path.Match], but that slashes are like any other character.
func (w *Workload) Match(pattern string) (bool, error) {
	plain := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	for _, s := range []string{w.Group, w.Op, w.Name()} {
		if ok, err := path.Match(plain(pattern), plain(s)); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// Select returns the workloads of a processor that fit one of the patterns, all if
// there is none. The error has kind [ir.ErrArgument]: a pattern is malformed, or fits
// nothing.
func Select(patterns []string) ([]*Workload, error) { return CPU.Select(patterns) }

// Select is the function of that name for a kind of device.
func (k Kind) Select(patterns []string) ([]*Workload, error) {
	all := k.All()
	if len(patterns) == 0 {
		return all, nil
	}
	chosen := make([]bool, len(all))
	for _, p := range patterns {
		found := false
		for i, w := range all {
			ok, err := w.Match(p)
			if err != nil {
				return nil, ir.Errorf(ir.ErrArgument, "workloads %q: %v", p, err)
			}
			if ok {
				found, chosen[i] = true, true
			}
		}
		if !found {
			return nil, ir.Errorf(ir.ErrArgument, "no workload fits %q; there are the operations %s in the groups %s", p, k.Ops(), k.Groups())
		}
	}
	var out []*Workload
	for i, w := range all {
		if chosen[i] {
			out = append(out, w)
		}
	}
	return out, nil
}

// Ops and Groups list names, for messages.
func (k Kind) Ops() string { return k.names(func(w *Workload) string { return w.Op }) }

// Groups lists the groups.
func (k Kind) Groups() string { return k.names(func(w *Workload) string { return w.Group }) }

func (k Kind) names(of func(*Workload) string) string {
	var out []string
	for _, w := range k.All() {
		if n := of(w); !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return strings.Join(out, ", ")
}

// Run is a workload on a device, ready to be measured. It is for one goroutine.
type Run struct {
	dev      *sinter.Device
	step     sinter.StepFunc
	inputs   []*sinter.Tensor
	options  []sinter.ScopeOption
	captured *sinter.Step
}

// Step records one call and has the device run it. It does not wait for it; the
// results are given up, so that the next call finds their memory.
func (r *Run) Step() error {
	s := sinter.NewScope("call", r.options...)
	args := make([]*sinter.Tensor, len(r.inputs))
	for i, x := range r.inputs {
		args[i] = s.In(x)
	}
	out, err := r.step(s, args)
	for i, y := range out {
		out[i] = s.Keep(y)
	}
	s.End()
	r.dev.Stream().Flush() // it runs before its results are given up
	return errors.Join(err, give(out))
}

// Again is Step as one who calls a function again and again writes it: captured, so that
// rounds after the first few are not recorded.
func (r *Run) Again() error {
	out, err := r.captured.Run(context.Background(), r.inputs...)
	return errors.Join(err, give(out))
}

// give gives results up and returns the first error that one of them carries.
func give(out []*sinter.Tensor) (first error) {
	for _, y := range out {
		if err := y.Err(); err != nil && first == nil {
			first = err
		}
		y.Release()
	}
	return first
}

// Release gives back the inputs.
func (r *Run) Release() {
	r.captured.Release()
	for _, x := range r.inputs {
		x.Release()
	}
}

// Prepare makes the inputs of a workload on a device.
func (w *Workload) Prepare(d *sinter.Device) *Run {
	r := &Run{dev: d}
	if w.of.state != nil {
		step := w.of.state(w.Sizes, w.DType, d)
		r.step = func(s *sinter.Scope, _ []*sinter.Tensor) ([]*sinter.Tensor, error) { return step(s) }
	} else {
		for i, p := range w.of.inputs(w.Sizes, w.DType) {
			r.inputs = append(r.inputs, p.make(sinter.On(d), uint64(i)+1))
		}
		r.options = []sinter.ScopeOption{sinter.NoGrad()}
		r.step = func(_ *sinter.Scope, in []*sinter.Tensor) ([]*sinter.Tensor, error) {
			return w.of.call(w.Sizes, in), nil
		}
	}
	r.captured = sinter.Capture(d, r.step)
	return r
}

func (p input) make(on sinter.Of, seed uint64) *sinter.Tensor {
	g := sinter.NewGenerator(seed)
	switch {
	case p.below > 0:
		return g.Integers(on, p.t, 0, int64(p.below), p.shape...)
	case p.t.IsFloat():
		drawn := ir.F32
		if p.t == ir.F64 {
			drawn = p.t
		}
		s := sinter.NewScope("input")
		defer s.End()
		return s.Keep(s.Own(g.Uniform(on, drawn, p.shape...)).Mul(2).Sub(1).Cast(p.t))
	}
	return g.Integers(on, p.t, -100, 100, p.shape...)
}

// Model writes the workload as an ONNX model for peers that run such, with its
// inputs. The error says why there is none.
func (w *Workload) Model(ctx context.Context) ([]byte, []peers.Input, error) {
	if w.of.call == nil {
		return nil, nil, ir.Errorf(ir.ErrUnsupported, "%s is a training step, no function", w.Op)
	}
	on := sinter.On(sinter.DefaultDevice())
	var ports []onnx.Port
	var given []peers.Input
	all := w.of.inputs(w.Sizes, w.DType)
	args := make([]*sinter.Tensor, len(all))
	for i, p := range all {
		if p.constant {
			args[i] = p.make(on, uint64(i)+1)
			defer args[i].Release()
			continue
		}
		name := fmt.Sprintf("x%d", i)
		ports = append(ports, onnx.Port{Name: name, DType: p.t, Shape: p.shape})
		given = append(given, peers.Input{Name: name, Type: onnx.ElemOf(p.t).String(), Dims: p.shape, Below: p.below})
	}
	if w.of.operator != nil {
		m, err := w.operatorModel(ctx, all, args, given)
		if err != nil {
			return nil, nil, err
		}
		b, err := m.Marshal()
		return b, given, err
	}
	traced, err := onnx.Trace(ctx, func(in []*sinter.Tensor) ([]*sinter.Tensor, error) {
		for i, p := range all {
			if !p.constant {
				args[i], in = in[0], in[1:]
			}
		}
		return w.of.call(w.Sizes, args), nil
	}, ports...)
	if err != nil {
		return nil, nil, err
	}
	m, err := onnx.Export(traced)
	if err != nil {
		return nil, nil, err
	}
	b, err := m.Marshal()
	return b, given, err
}

// Request is the workload as peers are asked for it.
func (w *Workload) Request(threads int) peers.Request {
	return peers.Request{Workload: w.Op, Sizes: w.Sizes, DType: w.DType.String(), Threads: threads}
}

// times joins sizes: "64x1024".
func times(sizes ...int) string {
	text := make([]string, len(sizes))
	for i, n := range sizes {
		text[i] = count(n)
	}
	return strings.Join(text, "x")
}

// count is a size as people write it: 1M is 1<<20.
func count(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%dM", n>>20)
	case n >= 1<<12 && n%(1<<10) == 0 && n < 1<<20:
		return fmt.Sprintf("%dk", n>>10)
	}
	return fmt.Sprint(n)
}
