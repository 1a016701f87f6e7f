package onnx

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter"
)

var castAttrs = []attrSpec{intAttr("saturate", 1), strAttr("round_mode", "up")}

var _ = register(
	opDef{name: "Cast", since: 6, in: one, out: one, narrow: true, attrs: append([]attrSpec{need("to", AttrInt)}, castAttrs...),
		run:  func(c *Call) error { return castTo(c, Elem(c.Int("to"))) },
		host: func(c *Call) error { return hostCast(c, Elem(c.Int("to"))) }},
	opDef{name: "CastLike", since: 15, in: two, out: one, narrow: true, attrs: castAttrs,
		run:  func(c *Call) error { return castTo(c, c.Elem(1)) },
		host: func(c *Call) error { return hostCast(c, c.Elem(1)) }},
	opDef{name: "BitCast", since: 26, in: one, out: one, attrs: []attrSpec{need("to", AttrInt)}, run: bitCastOp},
)

// castTo converts input 0 to an element type.
func castTo(c *Call, to Elem) error {
	if to == String || c.Elem(0) == String {
		return fmt.Errorf("casts from or to strings are not supported")
	}
	if !to.DType().Valid() {
		return fmt.Errorf("a cast to %s is not supported", to)
	}
	if to == c.Elem(0) {
		c.SetValue(0, c.Value(0))
		return nil
	}
	x := c.In(0)
	if !to.Narrow() {
		c.SetElem(0, to, x.Cast(to.DType()))
		return nil
	}
	if bits, signed, ok := wholeBits(to); ok {
		c.SetElem(0, to, toWhole(x, to, bits, signed))
		return nil
	}
	how := rounding{saturate: c.Bool("saturate"), mode: c.Str("round_mode")}
	y, err := toNarrow(x.Cast(sinter.F32), to, how)
	if err != nil {
		return err
	}
	c.SetElem(0, to, y)
	return nil
}

// toWhole converts to an integer of less than 8 bits: floats truncate, and what
// does not fit keeps its low bits.
func toWhole(x *sinter.Tensor, to Elem, bits int, signed bool) *sinter.Tensor {
	y := x.Cast(sinter.I32).And(1<<bits - 1)
	if signed { // the upper half is negative
		half := 1 << (bits - 1)
		y = y.Xor(half).Sub(half)
	}
	return y.Cast(to.DType())
}

// rounding says how floats become those of 8 and fewer bits.
type rounding struct {
	saturate bool
	mode     string // of E8M0
}

// toNarrow rounds elements of f32 to those that a narrow float type has: to the
// nearest, even at ties, in units of the last place, which is a power of two.
func toNarrow(x *sinter.Tensor, to Elem, how rounding) (*sinter.Tensor, error) {
	f := floatFormats[to]
	if to == Float8E8M0 {
		return toPowers(x, how)
	}
	_, least := f.least()
	// An exponent that the logarithm misses by one belongs to an x within a
	// rounding error of a power of two, which either step keeps.
	exponent := x.Abs().Maximum(math.Ldexp(1, least)).Log2().Floor().Minimum(127)
	step := exponent.Sub(f.man).Maximum(least).Exp2()
	y := x.Div(step).Round().Mul(step)
	most := f.max()
	over := y.Abs().Gt(most)
	switch {
	case how.saturate || to == Float4E2M1:
		y = y.Clamp(-most, most)
		if to == Float4E2M1 {
			y = sinter.Where(x.IsNaN(), 0, y) // which has no code
		}
	case f.inf:
		y = sinter.Where(over, x.Sign().Mul(math.Inf(1)), y)
	default:
		y = sinter.Where(over, math.NaN(), y)
	}
	if f.uz { // -0 has no code
		y = y.Add(0)
	}
	if !how.saturate && !f.inf {
		y = sinter.Where(x.IsInf(), math.NaN(), y)
	}
	return y, nil
}

// toPowers rounds to powers of two, which is all that E8M0 has.
func toPowers(x *sinter.Tensor, how rounding) (*sinter.Tensor, error) {
	lg := x.Abs().Maximum(math.Ldexp(1, -127)).Log2()
	switch how.mode {
	case "up":
		lg = lg.Ceil()
	case "down":
		lg = lg.Floor()
	case "nearest": // by value: the middle between 2^k and 2^(k+1) is 1.5·2^k
		down := lg.Floor()
		half := x.Abs().Div(down.Exp2()).Ge(1.5)
		lg = down.Add(half.Cast(sinter.F32))
	default:
		return nil, fmt.Errorf("the rounding mode %q, expected up, down or nearest", how.mode)
	}
	y := lg.Minimum(127).Exp2()
	if !how.saturate {
		y = sinter.Where(lg.Gt(127), math.NaN(), y)
	}
	return sinter.Where(x.IsNaN(), math.NaN(), y), nil
}

// hostCast converts elements known on the host.
func hostCast(c *Call, to Elem) error {
	h := c.in[0].host
	from := h.Elem
	if from == to {
		c.SetValue(0, c.in[0])
		return nil
	}
	if from == String || to == String || from.Narrow() || to.Narrow() || from == Uint64 || to == Uint64 || !to.DType().Valid() {
		return errNotHost
	}
	out := &Host{Elem: to, Shape: h.Shape}
	switch fl := to.DType().IsFloat(); {
	case from.DType().IsFloat() && fl:
		for _, v := range h.Floats {
			out.Floats = append(out.Floats, round(to, v))
		}
	case fl:
		for _, v := range h.Ints {
			if x := float64(v); int64(x) != v {
				return errNotHost // two roundings would follow
			}
			out.Floats = append(out.Floats, round(to, float64(v)))
		}
	case from.DType().IsFloat():
		for _, v := range h.Floats {
			if to == Bool {
				out.Ints = append(out.Ints, flag(v != 0))
				continue
			}
			i := int64(v)
			if math.IsNaN(v) || math.Abs(v) >= 1<<62 || wrap(to, i) != i {
				return errNotHost // the device saturates
			}
			out.Ints = append(out.Ints, i)
		}
	default:
		for _, v := range h.Ints {
			if to == Bool {
				v = flag(v != 0)
			}
			out.Ints = append(out.Ints, wrap(to, v))
		}
	}
	c.SetHost(0, out)
	return nil
}

// bitCastOp takes the bits of the elements for those of another type of the same
// width. It waits for them: no row of the op table does this.
func bitCastOp(c *Call) error {
	to := Elem(c.Int("to"))
	if !to.DType().Valid() || to.Narrow() || to.DType().Size() != c.Elem(0).DType().Size() {
		return fmt.Errorf("the bits of %s are not those of %s", c.Elem(0), to)
	}
	as, err := c.Arrays(0)
	if err != nil {
		return err
	}
	a := as[0]
	a.DType = to.DType()
	if to == Bool {
		a.Bytes = widen(Bool, a.Bytes, len(a.Bytes))
	}
	c.SetElem(0, to, c.ArrayTensor(a))
	return nil
}
