package onnx

import (
	"fmt"

	"github.com/sinter-go/sinter"
)

var _ = register(
	opDef{name: "If", in: one, out: some, run: ifOp,
		attrs: []attrSpec{need("then_branch", AttrGraph), need("else_branch", AttrGraph)}},
	opDef{name: "Loop", in: arity{2, -1}, optional: []int{0, 1}, out: some, narrow: true, run: loopOp,
		attrs: []attrSpec{need("body", AttrGraph)}},
	opDef{name: "Scan", in: some, optional: []int{0}, out: some, narrow: true, run: scan8Op,
		attrs: []attrSpec{need("body", AttrGraph), need("num_scan_inputs", AttrInt), plainAttr("directions", AttrInts)}},
	opDef{name: "Scan", since: 9, in: some, out: some, narrow: true, run: scanOp,
		attrs: []attrSpec{need("body", AttrGraph), need("num_scan_inputs", AttrInt),
			plainAttr("scan_input_axes", AttrInts), plainAttr("scan_input_directions", AttrInts),
			plainAttr("scan_output_axes", AttrInts), plainAttr("scan_output_directions", AttrInts)}},
)

// truth reads a condition, which has one element.
func (c *Call) truth(v *Value) (bool, error) {
	h, err := c.HostOf(v)
	if err != nil {
		return false, err
	}
	if h.Elem != Bool || h.Size() != 1 {
		return false, fmt.Errorf("the condition is %s%v, expected one bool", h.Elem, h.Shape)
	}
	return h.Ints[0] != 0, nil
}

func ifOp(c *Call) error {
	yes, err := c.truth(c.Value(0))
	if err != nil {
		return err
	}
	branch := "else_branch"
	if yes {
		branch = "then_branch"
	}
	out, err := c.RunGraph(branch)
	if err != nil {
		return err
	}
	if len(out) < c.NumOut() {
		return fmt.Errorf("the %s makes %d outputs, the node has %d", branch, len(out), c.NumOut())
	}
	for i, v := range out {
		c.SetValue(i, v)
	}
	return nil
}

func loopOp(c *Call) error {
	trips := -1 // no bound
	if c.Has(0) {
		n, err := c.HostInt(0)
		if err != nil {
			return err
		}
		trips = max(n, 0)
	}
	var cond *Value
	on := true
	if c.Has(1) {
		var err error
		cond = c.Value(1)
		if on, err = c.truth(cond); err != nil {
			return err
		}
	}
	states := c.NumIn() - 2
	ins, outs := c.GraphArity("body")
	scans := outs - 1 - states
	if ins != states+2 || scans < 0 || c.NumOut() > states+scans {
		return fmt.Errorf("the body has %d inputs and %d outputs, the node %d and %d: expected the trip count, the condition and %d states to enter, and the condition, the states and what is collected to leave",
			ins, outs, c.NumIn(), c.NumOut(), states)
	}
	if trips < 0 && cond == nil {
		return fmt.Errorf("the loop has neither a trip count nor a condition, and would not end")
	}
	carried := make([]*Value, states)
	for i := range carried {
		carried[i] = c.Value(i + 2)
	}
	rows := make([][]*Value, scans)
	made := false // whether carried comes from the body
	for i := 0; on && (trips < 0 || i < trips); i++ {
		if cond == nil {
			cond = HostValue(&Host{Elem: Bool, Shape: []int{}, Ints: []int64{1}})
		}
		in := append([]*Value{HostValue(&Host{Elem: Int64, Shape: []int{}, Ints: []int64{int64(i)}}), cond}, carried...)
		out, err := c.RunGraph("body", in...)
		if err != nil {
			return fmt.Errorf("iteration %d: %w", i, err)
		}
		if made {
			c.Drop(carried...)
		}
		carried, made = out[1:1+states], true
		if on, err = c.truth(out[0]); err != nil {
			return fmt.Errorf("iteration %d: %w", i, err)
		}
		cond = out[0]
		for j := range rows {
			rows[j] = append(rows[j], out[1+states+j])
		}
		if err := c.Context().Err(); err != nil {
			return err
		}
	}
	for i, v := range carried {
		if v == nil { // an optional value left out
			v = NoValue()
		}
		c.SetValue(i, v)
	}
	for j, vs := range rows {
		if !c.Wants(states + j) {
			continue
		}
		v, err := c.collect(vs, 0, false, "body", 1+states+j)
		if err != nil {
			return err
		}
		c.SetValue(states+j, v)
	}
	return nil
}

