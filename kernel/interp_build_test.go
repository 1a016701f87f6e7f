package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// kb builds kernels for tests.
type kb struct{ k *Kernel }

func newKB(axes ...AxisKind) *kb { return &kb{&Kernel{Name: "test", Axes: axes}} }

const (
	pp = Parallel
	rr = Reduced
)

func (b *kb) arg(t ir.DType, dir Direction, access ...Access) int {
	b.k.Args = append(b.k.Args, Arg{Type: t, Dir: dir, Access: access})
	return len(b.k.Args) - 1
}

func (b *kb) emit(op Op, t ir.DType, imm uint64, refs ...Ref) Ref {
	in := Instr{Op: op, Type: t, A: None, B: None, C: None, Imm: imm}
	for i, r := range refs {
		*[...]*Ref{&in.A, &in.B, &in.C}[i] = r
	}
	b.k.Body = append(b.k.Body, in)
	return Ref(len(b.k.Body) - 1)
}

func (b *kb) load(t ir.DType, access ...Access) Ref {
	return b.emit(OpLoad, t, uint64(b.arg(t, In, access...)))
}

func (b *kb) store(v Ref, access ...Access) {
	t := b.k.Body[v].Type
	b.emit(OpStore, t, uint64(b.arg(t, Out, access...)), v)
}

func (b *kb) reduce(op Op, kind ReduceKind, tree Tree, t ir.DType, refs ...Ref) Ref {
	b.k.Reductions = append(b.k.Reductions, Reduction{kind, tree})
	return b.emit(op, t, uint64(len(b.k.Reductions)-1), refs...)
}

func (b *kb) build(t testing.TB) Executable {
	t.Helper()
	x, err := NewInterpreter(b.k)
	if err != nil {
		t.Fatalf("%v\n%s", err, b.k)
	}
	return x
}

// op binds a slice, from element offset with the given strides.
func op[T any](x []T, offset int64, strides ...int64) Operand {
	var p unsafe.Pointer
	if len(x) > 0 {
		p = unsafe.Pointer(&x[0])
	}
	return Operand{Base: p, Size: int64(len(x)) * int64(unsafe.Sizeof(*new(T))), Offset: offset, Strides: strides}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

// sameF reports equal bits, one NaN being as good as another.
func sameF[T float](a, b T) bool {
	if a != a || b != b {
		return a != a && b != b
	}
	return a == b && math.Signbit(float64(a)) == math.Signbit(float64(b))
}

// awkward returns a value that rounds, cancels or is special.
func awkward(r *rand.Rand) float32 {
	switch r.IntN(12) {
	case 0:
		return [...]float32{0, float32(math.Copysign(0, -1)), 1, -1, math.MaxFloat32, math.SmallestNonzeroFloat32, -0x1p-126, 3}[r.IntN(8)]
	case 1:
		return math.Float32frombits(r.Uint32()&0x807fffff | uint32(100+r.IntN(60))<<23)
	default:
		return float32(r.NormFloat64())
	}
}

var (
	nan32     = float32(math.NaN())
	negZero32 = float32(math.Copysign(0, -1))
)

func isNegZero(v float32) bool { return v == 0 && math.Signbit(float64(v)) }

func fma64(a, b, c float64) float64 { return math.FMA(a, b, c) }
