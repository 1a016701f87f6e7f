package backendtest

import (
	"math"
	"math/big"

	"github.com/sinter-go/sinter/ir"
)

// definitions compute results from what the rows mean. Elementwise rows with a
// Ref need none.
var definitions map[string]func(x *testCase, in []host) []expected

func init() {
	definitions = map[string]func(x *testCase, in []host) []expected{
		"eq":  comparison(func(c int, nan bool) bool { return !nan && c == 0 }),
		"ne":  comparison(func(c int, nan bool) bool { return nan || c != 0 }),
		"lt":  comparison(func(c int, nan bool) bool { return !nan && c < 0 }),
		"le":  comparison(func(c int, nan bool) bool { return !nan && c <= 0 }),
		"gt":  comparison(func(c int, nan bool) bool { return !nan && c > 0 }),
		"ge":  comparison(func(c int, nan bool) bool { return !nan && c >= 0 }),
		"and": bitwise(func(a ...uint64) uint64 { return a[0] & a[1] }),
		"or":  bitwise(func(a ...uint64) uint64 { return a[0] | a[1] }),
		"xor": bitwise(func(a ...uint64) uint64 { return a[0] ^ a[1] }),
		"not": defineNot, "where": bitwise(func(a ...uint64) uint64 {
			if a[0] != 0 {
				return a[1]
			}
			return a[2]
		}),
		"cast": defineCast, "full": defineFull, "iota": defineIota,
		"reshape": defineReshape, "permute": definePermute, "expand": defineExpand, "slice": defineSlice, "strided": defineStrided,
		"concat": defineConcat, "gather": defineGather, "scatter_add": defineScatter, "nonzero": defineNonZero,
		"unfold": defineUnfold, "diagonal": defineDiagonal, "set_slice": defineSetSlice,
		"take_along": defineTakeAlong, "scatter_along": defineScatterAlong, "gather_nd": defineGatherND, "scatter_nd": defineScatterND,
		"sort": defineSort("descending"), "topk": defineSort("largest"), "searchsorted": defineSearch, "unique": defineUnique,
		"sum": defineSum, "mean": defineMean, "variance": defineVariance,
		"max": defineExtreme(1), "min": defineExtreme(-1), "argmax": defineArg(1), "argmin": defineArg(-1),
		"softmax": defineSoftmax(false), "log_softmax": defineSoftmax(true), "cumsum": defineCumsum, "matmul": defineMatmul,
		"uniform": defineUniform, "normal": defineNormal,
		"random_int": defineRandomInt, "bernoulli": defineBernoulli, "exponential": defineLog(1), "gumbel": defineLog(2),
		"fft": defineFFT, "det": defineDet, "matrix_check": defineSame,

		"prod": defineProd, "std": defineStd, "logsumexp": defineLogSumExp, "inf_norm": defineMaxNorm,
		"any": counted(func(h host, g []int) uint64 { return bit(nonzeros(h, g) > 0) }),
		"all": counted(func(h host, g []int) uint64 { return bit(nonzeros(h, g) == uint64(len(g))) }), "count_nonzero": counted(nonzeros),
		"sum_squares": sums(func(a float64) float64 { return a * a }, nil), "l1_norm": sums(math.Abs, nil),
		"l2_norm": defineNorm(func(*testCase) float64 { return 2 }),
		"p_norm":  defineNorm(func(x *testCase) float64 { return x.row.Attr(x.attrs, "p").Float() }),
		"nansum":  sums(func(a float64) float64 { return a }, func(s, _ float64) float64 { return s }),
		"nanmean": sums(func(a float64) float64 { return a }, func(s, n float64) float64 { return s / n }),
		"nanprod": defineNaNProd, "nanvar": defineNaNVariance(false), "nanstd": defineNaNVariance(true),
		"nanmax": defineNaNExtreme(1), "nanmin": defineNaNExtreme(-1),
		"cumprod": defineCumprod, "cummax": defineCumExtreme(1), "cummin": defineCumExtreme(-1),
		"lerp": pairwise(defineLerp), "logaddexp": pairwise(defineLogAddExp), "nextafter": defineNextAfter,
		"quantize": defineQuantize, "dequantize": defineDequantize, "dot_codes": defineDotCodes,
		"shl": defineShift(true), "shr": defineShift(false),
		"attention": defineAttention, "attention_bias": defineAttention, "attention_grad_q": defineAttentionQ,
		"attention_grad_kv": defineAttentionKV, "attention_grad_bias": defineAttentionBias,
	}
}

