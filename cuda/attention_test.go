package cuda_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/cuda/driver"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/ptx"
)

// lines is a tensor of a test: the values of its dtype, laid out by strides.
type lines struct {
	t       ir.DType
	shape   ir.Shape
	strides []int64
	offset  int64
	data    []byte
	values  []float64 // decoded, if not nil
}

func newLines(t ir.DType, shape ...int) *lines {
	s := ir.Shape(shape)
	return &lines{t: t, shape: s, strides: s.Strides(), data: make([]byte, s.Size()*t.Size())}
}

func (a *lines) place(index ...int) int {
	o := a.offset
	for i, x := range index {
		o += int64(x) * a.strides[i]
	}
	return int(o)
}

func (a *lines) set(v float64, index ...int) {
	a.values = nil
	bits := ir.MakeScalar(a.t, v).Bits
	at := a.place(index...) * a.t.Size()
	for i := range a.t.Size() {
		a.data[at+i] = byte(bits >> (8 * i))
	}
}

func (a *lines) at(index ...int) float64 {
	if a.values != nil {
		return a.values[a.place(index...)]
	}
	return floatAt(a.t, a.data, a.place(index...))
}

// decode makes at fast, until elements are set.
func (a *lines) decode() *lines {
	a.values = make([]float64, len(a.data)/a.t.Size())
	for i := range a.values {
		a.values[i] = floatAt(a.t, a.data, i)
	}
	return a
}

// each calls f for every index.
func (a *lines) each(f func(index []int)) {
	index := make([]int, len(a.shape))
	for range a.shape.Size() {
		f(index)
		for i := len(index) - 1; i >= 0; i-- {
			if index[i]++; index[i] < a.shape[i] {
				break
			}
			index[i] = 0
		}
	}
}

func (a *lines) fill(r *rand.Rand, scale float64) *lines {
	a.each(func(i []int) { a.set(scale*r.NormFloat64(), i...) })
	return a.decode()
}

// apart has the same values with the axes in another order in memory, and room between
// the elements of the last one.
func (a *lines) apart(step int64, order ...int) *lines {
	b := &lines{t: a.t, shape: a.shape, strides: make([]int64, len(a.shape)), offset: 3}
	n := step
	for i := len(order) - 1; i >= 0; i-- {
		b.strides[order[i]] = n
		n *= int64(a.shape[order[i]])
	}
	b.data = make([]byte, int(n+3)*a.t.Size())
	a.each(func(i []int) { b.set(a.at(i...), i...) })
	return b
}

// view is a range of an axis.
func (a *lines) view(axis, from, to int) *lines {
	b := *a
	b.shape = a.shape.Clone()
	b.shape[axis] = to - from
	b.offset += int64(from) * a.strides[axis]
	return &b
}

// applyNode runs a node by native kernels, its results poisoned before.
func applyNode(d *device, row string, attrs []ir.Named, in ...*lines) (out []*lines, err error) {
	r := ir.Lookup(row)
	a, err := r.MakeAttrs(attrs)
	if err != nil {
		return nil, err
	}
	n := &ir.Node{Row: r, Attrs: a}
	mem := &memory{ctx: d.ctx}
	defer func() { _ = mem.free() }()
	var tensors []kernel.Tensor
	var at []driver.Ptr
	put := func(x *lines) error {
		p, err := mem.alloc(uint64(len(x.data)))
		if err != nil {
			return err
		}
		base := uintptr(p)
		tensors = append(tensors, kernel.Tensor{Type: ir.Type{DType: x.t, Shape: x.shape},
			Operand: kernel.Operand{Base: *(*unsafe.Pointer)(unsafe.Pointer(&base)), Size: int64(len(x.data)), Offset: x.offset, Strides: x.strides}})
		at = append(at, p)
		return d.ctx.CopyToDevice(p, x.data)
	}
	for _, x := range in {
		n.In = append(n.In, ir.Tensor{Type: ir.Type{DType: x.t, Shape: x.shape}})
		if err := put(x); err != nil {
			return nil, err
		}
	}
	types, err := ir.Infer(r, n.InTypes(), a)
	if err != nil {
		return nil, err
	}
	for _, t := range types {
		x := newLines(t.DType, t.Shape...)
		for i := range x.data {
			x.data[i] = 0xff // NaN
		}
		out = append(out, x)
		if err := put(x); err != nil {
			return nil, err
		}
	}
	plan, err := d.natives.Plan(n, tensors)
	if err != nil {
		return nil, err
	}
	if plan == nil {
		return nil, fmt.Errorf("no native kernel")
	}
	scratch, err := mem.alloc(uint64(plan.Scratch) + 256)
	if err != nil {
		return nil, err
	}
	if err := d.run(d.ctx.DefaultStream(), plan, scratch, 0); err != nil {
		return nil, err
	}
	for i, x := range out {
		if err := d.ctx.CopyToHost(x.data, at[len(in)+i]); err != nil {
			return nil, fmt.Errorf("%s: %w", entryNames(plan), err)
		}
	}
	return out, nil
}

