package ir

import "strings"

// Rows without operands: constants, ranges and random draws.

func inferFilled(r *Row, _ []Type, a Attrs) ([]Type, error) {
	shape := Shape{}
	for _, d := range r.Attr(a, "shape").List {
		shape = append(shape, extent(d))
	}
	return []Type{{r.Attr(a, "dtype").DType(), shape}}, nil
}

func inferFloatFilled(r *Row, in []Type, a Attrs) ([]Type, error) {
	if d := r.Attr(a, "dtype").DType(); d != F32 && d != F64 {
		return nil, Errorf(ErrDType, "random draws are f32 or f64, got %s: draw in f32 and cast", d)
	}
	return inferFilled(r, in, a)
}

// threefry is Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror, Shaw,
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011): a bijection of the
// 64-bit logical index under the 64-bit key of the draw. It leaves two words in
// v0 and v1.
func threefry() string {
	var b strings.Builder
	b.WriteString("i = u64(index())\nk0 = u32(key)\nk1 = u32(key >> 32)\nk2 = k0 ^ k1 ^ 0x1BD11BDA\n")
	b.WriteString("v0 = u32(i) + k0\nv1 = u32(i >> 32) + k1\n")
	rot := [8]string{"13", "15", "26", "6", "17", "29", "16", "24"}
	inv := [8]string{"19", "17", "6", "26", "15", "3", "16", "8"}
	keys := [3]string{"k0", "k1", "k2"}
	for round := 0; round < 20; round++ {
		j := round % 8
		b.WriteString("v0 = v0 + v1\n")
		b.WriteString("v1 = ((v1 << " + rot[j] + ") | (v1 >> " + inv[j] + ")) ^ v0\n")
		if round%4 == 3 {
			s := round/4 + 1
			b.WriteString("v0 = v0 + " + keys[s%3] + "\n")
			b.WriteString("v1 = v1 + " + keys[(s+1)%3] + " + " + string(rune('0'+s)) + "\n")
		}
	}
	return b.String()
}

func init() {
	filled := []AttrSpec{{Name: "shape", Kind: AttrInts}, {Name: "dtype", Kind: AttrDType}}
	drawn := append(filled[:2:2], AttrSpec{Name: "key", Kind: AttrInt, Binding: true})
	register(
		&Row{Name: "full", Number: 40, Version: 1, Access: Elementwise,
			Doc:   "y = value everywhere.",
			Attrs: append(filled[:2:2], AttrSpec{Name: "value", Kind: AttrScalar, Binding: true}),
			Infer: func(r *Row, in []Type, a Attrs) ([]Type, error) {
				out, err := inferFilled(r, in, a)
				if v := r.Attr(a, "value").DType(); err == nil && v != out[0].DType {
					return nil, Errorf(ErrDType, "value is %s, expected %s", v, out[0].DType)
				}
				return out, err
			},
			Body:    Body{Any: "value"},
			Samples: []Sample{{Attrs: A("shape", []int{2, 3}, "dtype", F32, "value", Scalar{F32, 0x3f800000})}}},
		&Row{Name: "iota", Number: 41, Version: 1, Access: Elementwise,
			Doc:   "y = the row-major index of each element, converted to dtype.",
			Attrs: filled,
			Infer: func(r *Row, in []Type, a Attrs) ([]Type, error) {
				if d := r.Attr(a, "dtype").DType(); d == Bool {
					return nil, Errorf(ErrDType, "a range has a number dtype, got %s", d)
				}
				return inferFilled(r, in, a)
			},
			Body:    Body{Any: "index()"},
			Samples: []Sample{{Attrs: A("shape", []int{7}, "dtype", I32)}}},
		&Row{Name: "uniform", Number: 42, Version: 1, Access: Random, Effects: EffectRandom,
			Doc:   "y = draws from [0, 1), multiples of 2^-24 (f32) or 2^-53 (f64), by Threefry-2x32-20 of (key, logical index).",
			Attrs: drawn, Infer: inferFloatFilled,
			Body: Body{
				F32: threefry() + "y = f32(v0 >> 8) * 0x1p-24",
				F64: threefry() + "y = f64(((u64(v0) << 32) | u64(v1)) >> 11) * 0x1p-53"},
			Samples: []Sample{{Attrs: A("shape", []int{5, 3}, "dtype", F32, "key", 7)}}},
		&Row{Name: "normal", Number: 43, Version: 1, Access: Random, Effects: EffectRandom,
			Doc:   "y = draws from the standard normal distribution, by Box and Muller's transform of two words of (key, logical index).",
			Attrs: drawn, Infer: inferFloatFilled,
			Body: Body{
				F32: threefry() + "a = f32((v0 >> 8) + 1) * 0x1p-24\nb = f32(v1 >> 8) * 0x1p-24\n" +
					"y = sqrt(-2 * log(a)) * cos(b * 6.283185307179586)",
				F64: threefry() + "a = f64(u64(v0) + 1) * 0x1p-32\nb = f64(v1) * 0x1p-32\n" +
					"y = sqrt(-2 * log(a)) * cos(b * 6.283185307179586)"},
			Samples: []Sample{{Attrs: A("shape", []int{5, 3}, "dtype", F32, "key", 7)}}},
	)
}
