package amd64

import (
	"fmt"
	"math/rand"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// agreeFault compares values and the fault noted.
func agreeFault(t *testing.T, k *kernel.Kernel, codes []*Code, in kernel.Executable, l *kernel.Launch) {
	t.Helper()
	ref, want := withOutputs(k, l)
	ref.Fault = new(kernel.Fault)
	in.Run(ref)
	code, at := ref.Fault.First()
	for _, c := range codes {
		ll, got := withOutputs(k, l)
		ll.Fault = new(kernel.Fault)
		c.Run(ll)
		if err := equalOutputs(k, want, got); err != nil {
			t.Fatalf("%v\n%v", err, k)
		}
		if code2, at2 := ll.Fault.First(); code != code2 || at != at2 {
			t.Fatalf("fault %v at %d, want %v at %d", code2, at2, code, at)
		}
	}
}

func TestDivision(t *testing.T) {
	r := rand.New(rand.NewSource(20))
	for _, d := range []ir.DType{ir.I32, ir.U32, ir.I64, ir.U64} {
		for _, op := range []kernel.Op{kernel.OpDiv, kernel.OpRem} {
			k := opKernel(op, d, d, 2)
			codes, in := prepare(t, k, true)
			for _, n := range sizes {
				agreeFault(t, k, codes, in, launch(r, k, []int64{n}, randomBits))
				agreeFault(t, k, codes, in, launch(r, k, []int64{n}, func(r *rand.Rand, t ir.DType) uint64 { return randomBits(r, t) | 1 }))
			}
		}
	}
}

// TestGather looks rows of a table up, and scales them.
func TestGather(t *testing.T) {
	r := rand.New(rand.NewSource(21))
	for _, d := range []ir.DType{ir.F32, ir.F64, ir.F16, ir.U8} {
		for _, index := range []ir.DType{ir.I32, ir.I64} {
			for _, alongLanes := range []bool{false, true} {
				b := kernel.NewBuilder(fmt.Sprintf("gather.%s.%s", d, index), []kernel.AxisKind{kernel.Parallel, kernel.Parallel})
				access, table := rowOut, []kernel.Access{kernel.Broadcast, kernel.Unit}
				if alongLanes {
					access, table = rowIn, []kernel.Access{kernel.Broadcast, kernel.Broadcast}
				}
				idx := b.Convert(b.Load(b.AddArg(arg(index, kernel.In, access...))), ir.I64)
				a := b.AddArg(kernel.Arg{Type: d, Dir: kernel.In, Access: table, Gather: true})
				c := d.Compute()
				v := b.Convert(b.Gather(a, idx), c)
				b.Store(b.AddArg(arg(d, kernel.Out, rowIn...)), b.Convert(b.Op(kernel.OpAdd, c, v, v), d))
				codes, in := prepare(t, b.K, true)
				for _, wild := range []bool{false, true} {
					for _, n := range []int64{1, 7, 16, 33, 100} {
						const extent = 9
						l := launch(r, b.K, []int64{5, n}, func(r *rand.Rand, t ir.DType) uint64 {
							if t == index && wild && r.Intn(9) == 0 {
								return randomBits(r, t)
							}
							if t == index {
								return uint64(r.Intn(extent))
							}
							return randomBits(r, t)
						})
						table := make([]byte, extent*n*8)
						for i := range table {
							table[i] = byte(r.Intn(256))
						}
						o := &l.Args[a]
						o.Base, o.Size, o.Offset = unsafe.Pointer(&table[0]), int64(len(table)), 0
						o.GatherExtent, o.GatherStride = extent, n
						agreeFault(t, b.K, codes, in, l)
					}
				}
			}
		}
	}
}