// attention is a case of a test: q [b, heads, l, d] and so on.
type attention struct {
	b, heads, shared, l, s, d, e int
	causal                       bool
	window                       int
	scale                        float64
	q, k, v, bias                *lines
	dy, lse, delta               *lines
}

func (c *attention) String() string {
	return fmt.Sprintf("%s [%d %d/%d %d/%d %d/%d] causal %v, window %d, bias %v", c.q.t, c.b, c.heads, c.shared, c.l, c.s, c.d, c.e, c.causal, c.window, c.bias != nil)
}

func (c *attention) attrs() []ir.Named {
	return ir.A("causal", c.causal, "window", c.window, "scale", c.scale)
}

func (c *attention) fill(r *rand.Rand, t ir.DType) *attention {
	c.q, c.k, c.v = newLines(t, c.b, c.heads, c.l, c.d).fill(r, 1), newLines(t, c.b, c.shared, c.s, c.d).fill(r, 1), newLines(t, c.b, c.shared, c.s, c.e).fill(r, 1)
	return c
}

func (c *attention) forward(d *device) ([]*lines, error) {
	if c.bias != nil {
		return applyNode(d, "attention_bias", c.attrs(), c.q, c.k, c.v, c.bias)
	}
	return applyNode(d, "attention", c.attrs(), c.q, c.k, c.v)
}

// exact is the definition in double precision, for one query: the weights, and lse.
func (c *attention) exact(b, h, i int) (p []float64, lse float64) {
	p = make([]float64, c.s)
	top := math.Inf(-1)
	scale := ir.AttentionScale(c.scale, c.d)
	for j := range p {
		at := i + c.s - c.l
		p[j] = math.Inf(-1)
		if c.causal && j > at || c.window > 0 && j <= at-c.window {
			continue
		}
		dot := 0.0
		for x := range c.d {
			dot += c.q.at(b, h, i, x) * c.k.at(b, h*c.shared/c.heads, j, x)
		}
		p[j] = dot * scale
		if c.bias != nil {
			z := c.bias.at(b%c.bias.shape[0], h%c.bias.shape[1], i%c.bias.shape[2], j%c.bias.shape[3])
			if p[j] += z; math.IsInf(z, -1) {
				p[j] = z
			}
		}
		top = max(top, p[j])
	}
	if math.IsInf(top, -1) {
		return make([]float64, c.s), top
	}
	sum := 0.0
	for j := range p {
		p[j] = math.Exp(p[j] - top)
		sum += p[j]
	}
	for j := range p {
		p[j] /= sum
	}
	return p, top + math.Log(sum)
}

// near reports how far results are from the definition: the norm of the difference, and
// its largest element over the largest one. Elements below the floor, which cancel, count
// as that.
type near struct{ off, norm, worst, most, floor float64 }

func (n *near) add(got, want float64) {
	if math.IsNaN(got) != math.IsNaN(want) {
		n.off = math.NaN()
		return
	}
	if math.IsNaN(want) || got == want {
		return
	}
	size := max(n.floor, math.Abs(want))
	n.off += (got - want) * (got - want)
	n.norm += size * size
	n.worst, n.most = max(n.worst, math.Abs(got-want)), max(n.most, size)
}

