package onnx

import (
	"fmt"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn/fn"
)

// windowAttrs are the attributes that operators over windows share.
func windowAttrs(more ...attrSpec) []attrSpec {
	return append([]attrSpec{strAttr("auto_pad", "NOTSET"), plainAttr("dilations", AttrInts), plainAttr("kernel_shape", AttrInts),
		plainAttr("pads", AttrInts), plainAttr("strides", AttrInts)}, more...)
}

var _ = register(
	opDef{name: "Conv", in: arity{2, 3}, out: one, attrs: windowAttrs(intAttr("group", 1)), run: func(c *Call) error {
		y, err := c.conv(c.In(0), c.In(1))
		if err != nil {
			return err
		}
		c.Set(0, addChannels(y, c.InOpt(2)))
		return nil
	}},
	opDef{name: "ConvTranspose", in: arity{2, 3}, out: one, run: convTransposeOp,
		attrs: windowAttrs(intAttr("group", 1), plainAttr("output_padding", AttrInts), plainAttr("output_shape", AttrInts))},
	opDef{name: "ConvInteger", since: 10, in: arity{2, 4}, out: one, attrs: windowAttrs(intAttr("group", 1)), run: func(c *Call) error {
		x, err := centred(c.In(0), c.InOpt(2), -1)
		if err != nil {
			return err
		}
		w, err := centred(c.In(1), c.InOpt(3), 0)
		if err != nil {
			return err
		}
		y, err := c.conv(x, w)
		if err != nil {
			return err
		}
		c.Set(0, y)
		return nil
	}},
	opDef{name: "CausalConvWithState", since: 27, in: arity{2, 4}, out: oneTwo, attrs: []attrSpec{strAttr("activation", "none")}, run: causalConvOp},
	opDef{name: "DeformConv", since: 19, in: arity{3, 5}, out: one, run: deformConvOp, attrs: []attrSpec{plainAttr("dilations", AttrInts),
		plainAttr("kernel_shape", AttrInts), plainAttr("pads", AttrInts), plainAttr("strides", AttrInts), intAttr("group", 1), intAttr("offset_group", 1)}},
	opDef{name: "Col2Im", since: 18, in: three, out: one, run: col2ImOp,
		attrs: []attrSpec{plainAttr("dilations", AttrInts), plainAttr("pads", AttrInts), plainAttr("strides", AttrInts)}},
)

// maxExtent bounds extents that operators compute with before a shape is checked.
const maxExtent = 1<<31 - 1

// maxHostWork bounds what operators compute with on the host beside data that is
// there: positions, masks, weights of neighbours.
const maxHostWork = 1 << 26

// hostRoom says whether an array with these extents may be made on the host.
func hostRoom(extents ...int) error {
	n := 1
	for _, d := range extents {
		if d > 0 && n > maxHostWork/d {
			return fmt.Errorf("%v positions are more than the %d that are worked out on the host", extents, maxHostWork)
		}
		n *= d
	}
	return nil
}

// windows are the parameters of windows over axes of space.
type windows struct {
	kernel, stride, dilation []int
	pad                      []int // before the axes, then after
}

// perAxis returns an attribute of n numbers, all of them one if it is not there.
func (c *Call) perAxis(name string, n, otherwise, least int) ([]int, error) {
	v := c.Ints(name)
	if !c.HasAttr(name) {
		v = make([]int, n)
		for i := range v {
			v[i] = otherwise
		}
	}
	if len(v) != n {
		return nil, fmt.Errorf("the attribute %s is %v, expected %d numbers", name, v, n)
	}
	for _, x := range v {
		if x < least || x > maxExtent {
			return nil, fmt.Errorf("the attribute %s is %v, expected numbers from %d on", name, v, least)
		}
	}
	return v, nil
}

// windows reads the attributes for axes of space; kernel is nil where the
// attribute kernel_shape says it.
func (c *Call) windows(space, kernel []int) (windows, error) {
	var w windows
	var err error
	n := len(space)
	if n < 1 {
		return w, fmt.Errorf("expected axes of space after batch and channels")
	}
	if kernel == nil && !c.HasAttr("kernel_shape") {
		return w, fmt.Errorf("the attribute kernel_shape is missing")
	}
	if w.kernel = kernel; kernel == nil || c.HasAttr("kernel_shape") {
		if w.kernel, err = c.perAxis("kernel_shape", n, 1, 1); err != nil {
			return w, err
		}
	}
	if kernel != nil && fmt.Sprint(kernel) != fmt.Sprint(w.kernel) {
		return w, fmt.Errorf("the attribute kernel_shape is %v, the weights say %v", w.kernel, kernel)
	}
	if w.stride, err = c.perAxis("strides", n, 1, 1); err != nil {
		return w, err
	}
	if w.dilation, err = c.perAxis("dilations", n, 1, 1); err != nil {
		return w, err
	}
	if w.pad, err = c.perAxis("pads", 2*n, 0, 0); err != nil {
		return w, err
	}
	switch auto := c.Str("auto_pad"); auto {
	case "", "NOTSET":
	case "VALID":
		w.pad = make([]int, 2*n)
	case "SAME_UPPER", "SAME_LOWER":
		for i, d := range space {
			out := (d + w.stride[i] - 1) / w.stride[i]
			w.padTo(i, (out-1)*w.stride[i]+w.span(i)-d, auto)
		}
	default:
		return w, fmt.Errorf("the attribute auto_pad is %q", auto)
	}
	return w, nil
}

