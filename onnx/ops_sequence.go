package onnx

import (
	"fmt"

	"github.com/sinter-go/sinter"
)

var _ = register(
	opDef{name: "SequenceEmpty", since: 11, in: arity{0, 0}, out: one, attrs: []attrSpec{intAttr("dtype", 1)}, run: func(c *Call) error {
		v := SequenceValue()
		v.Elem = Elem(c.Int("dtype"))
		c.SetValue(0, v)
		return nil
	}},
	opDef{name: "SequenceConstruct", since: 11, in: some, out: one, narrow: true, run: func(c *Call) error {
		for i, v := range c.in {
			if v == nil || v.isSeq || v.isNone {
				return fmt.Errorf("input %d is %s, expected a tensor", i, v.kind())
			}
			if v.Elem != c.in[0].Elem {
				return fmt.Errorf("input %d is of type %s, the first one of %s", i, v.Elem, c.in[0].Elem)
			}
		}
		c.SetValue(0, SequenceValue(c.in...))
		return nil
	}},
	opDef{name: "SequenceLength", since: 11, in: one, out: one, narrow: true, run: func(c *Call) error {
		s, err := c.sequence(0)
		c.SetHost(0, &Host{Elem: Int64, Shape: []int{}, Ints: []int64{int64(len(s))}})
		return err
	}},
	opDef{name: "SequenceAt", since: 11, in: two, out: one, narrow: true, run: func(c *Call) error {
		s, err := c.sequence(0)
		if err != nil {
			return err
		}
		at, err := c.position(1, len(s), len(s)-1)
		if err != nil {
			return err
		}
		c.SetValue(0, s[at])
		return nil
	}},
	opDef{name: "SequenceInsert", since: 11, in: arity{2, 3}, out: one, narrow: true, run: func(c *Call) error {
		s, err := c.sequence(0)
		if err != nil {
			return err
		}
		v := c.Value(1)
		if v == nil || v.isSeq || v.isNone {
			return fmt.Errorf("what is inserted is %s, expected a tensor", v.kind())
		}
		at := len(s)
		if c.Has(2) {
			if at, err = c.position(2, len(s), len(s)); err != nil {
				return err
			}
		}
		out := append(append(append([]*Value{}, s[:at]...), v), s[at:]...)
		c.SetValue(0, SequenceValue(out...))
		return nil
	}},
	opDef{name: "SequenceErase", since: 11, in: oneTwo, out: one, narrow: true, run: func(c *Call) error {
		s, err := c.sequence(0)
		if err != nil {
			return err
		}
		at := len(s) - 1
		if c.Has(1) {
			if at, err = c.position(1, len(s), len(s)-1); err != nil {
				return err
			}
		}
		if at < 0 {
			return fmt.Errorf("the sequence is empty")
		}
		c.SetValue(0, SequenceValue(append(append([]*Value{}, s[:at]...), s[at+1:]...)...))
		return nil
	}},
	opDef{name: "SplitToSequence", since: 11, in: oneTwo, out: one, keeps: true, run: splitToSequenceOp,
		attrs: []attrSpec{intAttr("axis", 0), intAttr("keepdims", 1)}},
	opDef{name: "ConcatFromSequence", since: 11, in: one, out: one, narrow: true, run: concatFromSequenceOp,
		attrs: []attrSpec{need("axis", AttrInt), intAttr("new_axis", 0)}},
	opDef{name: "SequenceMap", since: 17, in: some, out: some, narrow: true, run: sequenceMapOp,
		attrs: []attrSpec{need("body", AttrGraph)}},
	opDef{name: "Optional", since: 15, in: arity{0, 1}, out: one, narrow: true, attrs: []attrSpec{plainAttr("type", AttrType)}, run: func(c *Call) error {
		v := c.Value(0)
		if v == nil {
			v = NoValue()
		}
		c.SetValue(0, v)
		return nil
	}},
	opDef{name: "OptionalHasElement", since: 15, in: arity{0, 1}, out: one, narrow: true, run: func(c *Call) error {
		there := int64(0)
		if c.Has(0) {
			there = 1
		}
		c.SetHost(0, &Host{Elem: Bool, Shape: []int{}, Ints: []int64{there}})
		return nil
	}},
	opDef{name: "OptionalGetElement", since: 15, in: one, out: one, narrow: true, run: func(c *Call) error {
		if !c.Has(0) {
			return fmt.Errorf("the optional value is not there")
		}
		c.SetValue(0, c.Value(0))
		return nil
	}},
)