// bitwise is the definition of a row that works on the bits of its operands.
func bitwise(f func(a ...uint64) uint64) func(x *testCase, in []host) []expected {
	return func(x *testCase, in []host) []expected {
		wide := make([]host, len(in))
		for i := range in {
			wide[i] = in[i].spread(x.out[0].Shape)
		}
		e := expected{bits: make([]uint64, x.out[0].Shape.Size())}
		a := make([]uint64, len(in))
		for i := range e.bits {
			for j := range wide {
				a[j] = wide[j].bits[i]
			}
			e.bits[i] = f(a...)
		}
		return []expected{e}
	}
}

func defineNot(x *testCase, in []host) []expected {
	d := in[0].typ.DType
	return bitwise(func(a ...uint64) uint64 {
		if d == ir.Bool {
			return a[0] ^ 1
		}
		return cut(d, ^a[0])
	})(x, in)
}

// comparison is the definition of a row that compares two numbers: c is their
// order, nan says that one is not a number.
func comparison(holds func(c int, nan bool) bool) func(x *testCase, in []host) []expected {
	return func(x *testCase, in []host) []expected {
		a, b := in[0].spread(x.out[0].Shape), in[1].spread(x.out[0].Shape)
		e := expected{bits: make([]uint64, x.out[0].Shape.Size())}
		for i := range e.bits {
			c, nan := order(a, i, b, i)
			if holds(c, nan) {
				e.bits[i] = 1
			}
		}
		return []expected{e}
	}
}

// order compares two elements of one dtype by value.
func order(a host, i int, b host, j int) (c int, nan bool) {
	switch a.typ.DType.Kind() {
	case ir.KindFloat:
		x, y := a.float(i), b.float(j)
		switch {
		case math.IsNaN(x) || math.IsNaN(y):
			return 0, true
		case x < y:
			return -1, false
		case x > y:
			return 1, false
		}
	case ir.KindInt:
		switch x, y := a.integer(i), b.integer(j); {
		case x < y:
			return -1, false
		case x > y:
			return 1, false
		}
	default:
		switch x, y := a.bits[i], b.bits[j]; {
		case x < y:
			return -1, false
		case x > y:
			return 1, false
		}
	}
	return 0, false
}

func defineCast(x *testCase, in []host) []expected {
	to := x.out[0].DType
	e := expected{bits: make([]uint64, len(in[0].bits))}
	for i := range e.bits {
		e.bits[i] = convert(in[0], i, to)
	}
	return []expected{e}
}

// convert is the value of an element in another dtype, by the rules of cast.
func convert(h host, i int, to ir.DType) uint64 {
	switch from := h.typ.DType; {
	case from.IsFloat():
		return ir.MakeScalar(to, h.float(i)).Bits
	case to == ir.Bool:
		if h.bits[i] != 0 {
			return 1
		}
		return 0
	case !to.IsFloat():
		return cut(to, uint64(h.integer(i)))
	case from == ir.U64:
		return roundInteger(new(big.Float).SetUint64(h.bits[i]), to)
	default:
		return roundInteger(new(big.Float).SetInt64(h.integer(i)), to)
	}
}

// roundInteger rounds an exact integer to a float dtype, once.
func roundInteger(v *big.Float, to ir.DType) uint64 {
	digits := map[ir.DType]uint{ir.F16: 11, ir.BF16: 8, ir.F32: 24, ir.F64: 53}[to]
	f, _ := new(big.Float).SetMode(big.ToNearestEven).SetPrec(digits).Set(v).Float64()
	return ir.MakeScalar(to, f).Bits // exact, or infinite beyond f16
}

func defineFull(x *testCase, _ []host) []expected {
	e := expected{bits: make([]uint64, x.out[0].Shape.Size())}
	for i := range e.bits {
		e.bits[i] = x.row.Attr(x.attrs, "value").Bits
	}
	return []expected{e}
}

func defineIota(x *testCase, _ []host) []expected {
	n := newHost(ir.Type{DType: ir.I64, Shape: x.out[0].Shape})
	for i := range n.bits {
		n.bits[i] = uint64(i)
	}
	return defineCast(x, []host{n})
}

func defineReshape(x *testCase, in []host) []expected { return []expected{{bits: in[0].bits}} }

