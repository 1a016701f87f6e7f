package contract

import (
	"fmt"
	"math/rand"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// slideKernel is a depthwise convolution over axes (channel, batch, row, column,
// kernel row, kernel column), with something after it or nothing.
func slideKernel(r *rand.Rand, f ir.DType, unit bool) *kernel.Kernel {
	p, red := kernel.Parallel, kernel.Reduced
	b := kernel.NewBuilder("slide", []kernel.AxisKind{p, p, p, red, red, p})
	s, o := kernel.Strided, kernel.Broadcast
	inner := s
	if unit {
		inner = kernel.Unit
	}
	w := b.Load(b.AddArg(kernel.Arg{Type: f, Dir: kernel.In, Access: []kernel.Access{s, o, o, s, kernel.Unit, o}}))
	x := b.Load(b.AddArg(kernel.Arg{Type: f, Dir: kernel.In, Access: []kernel.Access{s, s, s, s, s, inner}}))
	y := b.Reduce(kernel.Dot, kernel.DotTree, w, x)
	out := f
	switch r.Intn(4) {
	case 0: // bias, and the activation
		bias := b.Load(b.AddArg(kernel.Arg{Type: f, Dir: kernel.In, Access: []kernel.Access{s, o, o, o, o, o}}))
		y = b.Op(kernel.OpMax, f, b.Op(kernel.OpAdd, f, y, bias), b.AddParam(f))
	case 1: // a residual
		y = b.Op(kernel.OpAdd, f, y, b.Load(b.AddArg(kernel.Arg{Type: f, Dir: kernel.In, Access: []kernel.Access{s, s, s, o, o, kernel.Unit}})))
	case 2: // where it lies, to half precision
		y = b.Op(kernel.OpAdd, f, y, b.Convert(b.Index(5), f))
		out = ir.F16
		y = b.Convert(y, out)
	}
	b.Store(b.AddArg(kernel.Arg{Type: out, Dir: kernel.Out, Access: []kernel.Access{s, s, s, o, o, kernel.Unit}}), y)
	return b.K
}

// TestSlide: problems of one row whose columns are windows, of all steps, with gaps
// between pictures, and whatever follows, have the bits of the interpreter.
func TestSlide(t *testing.T) {
	n := 40
	if *long {
		n = 4000
	}
	for _, level := range levels(t) {
		r := rand.New(rand.NewSource(3))
		slid := 0
		for range n {
			f := []ir.DType{ir.F32, ir.F32, ir.F64}[r.Intn(3)]
			step := []int64{1, 1, 2, 2, 3}[r.Intn(5)]
			k := slideKernel(r, f, step == 1)
			c, err := Compile(k, level)
			if err != nil {
				t.Fatal(err)
			}
			pick := func(most int) int64 { return 1 + int64(r.Intn(most)) }
			extents := []int64{pick(4), pick(2), pick(60), pick(4), pick(4), pick(70)}
			if r.Intn(3) == 0 {
				extents[2], extents[5] = pick(9), pick(9)
			}
			l := launch(values{r, r.Intn(2) == 0}, k, extents)
			if w := &l.Args[0]; r.Intn(5) > 0 {
				taps := extents[3] * extents[4]
				w.Strides, w.Offset, w.Size = []int64{taps, 0, 0, extents[4], 1, 0}, 0, extents[0]*taps*int64(f.Size())
				m := newBuffer(w.Size)
				w.Base = m.base()
				for i := range extents[0] * taps {
					put(unsafe.Add(w.Base, i*int64(f.Size())), f.Size(), values{r, false}.bits(f))
				}
			}
			// windows over pictures with a border
			across, down := pick(2), pick(2)
			width := (extents[5]-1)*step + (extents[4]-1)*across + pick(3)
			height := (extents[2]-1)*step + (extents[3]-1)*down + pick(3)
			a := &l.Args[1]
			a.Strides = []int64{width * height, extents[0] * width * height, step * width, down * width, across, step}
			a.Offset = int64(r.Intn(3))
			if r.Intn(4) == 0 && extents[2] > 1 { // rows backwards
				a.Strides[2] = -a.Strides[2]
				a.Offset -= a.Strides[2] * (extents[2] - 1)
			}
			size := extents[0]*extents[1]*width*height + 3
			es := int64(f.Size())
			m := newBuffer(size * es)
			a.Base, a.Size = m.base(), size*es
			for i := range size {
				put(unsafe.Add(a.Base, i*es), int(es), values{r, r.Intn(2) == 0}.bits(f))
			}
			if !tooSmall(l) && c.slide(l) != nil {
				slid++
			}
			t.Run(fmt.Sprint(extents, step), func(t *testing.T) { agree(t, r, c, l) })
		}
		if slid < n/8 {
			t.Errorf("%s: %d of %d problems slide", level, slid, n)
		}
	}
}
