package contract

import (
	"math/rand"
	"runtime/debug"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// TestRowsAlone: a row of many has the bits that it has alone, whatever the tiles.
func TestRowsAlone(t *testing.T) {
	r := rand.New(rand.NewSource(7))
	for _, d := range []ir.DType{ir.F32, ir.F64, ir.BF16, ir.I8} {
		for _, transposed := range []bool{false, true} {
			k := matmul(d, transposed)
			for _, level := range levels(t) {
				c, err := Compile(k, level)
				if err != nil {
					t.Fatal(err)
				}
				m, n, kk := int64(1+r.Intn(40)), int64(1+r.Intn(150)), int64(1000+r.Intn(100))
				l := dense(k, m, kk, n)
				all, want := outputs(k, l)
				c.Run(all)
				alone, got := outputs(k, l)
				for i := range m {
					c.Run(alone.Slice(0, i, i+1))
				}
				if err := equal(k, want, got); err != nil {
					t.Errorf("%s, %s, %dx%dx%d, transposed %v: %v", level, d, m, n, kk, transposed, err)
				}
			}
		}
	}
}

// TestCollected: memory that only addresses name is not collected meanwhile.
func TestCollected(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	r := rand.New(rand.NewSource(8))
	stop := make(chan bool)
	go func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = make([]byte, 1<<16)
			}
		}
	}()
	defer close(stop)
	for range 15 {
		s := randomShape(r)
		k := randomKernel(r, s)
		for _, level := range levels(t) {
			if c, err := Compile(k, level); err == nil {
				agree(t, r, c, launch(values{r, false}, k, randomExtents(r, s)))
			}
		}
	}
}

// TestSurroundings: scalar programs with rare blocks and division by data around the
// product.
func TestSurroundings(t *testing.T) {
	r := rand.New(rand.NewSource(9))
	b := kernel.NewBuilder("surroundings", []kernel.AxisKind{kernel.Parallel, kernel.Reduced, kernel.Parallel})
	row := func(name string, v kernel.Ref) kernel.Ref {
		row := ir.Lookup(name)
		names, err := b.Expand(row.Program(ir.F32), kernel.Env{T: ir.F32, Names: map[string]kernel.Ref{row.OperandAt(0).Name: v}})
		if err != nil {
			t.Fatal(err)
		}
		return names[row.ResultName(0)]
	}
	x := b.Load(b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.In, Access: []kernel.Access{kernel.Strided, kernel.Unit, kernel.Broadcast}}))
	z := b.Load(b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.In, Access: []kernel.Access{kernel.Broadcast, kernel.Strided, kernel.Unit}}))
	v := b.Reduce(kernel.Dot, kernel.DotTree, row("sin", x), row("exp", z))
	count := b.Load(b.AddArg(kernel.Arg{Type: ir.I32, Dir: kernel.In, Access: []kernel.Access{kernel.Broadcast, kernel.Broadcast, kernel.Unit}}))
	v = b.Op(kernel.OpAdd, ir.F32, row("cos", v), b.Convert(b.Op(kernel.OpDiv, ir.I32, b.Const(ir.I32, 1000), count), ir.F32))
	b.Store(b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.Out, Access: []kernel.Access{kernel.Strided, kernel.Broadcast, kernel.Unit}}), v)
	if len(b.K.Rares) == 0 {
		t.Error("no rare block to keep")
	}
	for _, level := range levels(t) {
		c, err := Compile(b.K, level)
		if err != nil {
			t.Fatal(err)
		}
		for _, zero := range []bool{false, true} {
			l := launch(values{r, true}, b.K, []int64{17, 90, 35})
			for i := range l.Args[2].Size / 4 {
				divisor := uint64(1 + r.Intn(9))
				if zero && i == 11 {
					divisor = 0
				}
				put(unsafe.Add(l.Args[2].Base, 4*i), 4, divisor)
			}
			agree(t, r, c, l)
		}
	}
}
