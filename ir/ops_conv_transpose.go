package ir

// Transposed convolution without the zeros that a stride puts between elements.
// Elements of the result whose index has the same remainder by the stride meet the
// same taps of the kernel: they are a convolution with stride 1 by those taps alone.
// Remainders that have equally many taps look at the same windows of x, so they are
// rows of one product; there are at most two numbers of taps on an axis.

// phase is a range of remainders on an axis that have equally many taps.
type phase struct {
	from, to int // remainders by the stride
	taps     int // remainder r meets the taps r, r+stride, ... of the kernel
}

// spread is how the results of a transposed convolution lie along one axis.
type spread struct {
	stride, dilation int // one of them is 1
	phases           []phase
	most             int // taps of the first remainder
	first, count     int // quotients by the stride that are computed
	width            int // results that are computed
	lo, hi           int // padding of x for the phase of most taps
	skip             int // results before the first one that is wanted
}

// spreadOf lays an axis of n elements out, which gives out elements from lo on.
func spreadOf(kernel, stride, dilation, lo, n, out int) spread {
	out = max(out, 1) // of none, one is computed
	p := spread{stride: stride, dilation: dilation, first: lo / stride}
	p.count = (lo+out-1)/stride + 1 - p.first
	p.skip = lo - p.first*stride
	p.most = (kernel-1)/stride + 1
	from, to := 0, stride
	if p.width = p.count * stride; p.count == 1 { // nothing beside what is wanted
		from, to, p.width, p.skip = p.skip, p.skip+out, out, 0
	}
	full := kernel - (p.most-1)*stride // remainders that have most taps
	if from < full {
		p.phases = append(p.phases, phase{from, min(full, to), p.most})
	}
	if to > full {
		p.phases = append(p.phases, phase{max(full, from), to, p.most - 1})
	}
	p.lo = (p.most-1)*dilation - p.first
	p.hi = p.first + p.count - n
	return p
}

func decomposeConvTranspose(g Graph, in []Value, a Attrs) []Value {
	b := build{g}
	c, err := transposeOf(Lookup("conv_transpose"), a, b.shape(in[0]), b.shape(in[1]))
	if err != nil {
		return nil
	}
	y := in[0]
	t := transposed{convolution: c, build: b, w: in[1]}
	for i, s := range c.ws {
		stride := s.stride
		if s.dilation > 1 { // no remainder has taps in steps of the stride: a stride of 1 over zeros
			y, stride = b.stretch(y, 2+i, stride), 1
			if len(b.shape(y)) != len(c.x) { // it carries an error: too large
				return []Value{y}
			}
		}
		t.axes = append(t.axes, spreadOf(s.kernel, stride, s.dilation, s.lo, b.shape(y)[2+i], c.x[2+i]))
	}
	for i, p := range t.axes {
		y = b.border(y, 2+i, p.lo, p.hi, 0)
	}
	t.x = y
	x := t.joined(nil)
	wide := Shape{c.x[0], c.x[1]}
	for _, p := range t.axes {
		wide = append(wide, p.width)
	}
	x = b.reshape(x, wide...)
	for i, p := range t.axes {
		if n := c.x[2+i]; p.skip != 0 || n != wide[2+i] {
			x = b.slice(x, 2+i, p.skip, n, 1)
		}
	}
	return []Value{x}
}

// transposed is a transposed convolution while it is decomposed: x is padded.
type transposed struct {
	*convolution
	build
	x, w Value
	axes []spread
}

// joined returns the results of the phases that are chosen for the first axes and
// all phases of the others: [n·groups, out, (quotients, remainders) of each axis].
func (t *transposed) joined(chosen []phase) Value {
	i := len(chosen)
	if i == len(t.axes) {
		return t.product(chosen)
	}
	var parts []Value
	for _, p := range t.axes[i].phases {
		parts = append(parts, t.joined(append(chosen[:i:i], p)))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return t.do("concat", parts, "axis", 3+2*i)
}

// product computes the results of one phase on each axis.
func (t *transposed) product(chosen []phase) Value {
	c, d := t.convolution, len(chosen)
	out := c.w[1]
	shape := Shape{c.y[0] * c.groups, out}
	rows, taps := out, 1
	for i, p := range chosen {
		shape = append(shape, t.axes[i].count, p.to-p.from)
		rows *= p.to - p.from
		taps *= p.taps
	}
	if taps == 0 {
		return t.full(0, t.Type(t.x).DType, shape...)
	}
	// x: the windows of so many taps
	x, w := t.x, t.w
	ws := make([]sliding, d)
	for i, p := range chosen {
		a := t.axes[i]
		if off := (a.most - p.taps) * a.dilation; off > 0 {
			x = t.slice(x, 2+i, off, t.shape(x)[2+i]-off, 1)
		}
		ws[i] = sliding{kernel: p.taps, stride: 1, dilation: a.dilation}
	}
	// w: [in, out, taps..., remainders...], the last tap first
	for i, p := range chosen {
		n := (p.taps-1)*t.axes[i].stride + p.to - p.from
		w = t.slice(w, 2+i, p.from, n, 1)
		w = t.flip(t.do("unfold", []Value{w}, "axis", 2+i, "size", p.to-p.from, "step", t.axes[i].stride), 2+i)
	}
	axes := []int{0}
	for i := range chosen {
		axes = append(axes, 2+d+i)
	}
	axes = append(axes, 1)
	for i := range chosen {
		axes = append(axes, 2+i)
	}
	w = t.reshape(t.permute(w, axes...), c.groups, c.w[0]/c.groups, rows, taps)
	w = t.reshape(t.permute(w, 0, 2, 3, 1), c.groups, rows, taps*c.w[0]/c.groups)
	y := t.do("matmul", []Value{w, c.columns(t.build, x, ws)})
	// [n·groups, remainders..., out, quotients...]
	apart := Shape{shape[0]}
	for _, p := range chosen {
		apart = append(apart, p.to-p.from)
	}
	apart = append(apart, out)
	for _, a := range t.axes {
		apart = append(apart, a.count)
	}
	axes = []int{0, 1 + d}
	for i := range chosen {
		axes = append(axes, 2+d+i, 1+i)
	}
	return t.permute(t.reshape(y, apart...), axes...)
}