func (n *near) check(norm, worst float64) error {
	off, w := math.Sqrt(n.off/max(n.norm, 1e-30)), n.worst/max(n.most, 1e-3)
	if !(off <= norm) || !(w <= worst) {
		return fmt.Errorf("off by %.3g of the norm and %.3g of the largest element", off, w)
	}
	return nil
}

// checkForward compares some queries with the definition.
func (c *attention) checkForward(r *rand.Rand, out []*lines) error {
	var y near
	for range 40 {
		b, h, i := r.IntN(c.b), r.IntN(c.heads), r.IntN(c.l)
		p, lse := c.exact(b, h, i)
		if got := out[1].at(b, h, i); !(math.Abs(got-lse) <= 1e-4*(1+math.Abs(lse))) && got != lse {
			return fmt.Errorf("query %d %d %d: lse is %v, want %v", b, h, i, got, lse)
		}
		for x := range c.e {
			want := 0.0
			for j := range p {
				if p[j] != 0 {
					want += p[j] * c.v.at(b, h*c.shared/c.heads, j, x)
				}
			}
			y.add(out[0].at(b, h, i, x), want)
		}
	}
	return y.check(8e-3, 2e-2)
}

// equalLines reports the first difference between two results in bits, any NaN being like
// any other.
func equalLines(got, want *lines) error {
	var first error
	want.each(func(i []int) {
		g, w := got.at(i...), want.at(i...)
		if first == nil && math.Float64bits(g) != math.Float64bits(w) && (g == g || w == w) {
			first = fmt.Errorf("element %v is %v, want %v", append([]int(nil), i...), g, w)
		}
	})
	return first
}

// statistics fills in what gradients need: dy at random, lse, and delta by the definition.
func (c *attention) statistics(r *rand.Rand) {
	c.dy = newLines(c.q.t, c.b, c.heads, c.l, c.e).fill(r, 1)
	c.lse, c.delta = newLines(ir.F32, c.b, c.heads, c.l), newLines(ir.F32, c.b, c.heads, c.l)
	c.lse.each(func(at []int) {
		b, h, i := at[0], at[1], at[2]
		p, lse := c.exact(b, h, i)
		delta := 0.0
		for j := range p {
			if p[j] != 0 {
				delta += p[j] * c.dot(b, h, i, j)
			}
		}
		c.lse.set(lse, at...)
		c.delta.set(delta, at...)
	})
	c.lse.decode()
	c.delta.decode()
}

// dot is dy · v of a query and a key.
func (c *attention) dot(b, h, i, j int) (sum float64) {
	for x := range c.e {
		sum += c.dy.at(b, h, i, x) * c.v.at(b, h*c.shared/c.heads, j, x)
	}
	return sum
}

func (c *attention) gradient(d *device, row string) ([]*lines, error) {
	bias := c.bias
	if bias == nil {
		bias = newLines(c.q.t)
	}
	return applyNode(d, row, c.attrs(), c.q, c.k, c.v, bias, c.dy, c.lse, c.delta)
}

