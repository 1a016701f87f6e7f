package onnx

import (
	"context"
	"strings"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/cpu"
)

// What folding may take: of one result, over its operands; and of all results,
// kept or not, over the constants of the file. Work is linear in these bytes for
// the operators that are folded, so they bound the time as well.
const (
	foldSlack  = 1 << 20
	foldTotal  = 64 << 20
	foldMemory = 256 << 20 // of the device, over four times the constants
)

// cheap are the operators that are folded, besides those that only move elements
// or know how to compute on the host: their work is linear in their operands and
// results.
var cheap = func() map[string]bool {
	names := map[string]bool{}
	for _, n := range strings.Fields(`Abs Neg Exp Log Sqrt Reciprocal Sin Cos Tan Erf Ceil Floor Round Sign Add Sub Mul Div Sum Max Min
		Mean Pow Mod Clip IsNaN IsInf Relu Tanh Sigmoid And Or Xor Not BitwiseAnd BitwiseOr BitwiseXor BitwiseNot BitShift
		Cast CastLike ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare CumSum
		ScatterElements ScatterND OneHot EyeLike DequantizeLinear QuantizeLinear Softmax NonZero`) {
		names[n] = true
	}
	return names
}()

func foldable(op *opDef) bool {
	return op != nil && !op.random && (op.keeps || op.host != nil || op.domain == "" && cheap[op.name])
}

// folder computes nodes whose inputs are all constants while the model is
// compiled. Operators have equal bits wherever they run, so it changes no result.
// What is not known on the host is computed on a device of its own with little
// memory, which is opened when it is needed.
type folder struct {
	off    bool
	device *sinter.Device
	failed bool // there is no device
	run    *run
	scope  *sinter.Scope
	left   int64
	memory int64
	seen   []*constant // that may be on the device
}

func newFolder(c *compiler) *folder {
	f := &folder{off: c.opts.noFold, left: foldTotal, memory: foldMemory}
	for _, t := range c.model.Graph.Initializers {
		n := int64(len(t.raw)) + 8*int64(len(t.ints))
		f.left += n
		f.memory += 4 * n
	}
	return f
}

// close gives up the device. Constants were uploaded to no other so far.
func (f *folder) close() {
	f.scope.End()
	for _, c := range f.seen {
		c.release()
	}
	if f.device != nil {
		f.device.Close()
	}
}

// open opens the device.
func (f *folder) open() bool {
	if f.device == nil && !f.failed {
		b, err := cpu.New(cpu.Options{Memory: f.memory})
		if f.failed = err != nil; f.failed {
			return false
		}
		f.device = sinter.NewRuntime().Adopt(b)
		f.run.device = f.device
	}
	return !f.failed
}

// fold computes a step if its inputs are constants and its results small enough,
// and makes them constants of the block. It reports whether it did. Nodes that
// fail are left to run: the branch that they are in may never be taken.
func (f *folder) fold(n *names, s *step) bool {
	if !foldable(s.op) || s.blocks != nil || f.off && s.op.name != "Constant" {
		return false
	}
	in := make([]*Value, len(s.in))
	limit := int64(foldSlack)
	for i, r := range s.in {
		v, ok := n.constOf(r)
		if !ok {
			return false
		}
		if in[i] = v; v != nil && v.fixed != nil {
			limit += 2 * int64(len(v.fixed.array.Bytes))
			f.seen = append(f.seen, v.fixed)
		}
	}
	if f.run == nil {
		f.run = &run{ctx: context.Background(), refs: map[*sinter.Tensor]*tensorRef{}}
		f.scope = sinter.NewScope("fold")
	}
	out, ok := f.exec(s, in, limit)
	if !ok {
		return false
	}
	for i, v := range out {
		if v != nil && s.out[i] >= 0 {
			n.block.fix(s.out[i], v)
		}
	}
	return true
}

// exec runs a step on constants, and returns its results as constants.
func (f *folder) exec(s *step, in []*Value, limit int64) ([]*Value, bool) {
	one := *s
	one.in = make([]ref, len(in))
	fr := &frame{run: f.run, block: &block{}, scope: f.scope, vals: make([]*Value, len(in)+len(s.out))}
	known := s.op.host != nil
	for i, v := range in {
		one.in[i] = ref{slot: i}
		if fr.vals[i] = v; v == nil {
			one.in[i].slot = -1
		}
		known = known && (v == nil || v.host != nil)
	}
	one.out = make([]int, len(s.out))
	for i, o := range s.out {
		if one.out[i] = -1; o >= 0 {
			one.out[i] = len(in) + i
		}
	}
	if !known && (f.left <= 0 || !f.open()) {
		return nil, false
	}
	if known && f.device == nil { // what the host leaves to a device is folded if there is one
		f.run.device = nil
		one.op = hostOnly(s.op)
	}
	if err := fr.exec(&one); err != nil {
		return nil, false
	}
	return f.constants(fr.vals[len(in):], limit)
}

// hostOnly is an operator that fails where the host leaves it to the device.
func hostOnly(op *opDef) *opDef {
	d := *op
	d.run = func(*Call) error { return errNotHost }
	return &d
}

// constants turns values of the device into constants, if they are not too many.
func (f *folder) constants(out []*Value, limit int64) ([]*Value, bool) {
	var tensors []*sinter.Tensor
	defer func() {
		for _, t := range tensors {
			t.Release()
		}
	}()
	var total int64
	for _, v := range out {
		switch {
		case v == nil:
		case v.isSeq || v.isNone:
			return nil, false
		case v.host == nil && v.fixed == nil:
			total += int64(v.Size()) * int64(v.Elem.DType().Size())
			tensors = append(tensors, v.tensor)
		}
	}
	fits := total <= limit && total <= f.left
	if f.left -= total; !fits {
		return nil, false
	}
	arrays, err := sinter.Read(f.run.ctx, tensors...)
	if err != nil {
		return nil, false
	}
	k := 0
	for i, v := range out {
		switch {
		case v == nil || v.fixed != nil:
		case v.host == nil:
			out[i] = ArrayValue(v.Elem, arrays[k])
			k++
		case v.Elem == String:
			out[i] = HostValue(v.host)
		default:
			out[i] = ArrayValue(v.Elem, v.host.array())
			out[i].host = v.host
		}
	}
	return out, true
}
