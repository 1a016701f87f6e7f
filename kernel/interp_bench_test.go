package kernel

import (
	"testing"

	"github.com/sinter-go/sinter/ir"
)

// BenchmarkElementwise is a body of ten instructions on data in cache; ns/instr
// is per element and instruction, load and store included.
func BenchmarkElementwise(b *testing.B) {
	for _, o := range []Op{OpAdd, OpMul, OpDiv, OpMax, OpFma, OpFloor} {
		b.Run(o.String(), func(b *testing.B) {
			k := newKB(pp)
			x, y := k.load(ir.F32, Unit), k.load(ir.F32, Unit)
			for range 7 {
				switch o.Arity() {
				case 1:
					x = k.emit(o, ir.F32, 0, x)
				case 2:
					x = k.emit(o, ir.F32, 0, x, y)
				default:
					x = k.emit(o, ir.F32, 0, x, y, y)
				}
			}
			k.store(x, Unit)
			const n = 1 << 16
			p, q, r := make([]float32, n), make([]float32, n), make([]float32, n)
			rnd := newRand(1)
			for i := range p {
				p[i], q[i] = rnd.Float32()+0.5, rnd.Float32()+0.5
			}
			x0 := k.build(b)
			l := &Launch{Extents: []int64{n}, Args: []Operand{op(p, 0, 1), op(q, 0, 1), op(r, 0, 1)}}
			for b.Loop() {
				x0.Run(l)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n/10, "ns/instr")
		})
	}
}

func BenchmarkDot(b *testing.B) {
	for _, c := range []struct {
		name string
		n    int64
	}{{"matmul", 256}, {"matvec", 1}} {
		b.Run(c.name, func(b *testing.B) {
			const m, kk = 64, 512
			k := newKB(pp, rr, pp)
			x := k.load(ir.F32, Strided, Unit, Broadcast)
			y := k.load(ir.F32, Broadcast, Strided, Unit)
			k.store(k.reduce(OpReduce, Dot, DotTree, ir.F32, x, y), Strided, Broadcast, Unit)
			p, q, r := make([]float32, m*kk), make([]float32, kk*c.n), make([]float32, m*c.n)
			rnd := newRand(1)
			for i := range p {
				p[i] = float32(rnd.NormFloat64())
			}
			for i := range q {
				q[i] = float32(rnd.NormFloat64())
			}
			x0 := k.build(b)
			l := &Launch{Extents: []int64{m, kk, c.n}, Args: []Operand{op(p, 0, kk, 1, 0), op(q, 0, 0, c.n, 1), op(r, 0, c.n, 0, 1)}}
			for b.Loop() {
				x0.Run(l)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(m*kk*c.n), "ns/fma")
		})
	}
}

func BenchmarkSum(b *testing.B) {
	for _, inner := range []int64{1, 256} {
		b.Run(map[int64]string{1: "rows", 256: "columns"}[inner], func(b *testing.B) {
			c := reduceCase{16, 4096, inner}
			k := newKB(pp, rr, pp)
			k.store(k.reduce(OpReduce, Sum, SumTree(inner), ir.F32, k.load(ir.F32, Strided, Strided, Unit)), Strided, Broadcast, Unit)
			in, out := make([]float32, c.outer*c.red*inner), make([]float32, c.outer*inner)
			x := k.build(b)
			l := &Launch{Extents: []int64{c.outer, c.red, inner}, Args: []Operand{op(in, 0, c.red*inner, inner, 1), op(out, 0, inner, 0, 1)}}
			for b.Loop() {
				x.Run(l)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(in)), "ns/elem")
		})
	}
}

// BenchmarkSmall is the cost of a launch that does next to nothing.
func BenchmarkSmall(b *testing.B) {
	k := newKB(pp)
	x := k.load(ir.F32, Unit)
	for range 10 {
		x = k.emit(OpAdd, ir.F32, 0, x, k.emit(OpConst, ir.F32, 0x3f800000))
	}
	k.store(x, Unit)
	p, q := make([]float32, 16), make([]float32, 16)
	x0 := k.build(b)
	l := &Launch{Extents: []int64{16}, Args: []Operand{op(p, 0, 1), op(q, 0, 1)}}
	b.ReportAllocs()
	for b.Loop() {
		x0.Run(l)
	}
}