// checkGradients compares gradients with the definition, for some queries and keys.
func (c *attention) checkGradients(r *rand.Rand, dq, dk, dv *lines) error {
	scale := ir.AttentionScale(c.scale, c.d)
	ds := func(b, h, i int, p []float64, j int) float64 { return p[j] * (c.dot(b, h, i, j) - c.delta.at(b, h, i)) }
	q, k, v := near{floor: 0.05}, near{floor: 0.05}, near{floor: 0.05}
	for range 12 {
		b, h, i := r.IntN(c.b), r.IntN(c.heads), r.IntN(c.l)
		p, _ := c.exact(b, h, i)
		want := make([]float64, c.d)
		for j := range p {
			if p[j] == 0 {
				continue
			}
			s := ds(b, h, i, p, j) * scale
			for x := range want {
				want[x] += s * c.k.at(b, h*c.shared/c.heads, j, x)
			}
		}
		for x, w := range want {
			q.add(dq.at(b, h, i, x), w)
		}
	}
	group := c.heads / c.shared
	for range 4 {
		b, h, j := r.IntN(c.b), r.IntN(c.shared), r.IntN(c.s)
		wantK, wantV := make([]float64, c.d), make([]float64, c.e)
		for g := range group {
			for i := range c.l {
				p, _ := c.exact(b, h*group+g, i)
				if p[j] == 0 {
					continue
				}
				s := ds(b, h*group+g, i, p, j) * scale
				for x := range wantK {
					wantK[x] += s * c.q.at(b, h*group+g, i, x)
				}
				for x := range wantV {
					wantV[x] += p[j] * c.dy.at(b, h*group+g, i, x)
				}
			}
		}
		for x, w := range wantK {
			k.add(dk.at(b, h, j, x), w)
		}
		for x, w := range wantV {
			v.add(dv.at(b, h, j, x), w)
		}
	}
	for _, n := range []struct {
		name string
		near near
	}{{"dq", q}, {"dk", k}, {"dv", v}} {
		if err := n.near.check(2e-2, 5e-2); err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
	}
	return nil
}

func randomAttention(r *rand.Rand, try int) *attention {
	pick := func(list ...int) int { return list[r.IntN(len(list))] }
	c := &attention{b: 1 + r.IntN(2), shared: 1 + r.IntN(2), l: pick(1, 5, 64, 65, 128, 130, 200), s: pick(1, 7, 64, 65, 129, 200, 290),
		causal: r.IntN(2) == 0}
	c.heads = c.shared * (1 + r.IntN(2))
	if r.IntN(3) == 0 {
		c.window = 1 + r.IntN(200)
	}
	widths := [][2]int{{64, 64}, {128, 128}, {128, 64}, {40, 24}, {125, 99}, {64, 64}, {128, 128}, {1, 72}, {80, 80}}[try%9] // few: each takes compiling
	c.d, c.e = widths[0], widths[1]
	c.fill(r, []ir.DType{ir.BF16, ir.BF16, ir.F16}[try%3])
	if try%4 == 0 {
		c.bias = newLines(c.q.t, pick(1, c.b), pick(1, c.heads), pick(1, c.l), pick(1, c.s)).fill(r, 1)
		c.bias.each(func(i []int) {
			if r.IntN(5) == 0 {
				c.bias.set(math.Inf(-1), i...)
			}
		})
	}
	return c
}

// TestAttention compares attention on the matrix units with its definition.
func TestAttention(t *testing.T) {
	d := openHopper(t)
	r := rand.New(rand.NewPCG(1, 2))
	var tasks []func()
	for try := range 60 {
		seed := r.Uint64()
		tasks = append(tasks, func() {
			r := rand.New(rand.NewPCG(5, seed))
			c := randomAttention(r, try)
			err := d.ctx.Do(func() error {
				out, err := c.forward(d)
				if err != nil {
					return err
				}
				if err := c.checkForward(r, out); err != nil {
					return err
				}
				c.statistics(r)
				dq, err := c.gradient(d, "attention_grad_q")
				if err != nil {
					return err
				}
				dkv, err := c.gradient(d, "attention_grad_kv")
				if err != nil {
					return err
				}
				return c.checkGradients(r, dq[0], dkv[0], dkv[1])
			})
			if err != nil {
				t.Errorf("%v: %v", c, err)
			}
		})
	}
	onAll(tasks)
}

// onAll runs tasks on all processors: the compiler of the driver is slow and runs on one.
func onAll(tasks []func()) {
	queue := make(chan func())
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for f := range queue {
				f()
			}
		})
	}
	for _, f := range tasks {
		queue <- f
	}
	close(queue)
	wg.Wait()
}

// openHopper opens a device with matrix units, or skips the test.
func openHopper(t *testing.T) *device {
	d := openDevice(t)
	if d.target.Major != 9 {
		t.Skipf("skipped: compute capability %d.%d has other matrix units", d.target.Major, d.target.Minor)
	}
	return d
}