// moved is the definition of a row that takes each element from one place.
func moved(out ir.Shape, from func(at []int) uint64) []expected {
	e := expected{bits: make([]uint64, out.Size())}
	walk(out, func(i int, at []int) { e.bits[i] = from(at) })
	return []expected{e}
}

func definePermute(x *testCase, in []host) []expected {
	axes := x.row.Attr(x.attrs, "axes").List
	s := in[0].typ.Shape
	return moved(x.out[0].Shape, func(at []int) uint64 {
		src := make([]int, len(s))
		for i, a := range axes {
			src[wrapped(a, len(s))] = at[i]
		}
		return in[0].bits[linear(s, src)]
	})
}

func wrapped(a int64, n int) int {
	if a < 0 {
		a += int64(n)
	}
	return int(a)
}

func defineExpand(x *testCase, in []host) []expected {
	return []expected{{bits: in[0].spread(x.out[0].Shape).bits}}
}

func defineSlice(x *testCase, in []host) []expected {
	starts, steps := x.row.Attr(x.attrs, "starts").List, x.row.Attr(x.attrs, "steps").List
	return moved(x.out[0].Shape, func(at []int) uint64 {
		src := make([]int, len(at))
		for i := range at {
			src[i] = int(starts[i] + int64(at[i])*steps[i])
		}
		return in[0].bits[linear(in[0].typ.Shape, src)]
	})
}

func defineStrided(x *testCase, in []host) []expected {
	offset, strides := x.row.Attr(x.attrs, "offset").Int, x.row.Attr(x.attrs, "strides").List
	return moved(x.out[0].Shape, func(at []int) uint64 {
		i := offset
		for d, n := range at {
			i += int64(n) * strides[d]
		}
		return in[0].bits[i]
	})
}

func defineConcat(x *testCase, in []host) []expected {
	axis := wrapped(x.row.Attr(x.attrs, "axis").Int, len(x.out[0].Shape))
	return moved(x.out[0].Shape, func(at []int) uint64 {
		src := append([]int(nil), at...)
		for _, h := range in {
			if n := h.typ.Shape[axis]; src[axis] >= n {
				src[axis] -= n
				continue
			}
			return h.bits[linear(h.typ.Shape, src)]
		}
		return 0
	})
}

func defineGather(x *testCase, in []host) []expected {
	s, index := in[0].typ.Shape, in[1]
	axis := wrapped(x.row.Attr(x.attrs, "axis").Int, len(s))
	rank := len(index.typ.Shape)
	return moved(x.out[0].Shape, func(at []int) uint64 {
		src := append([]int(nil), at[:axis]...)
		pick := index.integer(linear(index.typ.Shape, at[axis:axis+rank]))
		src = append(src, wrapped(pick, s[axis]))
		src = append(src, at[axis+rank:]...)
		return in[0].bits[linear(s, src)]
	})
}

// defineScatter folds from the left, rounding to the dtype after every sum.
func defineScatter(x *testCase, in []host) []expected {
	base, index, src := in[0], in[1], in[2]
	axis := wrapped(x.row.Attr(x.attrs, "axis").Int, len(base.typ.Shape))
	e := expected{bits: append([]uint64(nil), base.bits...)}
	d := base.typ.DType
	to := make([]int, len(base.typ.Shape))
	walk(src.typ.Shape, func(i int, at []int) {
		copy(to, at)
		to[axis] = wrapped(index.integer(at[axis]), base.typ.Shape[axis])
		p := linear(base.typ.Shape, to)
		if !d.IsFloat() {
			e.bits[p] = cut(d, e.bits[p]+src.bits[i])
			return
		}
		sum := ir.Scalar{DType: d, Bits: e.bits[p]}.Float() + src.float(i)
		if d != ir.F64 { // exact in float64, or past the border where it does not matter
			sum = float64(float32(sum))
		}
		e.bits[p] = ir.MakeScalar(d, sum).Bits
	})
	return []expected{e}
}

func defineNonZero(x *testCase, in []host) []expected {
	most, rank := x.out[0].Shape[0], len(in[0].typ.Shape)
	var coords []uint64
	count := uint64(0)
	walk(in[0].typ.Shape, func(i int, at []int) {
		if in[0].bits[i] == 0 {
			return
		}
		if count++; count > uint64(most) {
			return
		}
		for _, c := range at {
			coords = append(coords, uint64(c))
		}
	})
	for len(coords) < most*rank {
		coords = append(coords, math.MaxUint64)
	}
	return []expected{{bits: coords}, {bits: []uint64{count}}}
}