// padTo splits the padding of an axis; SAME_UPPER puts the odd one after it.
func (w *windows) padTo(axis, total int, auto string) {
	total = max(total, 0)
	less := total / 2
	before, after := less, total-less
	if auto != "SAME_UPPER" {
		before, after = after, before
	}
	w.pad[axis], w.pad[len(w.pad)/2+axis] = before, after
}

// span is the extent of a window.
func (w *windows) span(axis int) int { return (w.kernel[axis]-1)*w.dilation[axis] + 1 }

// space returns the extents after batch and channels.
func space(t *sinter.Tensor) []int {
	if s := t.Shape(); len(s) > 2 {
		return s[2:]
	}
	return nil
}

// conv is the convolution that the attributes describe, without bias.
func (c *Call) conv(x, w *sinter.Tensor) (*sinter.Tensor, error) {
	if x.Err() != nil || w.Err() != nil || x.Rank() != w.Rank() {
		return nil, firstError(fmt.Errorf("the operands have %d and %d axes", x.Rank(), w.Rank()), x, w)
	}
	p, err := c.windows(space(x), space(w))
	if err != nil {
		return nil, err
	}
	return fn.Conv(x, w, nil, fn.ConvOptions{Stride: p.stride, Dilation: p.dilation, Pad: p.pad, Groups: c.Int("group")}), nil
}

// firstError returns the error that a tensor carries, or err.
func firstError(err error, ts ...*sinter.Tensor) error {
	for _, t := range ts {
		if e := t.Err(); e != nil {
			return e
		}
	}
	return err
}

// addChannels adds one number per channel, if there are any.
func addChannels(y, bias *sinter.Tensor) *sinter.Tensor {
	if bias == nil || y.Err() != nil {
		return y
	}
	return y.Add(alongAxis(bias, 1, y.Rank()))
}

// alongAxis shapes a tensor of one axis to broadcast along an axis of rank axes.
func alongAxis(t *sinter.Tensor, axis, rank int) *sinter.Tensor {
	shape := make([]int, max(rank-axis, 1))
	for i := range shape {
		shape[i] = 1
	}
	shape[0] = -1
	return t.Reshape(shape...)
}

// centred is a quantized tensor less its zero point, in i32: a number, or one
// for each position of an axis.
func centred(x, zero *sinter.Tensor, axis int) (*sinter.Tensor, error) {
	y := x.Cast(sinter.I32)
	switch {
	case zero == nil:
		return y, nil
	case zero.Size() == 1:
		return y.Sub(zero.Cast(sinter.I32).Reshape()), nil
	case axis < 0 || zero.Rank() != 1:
		return nil, fmt.Errorf("the zero point has shape %v", zero.Shape())
	}
	return y.Sub(alongAxis(zero.Cast(sinter.I32), axis, x.Rank())), nil
}

func convTransposeOp(c *Call) error {
	x, w := c.In(0), c.In(1)
	if x.Rank() != w.Rank() {
		return firstError(fmt.Errorf("the operands have %d and %d axes", x.Rank(), w.Rank()), x, w)
	}
	sp := space(x)
	n := len(sp)
	auto := c.Str("auto_pad")
	p, err := c.windows(sp, space(w))
	if err != nil {
		return err
	}
	extra, err := c.perAxis("output_padding", n, 0, 0)
	if err != nil {
		return err
	}
	var want []int
	switch {
	case c.HasAttr("output_shape"):
		want = c.Ints("output_shape")
		if len(want) == n+2 { // some exporters write batch and channels too
			want = want[2:]
		}
		if len(want) != n {
			return fmt.Errorf("the attribute output_shape is %v, expected %d numbers", want, n)
		}
	case auto == "SAME_UPPER", auto == "SAME_LOWER":
		for i, d := range sp {
			want = append(want, d*p.stride[i])
		}
	}
	for i, d := range want {
		total := p.stride[i]*(sp[i]-1) + extra[i] + p.span(i) - d
		p.padTo(i, total, auto)
		if total < 0 { // zeros at the end make up for what is missing
			extra[i] -= total
		}
	}
	tail := make([][2]int, n) // an end that no window reaches
	any := false
	for i := range extra {
		if over := extra[i] - (p.stride[i] - 1); over > 0 {
			extra[i] -= over
			tail[i][1], any = over, true
		}
	}
	y := fn.ConvTranspose(x, w, nil, fn.ConvOptions{Stride: p.stride, Dilation: p.dilation, Pad: p.pad, Groups: c.Int("group"), Extra: extra})
	if any {
		y = y.Pad(0, tail...)
	}
	c.Set(0, addChannels(y, c.InOpt(2)))
	return nil
}

