package contract

import (
	"fmt"
	"math/rand"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// windowKernel is a convolution over axes (batch, out, kernel row, kernel column,
// channel, row, column), as it is lowered, with a bias and an activation.
func windowKernel(f ir.DType, step int64) *kernel.Kernel {
	p, red := kernel.Parallel, kernel.Reduced
	s, o, u := kernel.Strided, kernel.Broadcast, kernel.Unit
	b := kernel.NewBuilder("conv", []kernel.AxisKind{p, p, red, red, red, p, p})
	inner := u
	if step != 1 {
		inner = s
	}
	w := b.Load(b.AddArg(kernel.Arg{Type: f, Dir: kernel.In, Access: []kernel.Access{o, s, s, u, s, o, o}}))
	x := b.Load(b.AddArg(kernel.Arg{Type: f, Dir: kernel.In, Access: []kernel.Access{s, o, s, s, s, s, inner}}))
	y := b.Reduce(kernel.Dot, kernel.DotTree, w, x)
	bias := b.Load(b.AddArg(kernel.Arg{Type: f, Dir: kernel.In, Access: []kernel.Access{o, u, o, o, o, o, o}}))
	y = b.Op(kernel.OpMax, f, b.Op(kernel.OpAdd, f, y, bias), b.AddParam(f))
	b.Store(b.AddArg(kernel.Arg{Type: f, Dir: kernel.Out, Access: []kernel.Access{s, s, o, o, o, s, u}}), y)
	return b.K
}

// TestWindows: convolutions of all steps and dilations as products over overlapping
// windows have the bits of the interpreter.
func TestWindows(t *testing.T) {
	n := 25
	if *long {
		n = 2000
	}
	for _, level := range levels(t) {
		r := rand.New(rand.NewSource(4))
		for range n {
			pick := func(most int) int64 { return 1 + int64(r.Intn(most)) }
			f := []ir.DType{ir.F32, ir.F32, ir.F64}[r.Intn(3)]
			batch, out, kh, kw, channels, rows, cols, step, dilation := pick(3), pick(40), pick(3), pick(4), pick(12), pick(9), pick(50), pick(3), pick(2)
			k := windowKernel(f, step)
			c, err := Compile(k, level)
			if err != nil {
				t.Fatal(err)
			}
			height, width := (rows-1)*step+(kh-1)*dilation+1, (cols-1)*step+(kw-1)*dilation+1
			es := int64(f.Size())
			arg := func(size int64, strides ...int64) kernel.Operand {
				m := newBuffer(size * es)
				v := values{r, r.Intn(3) == 0}
				for i := range size {
					put(unsafe.Add(m.base(), i*es), int(es), v.bits(f))
				}
				return kernel.Operand{Base: m.base(), Size: size * es, Strides: strides}
			}
			taps := kh * kw
			l := &kernel.Launch{Extents: []int64{batch, out, kh, kw, channels, rows, cols}, Params: []uint64{0}, Args: []kernel.Operand{
				arg(out*channels*taps, 0, channels*taps, kw, 1, taps, 0, 0),
				arg(batch*channels*height*width, channels*height*width, 0, dilation*width, dilation, height*width, step*width, step),
				arg(out, 0, 1, 0, 0, 0, 0, 0),
				arg(batch*out*rows*cols, out*rows*cols, rows*cols, 0, 0, 0, cols, 1),
			}}
			t.Run(fmt.Sprint(f, l.Extents, step, dilation), func(t *testing.T) { agree(t, r, c, l) })
		}
	}
}
