//go:build linux && amd64

package amd64

import (
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

func addKernel(d ir.DType) *kernel.Kernel {
	b := kernel.NewBuilder("add", par1)
	c := d.Compute()
	x := b.Convert(b.Load(b.AddArg(arg(d, kernel.In, kernel.Unit))), c)
	if d == ir.Bool {
		b.Store(b.AddArg(arg(d, kernel.Out, kernel.Unit)), b.Op(kernel.OpNot, c, x))
		return b.K
	}
	b.Store(b.AddArg(arg(d, kernel.Out, kernel.Unit)), b.Convert(b.Op(kernel.OpAdd, c, x, x), d))
	return b.K
}

func TestNilPointerRecovers(t *testing.T) {
	k := addKernel(ir.F32)
	codes, _ := prepare(t, k, true)
	for _, c := range codes {
		func() {
			defer func() {
				if _, ok := recover().(runtime.Error); !ok {
					t.Error("no runtime error")
				}
			}()
			l := &kernel.Launch{Extents: []int64{16}, Args: []kernel.Operand{{Strides: []int64{1}}, {Strides: []int64{1}}}}
			c.Run(l)
		}()
	}
}

// TestStress runs kernels while the collector works and stacks grow and move.
func TestStress(t *testing.T) {
	k := addKernel(ir.F32)
	codes, _ := prepare(t, k, true)
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	stop := time.Now().Add(time.Second)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := 0; time.Now().Before(stop); i++ {
				deep(t, codes[(g+i)%len(codes)], 1+(i*7)%40)
			}
		})
	}
	wg.Go(func() {
		for time.Now().Before(stop) {
			runtime.GC()
		}
	})
	wg.Wait()
}

// deep grows the stack before it calls.
func deep(t *testing.T, c *Code, depth int) byte {
	var pad [512]byte
	pad[depth] = 1
	if depth > 0 {
		return deep(t, c, depth-1) + pad[depth]
	}
	x, y := make([]float32, 1000), make([]float32, 1000)
	for i := range x {
		x[i] = float32(i)
	}
	one := []int64{1}
	c.Run(&kernel.Launch{Extents: []int64{1000}, Args: []kernel.Operand{
		{Base: unsafe.Pointer(&x[0]), Size: 4000, Strides: one}, {Base: unsafe.Pointer(&y[0]), Size: 4000, Strides: one},
	}})
	for i := range y {
		if y[i] != 2*float32(i) {
			t.Errorf("element %d is %v", i, y[i])
			break
		}
	}
	return pad[0]
}

// TestBounds puts operands right before and right behind pages that may not be
// touched.
func TestBounds(t *testing.T) {
	const page = 4096
	region := func() []byte {
		m, err := syscall.Mmap(-1, 0, 5*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Munmap(m) })
		for _, guard := range [][]byte{m[:page], m[4*page:]} {
			if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
				t.Fatal(err)
			}
		}
		return m
	}
	x, y := region(), region()
	one := []int64{1}
	for _, d := range ir.DTypes() {
		k := addKernel(d)
		codes, _ := prepare(t, k, true)
		for _, c := range codes {
			for n := int64(1); n < 140; n++ {
				size := n * int64(d.Size())
				for _, at := range []int64{page, 4*page - size} {
					c.Run(&kernel.Launch{Extents: []int64{n}, Args: []kernel.Operand{
						{Base: unsafe.Pointer(&x[at]), Size: size, Strides: one}, {Base: unsafe.Pointer(&y[at]), Size: size, Strides: one},
					}})
				}
			}
		}
	}
	for _, d := range []ir.DType{ir.F32, ir.F64, ir.BF16} { // tiles of turned operands
		codes, _ := prepare(t, transposedMatmul(d), true)
		for _, c := range codes {
			for n := int64(1); n < 40; n++ {
				for _, steps := range []int64{1, 15, 16, 33} {
					size := n * steps * int64(d.Size())
					for _, at := range []int64{page, 4*page - size} {
						one, row := make([]byte, steps*8), make([]byte, n*8)
						c.Run(&kernel.Launch{Extents: []int64{1, n, steps}, Args: []kernel.Operand{
							{Base: unsafe.Pointer(&one[0]), Size: steps * 8, Strides: []int64{0, 0, 1}},
							{Base: unsafe.Pointer(&x[at]), Size: size, Strides: []int64{0, steps, 1}},
							{Base: unsafe.Pointer(&row[0]), Size: n * 8, Strides: []int64{0, 1, 0}},
						}})
					}
				}
			}
		}
	}
	for _, d := range []ir.DType{ir.F32, ir.F64, ir.F16} {
		codes, _ := prepare(t, softmax(d, 1, kernel.StripedTree), true)
		for _, c := range codes {
			for n := int64(1); n < 280; n++ {
				size := n * int64(d.Size())
				s := []int64{0, 1}
				at := 4*page - size
				c.Run(&kernel.Launch{Extents: []int64{1, n}, Args: []kernel.Operand{
					{Base: unsafe.Pointer(&x[at]), Size: size, Strides: s}, {Base: unsafe.Pointer(&y[at]), Size: size, Strides: s},
				}})
			}
		}
	}
}
