package ir

// Random draws beyond uniform and normal ones, by Threefry as those are.

// word is the 64-bit word of an element.
func word() string { return threefry() + "w = (u64(v0) << 32) | u64(v1)\n" }

// The uniform numbers of open23 and open52 lie inside (0, 1), so that their
// logarithms and those of their complements are numbers.
func open23() string { return threefry() + "u = (f32(v0 >> 9) + 0.5) * 0x1p-23\n" }
func open52() string { return word() + "u = (f64(w >> 12) + 0.5) * 0x1p-52\n" }

func inferRandomInt(r *Row, in []Type, a Attrs) ([]Type, error) {
	d, low, high := r.Attr(a, "dtype").DType(), r.Attr(a, "low").Int, r.Attr(a, "high").Int
	if !d.IsInt() {
		return nil, Errorf(ErrDType, "random integers have an integer dtype, got %s", d)
	}
	if low >= high {
		return nil, Errorf(ErrArgument, "there is no integer in [%d, %d)", low, high)
	}
	least, most := int64(0), int64(-1)
	switch bits := d.Bits(); {
	case d.Kind() == KindInt:
		least, most = -1<<(bits-1), 1<<(bits-1)-1
	case bits < 64:
		most = 1<<bits - 1
	default:
		most = high
	}
	if low < least || high-1 > most {
		return nil, Errorf(ErrArgument, "[%d, %d) does not lie in the range of %s", low, high, d)
	}
	return inferFilled(r, in, a)
}

func inferBernoulli(r *Row, in []Type, a Attrs) ([]Type, error) {
	if d := r.Attr(a, "dtype").DType(); d != Bool {
		return nil, Errorf(ErrDType, "draws of truth are bool, got %s: cast them", d)
	}
	if p := r.Attr(a, "threshold").Int; p < 0 || p > 1<<53 {
		return nil, Errorf(ErrArgument, "threshold is %d, expected 0 to 2^53", p)
	}
	return inferFilled(r, in, a)
}

func init() {
	filled := []AttrSpec{{Name: "shape", Kind: AttrInts}, {Name: "dtype", Kind: AttrDType}}
	key := AttrSpec{Name: "key", Kind: AttrInt, Binding: true}
	drawn := append(filled[:2:2], key)
	bound := func(name string) AttrSpec { return AttrSpec{Name: name, Kind: AttrInt, Binding: true} }
	register(
		&Row{Name: "random_int", Number: 540, Version: 1, Access: Random, Effects: EffectRandom,
			Doc: "y = draws of integers from [low, high): a 64-bit word of (key, logical index) modulo their number, " +
				"so no probability is off by more than their number · 2^-64 of itself.",
			Attrs: append(drawn[:3:3], bound("low"), bound("high")), Infer: inferRandomInt,
			Body:    Body{Int: word() + "y = low + i64(rem(w, u64(high - low)))"},
			Samples: []Sample{{Attrs: A("shape", []int{5, 3}, "dtype", I32, "key", 7, "low", 3, "high", 9)}}},
		&Row{Name: "bernoulli", Number: 541, Version: 1, Access: Random, Effects: EffectRandom,
			Doc:   "y = draws that are true with probability threshold · 2^-53, by a 64-bit word of (key, logical index).",
			Attrs: append(drawn[:3:3], bound("threshold")), Infer: inferBernoulli,
			Body:    Body{Bool: word() + "y = (w >> 11) < u64(threshold)"},
			Samples: []Sample{{Attrs: A("shape", []int{5, 3}, "dtype", Bool, "key", 7, "threshold", int64(1)<<51)}}},
		&Row{Name: "exponential", Number: 542, Version: 1, Access: Random, Effects: EffectRandom,
			Doc:   "y = draws from the exponential distribution of mean 1: -log of a uniform draw inside (0, 1), of 23 bits (f32) or 52 (f64).",
			Attrs: drawn, Infer: inferFloatFilled,
			Body:    Body{F32: open23() + "y = -log(u)", F64: open52() + "y = -log(u)"},
			Samples: []Sample{{Attrs: A("shape", []int{5, 3}, "dtype", F32, "key", 7)}}},
		&Row{Name: "gumbel", Number: 543, Version: 1, Access: Random, Effects: EffectRandom,
			Doc:   "y = draws from the standard Gumbel distribution: -log(-log(u)) of a uniform draw u inside (0, 1), of 23 bits (f32) or 52 (f64).",
			Attrs: drawn, Infer: inferFloatFilled,
			Body:    Body{F32: open23() + "y = -log(-log(u))", F64: open52() + "y = -log(-log(u))"},
			Samples: []Sample{{Attrs: A("shape", []int{5, 3}, "dtype", F32, "key", 7)}}},
	)
}