// TestAttentionBits: a query has the same bits alone and among others, in any layout, in
// a step of decoding, and whatever lies in keys and values that are hidden from it.
func TestAttentionBits(t *testing.T) {
	d := openHopper(t)
	r := rand.New(rand.NewPCG(3, 4))
	var tasks []func()
	for try := range 12 {
		seed := r.Uint64()
		tasks = append(tasks, func() {
			if err := d.ctx.Do(func() error { return checkBits(d, rand.New(rand.NewPCG(7, seed)), try) }); err != nil {
				t.Error(err)
			}
		})
	}
	onAll(tasks)
}

// checkBits is a try of TestAttentionBits.
func checkBits(d *device, r *rand.Rand, try int) error {
	c := (&attention{b: 2, heads: 4, shared: 2, l: 300, s: 300, d: []int{64, 128}[try%2], e: []int{64, 128, 24}[try%3], causal: true}).fill(r, []ir.DType{ir.BF16, ir.F16}[try/6])
	if try%4 > 1 {
		c.window = 150
	}
	whole, err := c.forward(d)
	if err != nil {
		return err
	}
	check := func(what string, one *attention, b, h, i int) error {
		got, err := one.forward(d)
		if err != nil {
			return fmt.Errorf("%s of %v: %w", what, c, err)
		}
		for k, w := range whole {
			w = w.view(0, b, b+one.b).view(1, h, h+one.heads).view(2, i, i+one.l)
			if err := equalLines(got[k], w); err != nil {
				return fmt.Errorf("%s of %v: result %d: %w", what, c, k, err)
			}
		}
		return nil
	}
	alone := *c
	alone.b, alone.heads, alone.shared = 1, 2, 1
	alone.q, alone.k, alone.v = c.q.view(0, 1, 2).view(1, 2, 4), c.k.view(0, 1, 2).view(1, 1, 2), c.v.view(0, 1, 2).view(1, 1, 2)
	if err := check("two heads", &alone, 1, 2, 0); err != nil {
		return err
	}
	apart := *c
	apart.q, apart.k, apart.v = c.q.apart(1, 0, 2, 1, 3), c.k.apart(2, 0, 2, 1, 3), c.v.apart(1, 3, 2, 1, 0)
	if err := check("another layout", &apart, 0, 0, 0); err != nil {
		return err
	}
	for _, i := range []int{0, 1, 63, 64, 127, 128, 200, 299} {
		step := *c
		step.l, step.s = 1, i+1
		step.q, step.k, step.v = c.q.view(2, i, i+1), c.k.view(2, 0, i+1), c.v.view(2, 0, i+1)
		if err := check(fmt.Sprint("step ", i), &step, 0, 0, i); err != nil {
			return err
		}
	}
	// Later keys there, hidden by a bias.
	biased := *c
	biased.causal, biased.window = false, 0
	biased.l, biased.q = 1, c.q.view(2, 200, 201)
	biased.bias = newLines(c.q.t, 1, 1, 1, c.s)
	for j := range c.s {
		if j > 200 || c.window > 0 && j <= 200-c.window {
			biased.bias.set(math.Inf(-1), 0, 0, 0, j)
		}
	}
	if err := check("a step over all keys", &biased, 0, 0, 200); err != nil {
		return err
	}
	part := *c
	part.l, part.s = 77, 200
	part.q, part.k, part.v = c.q.view(2, 123, 200), c.k.view(2, 0, 200), c.v.view(2, 0, 200)
	if err := check("some queries", &part, 0, 0, 123); err != nil {
		return err
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		hidden := *c
		hidden.k, hidden.v = c.k.apart(1, 0, 1, 2, 3), c.v.apart(1, 0, 1, 2, 3)
		for h := range c.shared {
			for x := range c.d {
				hidden.k.set(bad, 0, h, 200, x)
			}
			hidden.v.set(bad, 0, h, 210, 3)
		}
		got, err := hidden.forward(d)
		if err != nil {
			return err
		}
		if err := equalLines(got[0].view(2, 0, 200), whole[0].view(2, 0, 200)); err != nil {
			return fmt.Errorf("%v with %v in hidden keys: %w", c, bad, err)
		}
		for _, i := range []int{200, 205, 215, 299} {
			if v := got[0].at(0, 1, i, 3); !math.IsNaN(v) && !math.IsInf(v, 0) {
				return fmt.Errorf("%v: query %d sees %v and gives %v", c, i, bad, v)
			}
		}
		onlyV := *c
		onlyV.v = hidden.v
		if got, err = onlyV.forward(d); err != nil {
			return err
		}
		for i := range c.l {
			for x := range c.e {
				g, w := got[0].at(0, 1, i, x), whole[0].at(0, 1, i, x)
				if i >= 210 && x == 3 && (c.window == 0 || i < 210+c.window) {
					w = bad
				}
				if g != w && (g == g || w == w) {
					return fmt.Errorf("%v with %v in value 210: query %d, element %d is %v, want %v", c, bad, i, x, g, w)
				}
			}
		}
	}
	return nil
}