// causalConvOp is a depthwise convolution along the last axis that sees the past
// only, of which it takes and returns what the kernel needs.
func causalConvOp(c *Call) error {
	x, w := c.In(0), c.In(1)
	if x.Rank() != 3 || w.Rank() != 3 {
		return firstError(fmt.Errorf("the input has %d axes, the weights %d, expected 3", x.Rank(), w.Rank()), x, w)
	}
	past := w.Dim(2) - 1
	if c.Has(3) {
		if x = sinter.Concat(2, c.In(3), x); len(c.Shape(3)) != 3 || c.Shape(3)[2] != past {
			return fmt.Errorf("the past state has shape %v, the kernel needs %d positions", c.Shape(3), past)
		}
	} else {
		x = x.Pad(0, [2]int{past, 0})
	}
	y := addChannels(fn.Conv(x, w, nil, fn.ConvOptions{Groups: w.Dim(0)}), c.InOpt(2))
	switch act := c.Str("activation"); act {
	case "", "none":
	case "silu", "swish":
		y = y.Silu()
	default:
		return fmt.Errorf("the attribute activation is %q", act)
	}
	c.Set(0, y)
	if c.Wants(1) {
		n := x.Dim(2)
		c.Set(1, x.Slice(sinter.All(), sinter.All(), sinter.Span(n-past, n)))
	}
	return nil
}

// col2ImOp adds up blocks into images: the adjoint of cutting windows.
func col2ImOp(c *Call) error {
	image, err := c.HostInts(1)
	if err != nil {
		return err
	}
	block, err := c.HostInts(2)
	if err != nil {
		return err
	}
	n := len(image)
	shape := c.Shape(0)
	if n < 1 || len(block) != n || len(shape) != 3 {
		return fmt.Errorf("an image of shape %v in blocks of %v from %v", image, block, shape)
	}
	w := windows{kernel: block}
	if w.stride, err = c.perAxis("strides", n, 1, 1); err != nil {
		return err
	}
	if w.dilation, err = c.perAxis("dilations", n, 1, 1); err != nil {
		return err
	}
	if w.pad, err = c.perAxis("pads", 2*n, 0, 0); err != nil {
		return err
	}
	size, count := 1, 1
	counts := make([]int, n)
	for i, k := range block {
		if k < 1 || image[i] < 1 || k > maxExtent || image[i] > maxExtent {
			return fmt.Errorf("an image of shape %v in blocks of %v", image, block)
		}
		counts[i] = (image[i]+w.pad[i]+w.pad[n+i]-w.span(i))/w.stride[i] + 1
		if size, count = size*k, count*max(counts[i], 0); size > shape[1] || count > shape[2] {
			return fmt.Errorf("an image of shape %v in blocks of %v from %v", image, block, shape)
		}
	}
	if shape[1]%size != 0 || shape[2] != count {
		return fmt.Errorf("an image of shape %v has %d blocks of %v, the input has shape %v", image, count, block, shape)
	}
	// [batch, channels, blocks' extents, counts] to [batch, channels, counts,
	// blocks' extents from the last one on]: each fold eats the last axis.
	full := append(append([]int{shape[0], shape[1] / size}, block...), counts...)
	axes := []int{0, 1}
	for i := range n {
		axes = append(axes, 2+n+i)
	}
	for i := n - 1; i >= 0; i-- {
		axes = append(axes, 2+i)
	}
	y := c.In(0).Reshape(full...).Permute(axes...)
	crop := []sinter.Range{sinter.All(), sinter.All()}
	for i := range n {
		y = y.Fold(2+i, image[i]+w.pad[i]+w.pad[n+i], w.stride[i], w.dilation[i])
		crop = append(crop, sinter.Span(w.pad[i], w.pad[i]+image[i]))
	}
	c.Set(0, y.Slice(crop...))
	return nil
}