// collect stacks what the iterations of a body gave along a new axis. Without
// iterations the type is that which the body declares, with 0 for what it leaves
// open.
func (c *Call) collect(vs []*Value, axis int, backwards bool, attr string, output int) (*Value, error) {
	if len(vs) == 0 {
		t := c.Attr(attr).Graph.Outputs[output].Type
		if t == nil || !t.Elem.DType().Valid() {
			return nil, fmt.Errorf("output %d of the %s is collected, never made, and its type is not declared", output, attr)
		}
		shape := make([]int, 0, len(t.Dims)+1)
		for _, d := range t.Dims {
			shape = append(shape, int(max(d.Size, 0)))
		}
		a, err := Axis(axis, len(shape)+1)
		if err != nil {
			return nil, err
		}
		shape = append(shape[:a], append([]int{0}, shape[a:]...)...)
		return c.Made(t.Elem, c.Own(c.Of().Zeros(t.Elem.DType(), shape...))), nil
	}
	ts := make([]*sinter.Tensor, len(vs))
	for i, v := range vs {
		if v == nil || v.isSeq || v.isNone {
			return nil, fmt.Errorf("what is collected is %s, expected tensors", v.kind())
		}
		if fmt.Sprint(v.Shape()) != fmt.Sprint(vs[0].Shape()) || v.Elem != vs[0].Elem {
			return nil, fmt.Errorf("what is collected is %s at first and %s in iteration %d", vs[0], v, i)
		}
		j := i
		if backwards {
			j = len(vs) - 1 - i
		}
		ts[j] = c.Enter(v)
	}
	return c.Made(vs[0].Elem, sinter.Stack(axis, ts...)), nil
}

// scanOp is the form without a batch axis.
func scanOp(c *Call) error {
	m := c.Int("num_scan_inputs")
	n := c.NumIn() - m
	ins, outs := c.GraphArity("body")
	if m < 1 || n < 0 || ins != c.NumIn() || outs < n || c.NumOut() > outs {
		return fmt.Errorf("the body has %d inputs and %d outputs, the node %d and %d, %d of them scanned", ins, outs, c.NumIn(), c.NumOut(), m)
	}
	axes, err := perInput(c, "scan_input_axes", m)
	if err != nil {
		return err
	}
	back, err := perInput(c, "scan_input_directions", m)
	if err != nil {
		return err
	}
	outAxes, err := perInput(c, "scan_output_axes", outs-n)
	if err != nil {
		return err
	}
	outBack, err := perInput(c, "scan_output_directions", outs-n)
	if err != nil {
		return err
	}
	state := make([]*Value, n)
	for i := range state {
		state[i] = c.Value(i)
	}
	scanned := make([]*sinter.Tensor, m)
	length := -1
	for i := range scanned {
		scanned[i] = c.In(n + i)
		a, err := Axis(axes[i], len(c.Shape(n+i)))
		if err != nil {
			return err
		}
		axes[i] = a
		d := c.Shape(n + i)[a]
		if length >= 0 && d != length {
			return fmt.Errorf("scanned inputs have the lengths %d and %d", length, d)
		}
		length = d
	}
	elems := make([]Elem, m)
	for i := range elems {
		elems[i] = c.Elem(n + i)
	}
	state, rows, err := c.scan(state, scanned, elems, axes, back, length, outs-n)
	if err != nil {
		return err
	}
	for i, v := range state {
		c.SetValue(i, v)
	}
	for j, vs := range rows {
		if c.Wants(n + j) {
			v, err := c.collect(vs, outAxes[j], outBack[j] != 0, "body", n+j)
			if err != nil {
				return err
			}
			c.SetValue(n+j, v)
		}
	}
	return nil
}