// TestAttentionGradientBits: gradients have the same bits in any layout and batch, and
// whatever lies in what is hidden.
func TestAttentionGradientBits(t *testing.T) {
	d := openHopper(t)
	var tasks []func()
	for try := range 8 {
		tasks = append(tasks, func() {
			if err := d.ctx.Do(func() error { return checkGradientBits(d, rand.New(rand.NewPCG(9, uint64(try))), try) }); err != nil {
				t.Error(err)
			}
		})
	}
	onAll(tasks)
}

func checkGradientBits(d *device, r *rand.Rand, try int) error {
	c := (&attention{b: 2, heads: 2, shared: 1, l: 200, s: 200, d: []int{64, 128}[try%2], e: []int{64, 128, 24}[try%3], causal: true}).fill(r, []ir.DType{ir.BF16, ir.F16}[try/4])
	if try%4 > 1 {
		c.window = 90
	}
	c.statistics(r)
	all := func(c *attention) ([]*lines, error) {
		dq, err := c.gradient(d, "attention_grad_q")
		if err != nil {
			return nil, err
		}
		dkv, err := c.gradient(d, "attention_grad_kv")
		return append(dq, dkv...), err
	}
	whole, err := all(c)
	if err != nil {
		return err
	}
	apart := *c
	apart.q, apart.k, apart.v, apart.dy = c.q.apart(1, 0, 2, 1, 3), c.k.apart(2, 0, 2, 1, 3), c.v.apart(1, 3, 2, 1, 0), c.dy.apart(1, 2, 0, 1, 3)
	apart.lse, apart.delta = c.lse.apart(2, 2, 1, 0), c.delta.apart(1, 1, 0, 2)
	alone := *c
	alone.b = 1
	alone.q, alone.k, alone.v, alone.dy = c.q.view(0, 1, 2), c.k.view(0, 1, 2), c.v.view(0, 1, 2), c.dy.view(0, 1, 2)
	alone.lse, alone.delta = c.lse.view(0, 1, 2), c.delta.view(0, 1, 2)
	for name, other := range map[string]*attention{"another layout": &apart, "a batch alone": &alone} {
		got, err := all(other)
		if err != nil {
			return fmt.Errorf("%s of %v: %w", name, c, err)
		}
		for i, w := range whole {
			if err := equalLines(got[i], w.view(0, c.b-other.b, c.b)); err != nil {
				return fmt.Errorf("%s of %v: result %d: %w", name, c, i, err)
			}
		}
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		// Key 150 and value 151 are hidden from the queries before.
		keys := *c
		keys.k, keys.v = c.k.apart(1, 0, 1, 2, 3), c.v.apart(1, 0, 1, 2, 3)
		keys.k.set(bad, 0, 0, 150, 3)
		keys.v.set(bad, 0, 0, 151, 2)
		got, err := all(&keys)
		if err != nil {
			return err
		}
		if err := equalLines(got[0].view(2, 0, 150), whole[0].view(2, 0, 150)); err != nil {
			return fmt.Errorf("%v with %v in hidden keys: dq: %w", c, bad, err)
		}
		if v := got[0].at(0, 1, 170, 3); v == v && !math.IsInf(v, 0) {
			return fmt.Errorf("%v: query 170 sees %v and has the gradient %v", c, bad, v)
		}
		// Query 40 does not see the keys behind; nor does dy of query 41.
		queries := *c
		queries.q, queries.dy = c.q.apart(1, 0, 1, 2, 3), c.dy.apart(1, 0, 1, 2, 3)
		queries.q.set(math.NaN(), 0, 1, 40, 3)
		queries.dy.set(bad, 0, 1, 41, 2)
		if got, err = all(&queries); err != nil {
			return err
		}
		for i := 1; i < 3; i++ {
			if err := equalLines(got[i].view(2, 42, c.s), whole[i].view(2, 42, c.s)); err != nil {
				return fmt.Errorf("%v with %v in queries that do not see: result %d: %w", c, bad, i, err)
			}
		}
		if v := got[2].at(0, 0, 41, 2); v == v && !math.IsInf(v, 0) {
			return fmt.Errorf("%v: value 41 is seen by %v and has the gradient %v", c, bad, v)
		}
	}
	return nil
}

