package onnx

import (
	"context"

	"github.com/sinter-go/sinter"
)

// What folding may take: of one result, over its operands, and of all results,
// over the constants of the file.
const (
	foldSlack = 1 << 20
	foldTotal = 64 << 20
)

// folder computes nodes whose inputs are all constants while the model is
// compiled. Operators have equal bits wherever they run, so it changes no result.
type folder struct {
	off   bool
	run   *run
	scope *sinter.Scope
	left  int64
}

func newFolder(c *compiler) *folder {
	f := &folder{off: c.opts.noFold, left: foldTotal}
	for _, t := range c.model.Graph.Initializers {
		f.left += int64(len(t.raw)) + 8*int64(len(t.ints))
	}
	return f
}

func (f *folder) close() { f.scope.End() }

// fold computes a step if its inputs are constants and its results small enough,
// and makes them constants of the block. It reports whether it did. Nodes that
// fail are left to run: the branch that they are in may never be taken.
func (f *folder) fold(n *names, s *step) bool {
	if s.op == nil || s.op.random || s.blocks != nil {
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
		}
	}
	if f.off && s.op.name != "Constant" {
		return false
	}
	if f.run == nil {
		f.run = &run{ctx: context.Background(), device: sinter.DefaultDevice(), refs: map[*sinter.Tensor]*tensorRef{}}
		f.scope = sinter.NewScope("fold")
	}
	out, err := f.exec(s, in)
	if err != nil {
		return false
	}
	var tensors []*sinter.Tensor
	var total int64
	for _, v := range out {
		switch {
		case v == nil:
		case v.isSeq || v.isNone:
			return false
		case v.host == nil && v.fixed == nil:
			total += int64(v.Size()) * int64(v.Elem.DType().Size())
			tensors = append(tensors, v.tensor)
		}
	}
	if total > limit || total > f.left {
		for _, t := range tensors {
			t.Release()
		}
		return false
	}
	arrays, err := sinter.Read(f.run.ctx, tensors...)
	if err != nil {
		return false
	}
	f.left -= total
	k := 0
	for i, v := range out {
		if v == nil {
			continue
		}
		if v.host == nil && v.fixed == nil {
			v = ArrayValue(v.Elem, arrays[k])
			k++
		} else if v.host != nil && v.fixed == nil {
			h := *v.host
			v = HostValue(&h)
			if h.Elem != String {
				v = ArrayValue(h.Elem, h.array())
				v.host = &h
			}
		}
		if s.out[i] >= 0 {
			n.block.fix(s.out[i], v)
		}
	}
	for _, t := range tensors {
		t.Release()
	}
	return true
}

// exec runs a step on constants.
func (f *folder) exec(s *step, in []*Value) ([]*Value, error) {
	one := *s
	one.in = make([]ref, len(in))
	fr := &frame{run: f.run, block: &block{}, scope: f.scope, vals: make([]*Value, len(in)+len(s.out))}
	for i, v := range in {
		one.in[i] = ref{slot: i}
		if fr.vals[i] = v; v == nil {
			one.in[i].slot = -1
		}
	}
	one.out = make([]int, len(s.out))
	for i, o := range s.out {
		if one.out[i] = -1; o >= 0 {
			one.out[i] = len(in) + i
		}
	}
	if err := fr.exec(&one); err != nil {
		return nil, err
	}
	return fr.vals[len(in):], nil
}