// scan runs the body over slices of the scanned inputs.
func (c *Call) scan(state []*Value, scanned []*sinter.Tensor, elems []Elem, axes, back []int, length, collected int) ([]*Value, [][]*Value, error) {
	rows := make([][]*Value, collected)
	for t := range length {
		in := append([]*Value{}, state...)
		for i, x := range scanned {
			at := t
			if back[i] != 0 {
				at = length - 1 - t
			}
			in = append(in, c.Made(elems[i], x.At(axes[i], at)))
		}
		out, err := c.RunGraph("body", in...)
		if err != nil {
			return nil, nil, fmt.Errorf("iteration %d: %w", t, err)
		}
		if t > 0 {
			c.Drop(state...)
		}
		state = out[:len(state)]
		for j := range rows {
			rows[j] = append(rows[j], out[len(state)+j])
		}
		if err := c.Context().Err(); err != nil {
			return nil, nil, err
		}
	}
	return state, rows, nil
}

// perInput returns an attribute of n numbers, zeros if it is not there.
func perInput(c *Call, name string, n int) ([]int, error) {
	if !c.HasAttr(name) {
		return make([]int, n), nil
	}
	v := c.Ints(name)
	if len(v) != n {
		return nil, fmt.Errorf("the attribute %s has %d numbers, expected %d", name, len(v), n)
	}
	return v, nil
}

// scan8Op is the form of opset 8: a batch axis in front of everything, the
// scanned axis behind it, and lengths of the sequences as the first input.
func scan8Op(c *Call) error {
	m := c.Int("num_scan_inputs")
	n := c.NumIn() - 1 - m
	ins, outs := c.GraphArity("body")
	if m < 1 || n < 0 || ins != n+m || outs < n || c.NumOut() > outs {
		return fmt.Errorf("the body has %d inputs and %d outputs, the node %d and %d, %d of them scanned", ins, outs, c.NumIn(), c.NumOut(), m)
	}
	back, err := perInput(c, "directions", m)
	if err != nil {
		return err
	}
	shape := c.Shape(1 + n)
	if len(shape) < 2 {
		return fmt.Errorf("a scanned input has shape %v, expected axes of batch and sequence", shape)
	}
	batch, longest := shape[0], shape[1]
	lengths := make([]int, batch)
	for i := range lengths {
		lengths[i] = longest
	}
	if c.Has(0) {
		if lengths, err = c.HostInts(0); err != nil {
			return err
		}
	}
	if len(lengths) != batch {
		return fmt.Errorf("%d lengths for a batch of %d", len(lengths), batch)
	}
	final := make([][]*sinter.Tensor, n)
	finalElem := make([]Elem, n)
	stacked := make([][]*sinter.Tensor, outs-n)
	stackedElem := make([]Elem, outs-n)
	for b := range batch {
		if lengths[b] < 0 || lengths[b] > longest {
			return fmt.Errorf("length %d of a sequence of %d", lengths[b], longest)
		}
		state := make([]*Value, n)
		for i := range state {
			state[i] = c.Made(c.Elem(1+i), c.In(1+i).At(0, b))
		}
		scanned := make([]*sinter.Tensor, m)
		elems := make([]Elem, m)
		for i := range scanned {
			if s := c.Shape(1 + n + i); len(s) < 2 || s[0] != batch || s[1] != longest {
				return fmt.Errorf("a scanned input has shape %v, expected [%d %d ...]", s, batch, longest)
			}
			scanned[i] = c.In(1+n+i).At(0, b).Slice(sinter.Until(lengths[b]))
			elems[i] = c.Elem(1 + n + i)
		}
		state, rows, err := c.scan(state, scanned, elems, make([]int, m), back, lengths[b], outs-n)
		if err != nil {
			return err
		}
		for i, v := range state {
			final[i], finalElem[i] = append(final[i], c.Enter(v)), v.Elem
		}
		for j, vs := range rows {
			v, err := c.collect(vs, 0, false, "body", n+j)
			if err != nil {
				return err
			}
			t := v.tensor
			if short := longest - lengths[b]; short > 0 { // what is missing is 0
				fill := append([]int{short}, t.Shape()[1:]...)
				t = sinter.Concat(0, t, c.Own(c.Of().Zeros(t.DType(), fill...)))
			}
			stacked[j], stackedElem[j] = append(stacked[j], t), v.Elem
		}
	}
	if batch == 0 {
		return fmt.Errorf("the batch is empty")
	}
	for i, ts := range final {
		c.SetElem(i, finalElem[i], sinter.Stack(0, ts...))
	}
	for j, ts := range stacked {
		c.SetElem(n+j, stackedElem[j], sinter.Stack(0, ts...))
	}
	return nil
}
