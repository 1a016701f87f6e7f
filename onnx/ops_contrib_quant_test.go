package onnx

import (
	"math"
	"testing"

	"github.com/sinter-go/sinter"
)

// bytes are numbers that u8 holds.
func codes(seed uint64, shape ...int) array {
	a := noise(seed, shape...)
	for i := range a.v {
		a.v[i] = math.Floor((a.v[i] + 1) * 127.9)
	}
	return a
}

// plain are the numbers that codes stand for.
func plain(a array, scale, zero float64) array {
	return filled(func(at []int) float64 { return (a.at(at...) - zero) * scale }, a.shape...)
}

// code is the inverse of plain, with a margin: whether a number near the middle of
// two codes goes up or down is up to the last bit.
func coded(t *testing.T, what string, got, want array, scale, zero float64) {
	t.Helper()
	if len(got.v) != len(want.v) {
		t.Fatalf("%s: shape %v, expected %v", what, got.shape, want.shape)
	}
	for i, w := range want.v {
		y := min(max(w/scale+zero, 0), 255)
		if math.Abs(got.v[i]-y) > 0.5+1e-3 {
			t.Fatalf("%s: element %d is %v, expected %v rounded", what, i, got.v[i], y)
		}
	}
}

func scalar(v float32) *sinter.Tensor  { return sinter.Scalar(v) }
func zeroPoint(v uint8) *sinter.Tensor { return sinter.Scalar(v) }
func microsoftOp(name string, a ...*Attr) applied {
	return applied{domain: microsoft, op: name, attrs: a}
}

func TestQLinearOperators(t *testing.T) {
	a, b := codes(1, 2, 3, 4), codes(2, 3, 4)
	x, z := plain(a, 0.5, 120), plain(b, 0.25, 130)
	qa := []*sinter.Tensor{a.as(sinter.U8), scalar(0.5), zeroPoint(120)}
	both := append(qa[:3:3], b.as(sinter.U8), scalar(0.25), zeroPoint(130))
	to := func(scale float32, zero uint8) []*sinter.Tensor {
		return []*sinter.Tensor{scalar(scale), zeroPoint(zero)}
	}
	map1 := func(f func(float64) float64) array {
		return filled(func(at []int) float64 { return f(x.at(at...)) }, x.shape...)
	}
	coded(t, "add", microsoftOp("QLinearAdd").one(t, append(both[:6:6], to(0.75, 100)...)...), sum(x, z), 0.75, 100)
	mul := filled(func(at []int) float64 { return x.at(at...) * z.at(at[1:]...) }, 2, 3, 4)
	coded(t, "mul", microsoftOp("QLinearMul").one(t, append(both[:6:6], to(8, 100)...)...), mul, 8, 100)
	coded(t, "sigmoid", microsoftOp("QLinearSigmoid").one(t, append(qa[:3:3], to(1.0/256, 0)...)...), map1(func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }), 1.0/256, 0)
	leaky := map1(func(v float64) float64 { return max(v, 0) + 0.25*min(v, 0) })
	coded(t, "leaky", microsoftOp("QLinearLeakyRelu", floatA("alpha", 0.25)).one(t, append(qa[:3:3], to(0.5, 90)...)...), leaky, 0.5, 90)
	mean := filled(func(at []int) float64 {
		s := 0.0
		for i := range 3 {
			s += x.at(at[0], i, at[2]) / 3
		}
		return s
	}, 2, 1, 4)
	coded(t, "mean", microsoftOp("QLinearReduceMean", intsA("axes", 1), intA("keepdims", 1)).one(t, append(qa[:3:3], to(0.5, 120)...)...), mean, 0.5, 120)
	soft := filled(func(at []int) float64 {
		s := 0.0
		for i := range 4 {
			s += math.Exp(x.at(at[0], at[1], i) - x.at(at...))
		}
		return 1 / s
	}, 2, 3, 4)
	coded(t, "softmax", microsoftOp("QLinearSoftmax", intA("opset", 13), intA("axis", -1)).one(t, append(qa[:3:3], to(1.0/256, 0)...)...), soft, 1.0/256, 0)
	cat := filled(func(at []int) float64 {
		if at[0] < 3 {
			return z.at(at[0], at[1])
		}
		return z.at(at[0]-3, at[1])
	}, 6, 4)
	one := []*sinter.Tensor{b.as(sinter.U8), scalar(0.25), zeroPoint(130)}
	coded(t, "concat", microsoftOp("QLinearConcat", intA("axis", 0)).one(t, append(append(to(0.5, 128), one...), one...)...), cat, 0.5, 128)
	pool := filled(func(at []int) float64 { return (x.at(at[0], at[1], at[2]) + x.at(at[0], at[1], at[2]+1)) / 2 }, 2, 3, 3)
	coded(t, "average", microsoftOp("QLinearAveragePool", intsA("kernel_shape", 2)).one(t, append(qa[:3:3], to(0.5, 120)...)...), pool, 0.5, 120)
}