// TestMeasureAttention prints the rate of attention.
func TestMeasureAttention(t *testing.T) {
	b := newBench(t, openHopper)
	for _, row := range []string{"attention", "attention_grad_q", "attention_grad_kv"} {
		products := map[string]float64{"attention": 2, "attention_grad_q": 3, "attention_grad_kv": 4}[row]
		for _, s := range [][5]int{{1, 16, 4096, 128, 1}, {1, 16, 16384, 128, 1}, {1, 16, 4096, 128, 0}, {1, 16, 4096, 64, 1}, {8, 12, 512, 64, 1}} {
			ms, names, err := b.nodeTime(row, ir.BF16, s)
			if err != nil {
				t.Errorf("%s %v: %v", row, s, err)
				continue
			}
			flops := products * 2 * float64(s[0]*s[1]) * float64(s[2]) * float64(s[2]) * float64(s[3])
			if s[4] == 1 {
				flops /= 2
			}
			t.Logf("%-18s %v %10.1f µs %8.1f TFLOP/s %s", row, s, ms*1000, flops/ms/1e9, names)
		}
	}
}

// nodeTime is the time of attention over operands in the pool.
func (b *bench) nodeTime(row string, t ir.DType, size [5]int) (ms float64, names string, err error) {
	r := ir.Lookup(row)
	attrs, err := r.MakeAttrs(ir.A("causal", size[4] == 1))
	if err != nil {
		return 0, "", err
	}
	n := &ir.Node{Row: r, Attrs: attrs}
	x := ir.Type{DType: t, Shape: ir.Shape{size[0], size[1], size[2], size[3]}}
	stat := ir.Type{DType: ir.F32, Shape: x.Shape[:3]}
	types := []ir.Type{x, x, x}
	if row != "attention" {
		types = append(types, ir.Type{DType: t, Shape: ir.Shape{}}, x, stat, stat)
	}
	for _, t := range types {
		n.In = append(n.In, ir.Tensor{Type: t})
	}
	out, err := ir.Infer(r, types, attrs)
	if err != nil {
		return 0, "", err
	}
	tensors, _ := tensorsAt(uintptr(b.pool), append(types, out...)...)
	plan, err := ptx.NewNatives(b.target).Plan(n, tensors)
	if err != nil || plan == nil {
		return 0, "", fmt.Errorf("no plan: %v", err)
	}
	if err := b.fill(); err != nil {
		return 0, "", err
	}
	f, err := b.function(plan.Steps[len(plan.Steps)-1].Entry)
	if err != nil {
		return 0, "", err
	}
	local, _ := f.Attribute(driver.FunctionLocalBytes)
	ms, err = b.time(3, func(int) error { return b.run(b.stream, plan, b.scrat, b.fault) })
	return ms, fmt.Sprintf("%s, %d bytes spilled", entryNames(plan), local), err
}