// sequence returns the values of input i.
func (c *Call) sequence(i int) ([]*Value, error) {
	v := c.Value(i)
	if v == nil || !v.isSeq {
		return nil, fmt.Errorf("input %d is %s, expected a sequence", i, v.kind())
	}
	return v.seq, nil
}

// position reads a position in a sequence of n values, which may count from the
// end; last is the greatest one.
func (c *Call) position(i, n, last int) (int, error) {
	at, err := c.HostInt(i)
	if err != nil {
		return 0, err
	}
	if at < -n || at > last {
		return 0, fmt.Errorf("position %d in a sequence of %d", at, n)
	}
	if at < 0 {
		at += n
	}
	return at, nil
}

// maxPieces bounds the length of a sequence that one node makes of one tensor.
const maxPieces = 1 << 20

func splitToSequenceOp(c *Call) error {
	axis, err := c.AxisAttr(0)
	if err != nil {
		return err
	}
	extent := c.Shape(0)[axis]
	var sizes []int
	squeeze := false
	equal := 1
	switch {
	case !c.Has(1):
		squeeze = !c.Bool("keepdims")
	case len(c.Shape(1)) == 0:
		if equal, err = c.HostInt(1); err != nil {
			return err
		}
		if equal < 1 {
			return fmt.Errorf("pieces of %d elements", equal)
		}
	default:
		if sizes, err = c.HostInts(1); err != nil {
			return err
		}
	}
	if sizes == nil {
		if extent/equal > maxPieces {
			return fmt.Errorf("a sequence of %d pieces; at most %d are supported", extent/equal, maxPieces)
		}
		for at := 0; at < extent; at += equal {
			sizes = append(sizes, min(equal, extent-at))
		}
	}
	total := 0
	for _, s := range sizes {
		if s < 0 {
			return fmt.Errorf("a piece of %d elements", s)
		}
		total += s
	}
	if total != extent {
		return fmt.Errorf("pieces of %v elements of an axis of extent %d", sizes, extent)
	}
	elem := c.Elem(0)
	if elem == String {
		return fmt.Errorf("input 0 has elements of type string, which the operator does not take")
	}
	var out []*Value
	if len(sizes) > 0 {
		for _, t := range c.In(0).Split(axis, sizes...) {
			if squeeze {
				t = t.Squeeze(axis)
			}
			out = append(out, c.Made(elem, t))
		}
	}
	c.SetValue(0, SequenceValue(out...))
	return nil
}

func concatFromSequenceOp(c *Call) error {
	s, err := c.sequence(0)
	if err != nil {
		return err
	}
	if len(s) == 0 {
		return fmt.Errorf("the sequence is empty")
	}
	ts := make([]*sinter.Tensor, len(s))
	for i, v := range s {
		if v.Elem != s[0].Elem {
			return fmt.Errorf("element %d is %s, the first one %s", i, v, s[0])
		}
		ts[i] = c.Enter(v)
	}
	axis := c.Int("axis")
	if c.Bool("new_axis") {
		c.SetElem(0, s[0].Elem, sinter.Stack(axis, ts...))
		return nil
	}
	c.SetElem(0, s[0].Elem, sinter.Concat(axis, ts...))
	return nil
}

func sequenceMapOp(c *Call) error {
	first, err := c.sequence(0)
	if err != nil {
		return err
	}
	_, outs := c.GraphArity("body")
	if c.NumOut() > outs {
		return fmt.Errorf("the body makes %d outputs, the node has %d", outs, c.NumOut())
	}
	results := make([][]*Value, outs)
	for i := range first {
		in := make([]*Value, c.NumIn())
		for j, v := range c.in {
			if in[j] = v; v != nil && v.isSeq {
				if len(v.seq) != len(first) {
					return fmt.Errorf("input %d has %d elements, the first one %d", j, len(v.seq), len(first))
				}
				in[j] = v.seq[i]
			}
		}
		out, err := c.RunGraph("body", in...)
		if err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
		for j, v := range out {
			results[j] = append(results[j], v)
		}
	}
	for j, vs := range results {
		c.SetValue(j, SequenceValue(vs...))
	}
	return nil
}