func TestQGemm(t *testing.T) {
	a, b := codes(1, 4, 3), codes(2, 5, 4) // both transposed
	bias := filled(func(at []int) float64 { return float64(100*at[0] - 150) }, 5)
	want := filled(func(at []int) float64 {
		s := bias.v[at[1]]
		for k := range 4 {
			s += (a.at(k, at[0]) - 100) * (b.at(at[1], k) - 140)
		}
		return s * 0.1 * 0.2
	}, 3, 5)
	in := []*sinter.Tensor{a.as(sinter.U8), scalar(0.1), zeroPoint(100), b.as(sinter.U8), scalar(0.2), zeroPoint(140), bias.as(sinter.I32)}
	op := microsoftOp("QGemm", intA("transA", 1), intA("transB", 1))
	near(t, "in f32", op.one(t, in...), want, 1e-5)
	coded(t, "quantized", op.one(t, append(in, scalar(5), zeroPoint(128))...), want, 5, 128)
}

func TestIntegerProductsToFloat(t *testing.T) {
	a, b, bias := codes(1, 2, 3, 4), codes(2, 4, 5), noise(3, 5)
	columns := filled(func(at []int) float64 { return 0.01 * float64(at[0]+1) }, 5)
	want := filled(func(at []int) float64 {
		s := 0.0
		for k := range 4 {
			s += (a.at(at[0], at[1], k) - 99) * (b.at(k, at[2]) - 131)
		}
		return s*0.5*columns.v[at[2]] + bias.v[at[2]]
	}, 2, 3, 5)
	near(t, "MatMulIntegerToFloat", microsoftOp("MatMulIntegerToFloat").one(t, a.as(sinter.U8), b.as(sinter.U8), scalar(0.5), columns.f32(), zeroPoint(99), zeroPoint(131), bias.f32()), want, 1e-5)
	// Dynamic quantization is within half a step of each element.
	x := noise(4, 2, 4)
	got := microsoftOp("DynamicQuantizeMatMul").one(t, x.f32(), b.as(sinter.U8), scalar(0.01), zeroPoint(131))
	want = filled(func(at []int) float64 {
		s := 0.0
		for k := range 4 {
			s += x.at(at[0], k) * (b.at(k, at[1]) - 131) * 0.01
		}
		return s
	}, 2, 5)
	near(t, "DynamicQuantizeMatMul", got, want, 4*1.3*2/255)
}

func TestMatMulNBits(t *testing.T) {
	const k, n, block = 40, 3, 16
	blocks := (k + block - 1) / block
	x := noise(1, 2, k)
	for _, bits := range []int{2, 4, 8} {
		most := float64(int(1)<<bits - 1)
		q := filled(func(at []int) float64 { return float64((at[0]*7 + at[1]*5 + at[1]/3) % (1 << bits)) }, n, blocks*block)
		scales := noise(2, n, blocks)
		zero := filled(func(at []int) float64 { return math.Mod(float64(at[0]+2*at[1]), most) }, n, blocks)
		pack := func(a array) array { // the low bits first
			per := 8 / bits
			w := (a.shape[1] + per - 1) / per
			return filled(func(at []int) float64 {
				v := 0
				for i := range per {
					if j := at[1]*per + i; j < a.shape[1] {
						v |= int(a.at(at[0], j)) << (i * bits)
					}
				}
				return float64(v)
			}, n, w)
		}
		want := func(zero func(n, b int) float64) array {
			return filled(func(at []int) float64 {
				s := 0.0
				for i := range k {
					s += x.at(at[0], i) * (q.at(at[1], i) - zero(at[1], i/block)) * scales.at(at[1], i/block)
				}
				return s
			}, 2, n)
		}
		op := microsoftOp("MatMulNBits", intA("K", k), intA("N", n), intA("block_size", block), intA("bits", int64(bits)))
		w := pack(q).as(sinter.U8).Reshape(n, blocks, -1)
		middle := math.Exp2(float64(bits - 1))
		near(t, "default zero point", op.one(t, x.f32(), w, scales.f32()), want(func(int, int) float64 { return middle }), 1e-4)
		near(t, "packed zero points", op.one(t, x.f32(), w, scales.f32().Flatten(), pack(zero).as(sinter.U8)), want(func(n, b int) float64 { return zero.at(n, b) }), 1e-4)
		near(t, "zero points in f32", op.one(t, x.f32(), w, scales.f32(), zero.f32()), want(func(n, b int) float64 { return zero.at(n, b) }), 1e-4)
	}
}

func TestGatherBlockQuantized(t *testing.T) {
	const rows, width, block = 5, 32, 16
	q := filled(func(at []int) float64 { return float64((at[0]*3 + at[1]*7) % 16) }, rows, width)
	packed := filled(func(at []int) float64 { return q.at(at[0], 2*at[1]) + 16*q.at(at[0], 2*at[1]+1) }, rows, width/2)
	scales := noise(1, rows, width/block)
	got := microsoftOp("GatherBlockQuantized", intA("block_size", block)).one(t, packed.as(sinter.U8), sinter.FromSlice([]int64{4, 0, 2}, 3), scales.f32())
	pick := []int{4, 0, 2}
	near(t, "rows", got, filled(func(at []int) float64 {
		return (q.at(pick[at[0]], at[1]) - 8) * scales.at(pick[at[0]], at[1]/block)
	}, 3, width), 1e-6)
}
