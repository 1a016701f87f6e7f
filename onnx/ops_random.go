package onnx

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter"
)

func drawAttrs(more ...attrSpec) []attrSpec {
	return append(more, plainAttr("dtype", AttrInt), plainAttr("seed", AttrFloat))
}

var _ = register(
	opDef{name: "RandomUniform", out: one, random: true, attrs: drawAttrs(floatAttr("low", 0), floatAttr("high", 1), need("shape", AttrInts)), run: uniformOp},
	opDef{name: "RandomUniformLike", in: one, out: one, random: true, attrs: drawAttrs(floatAttr("low", 0), floatAttr("high", 1)), run: uniformOp},
	opDef{name: "RandomNormal", out: one, random: true, attrs: drawAttrs(floatAttr("mean", 0), floatAttr("scale", 1), need("shape", AttrInts)), run: normalOp},
	opDef{name: "RandomNormalLike", in: one, out: one, random: true, attrs: drawAttrs(floatAttr("mean", 0), floatAttr("scale", 1)), run: normalOp},
	opDef{name: "Bernoulli", since: 15, in: one, out: one, random: true, attrs: drawAttrs(), run: func(c *Call) error {
		e, err := drawElem(c)
		if err != nil {
			return err
		}
		p := c.In(0)
		d := p.DType()
		if d != sinter.F64 { // f32 has every value of the narrower ones
			d = sinter.F32
		}
		u := c.Own(c.generator().Uniform(c.Of(), d, p.Shape()...))
		c.SetElem(0, e, u.Lt(p.Cast(d)).Cast(e.DType()))
		return nil
	}},
	opDef{name: "Multinomial", since: 7, in: one, out: one, random: true,
		attrs: []attrSpec{intAttr("dtype", int64(Int32)), intAttr("sample_size", 1), plainAttr("seed", AttrFloat)}, run: func(c *Call) error {
			e := Elem(c.Int("dtype"))
			if e != Int32 && e != Int64 {
				return fmt.Errorf("indices of type %s", e)
			}
			// The input is logarithms of what is proportional to probabilities.
			c.Set(0, c.generator().Multinomial(c.In(0).Softmax(-1), c.Int("sample_size"), true).Cast(e.DType()))
			return nil
		}},
	opDef{name: "Dropout", since: 7, in: one, out: oneTwo, attrs: []attrSpec{floatAttr("ratio", 0.5)}, run: func(c *Call) error {
		c.SetValue(0, c.Value(0))
		mask := c.In(0).OnesLike()
		if c.Opset() >= 10 {
			mask = mask.Cast(sinter.Bool)
		}
		c.Set(1, mask)
		return nil
	}},
	opDef{name: "Dropout", since: 12, in: arity{1, 3}, out: oneTwo, random: true, attrs: []attrSpec{plainAttr("seed", AttrInt)}, run: dropoutOp},
)

// generator returns where draws come from: with a seed, the same ones in every
// run; without, the next ones of the program.
func (c *Call) generator() *sinter.Generator {
	a := c.Attr("seed")
	switch {
	case a == nil:
		return c.frame.run.draws
	case a.Kind == AttrInt:
		return sinter.NewGenerator(uint64(a.Int))
	}
	return sinter.NewGenerator(uint64(math.Float32bits(a.Float)))
}

// drawElem returns the type of draws: the attribute, that of the operand, or
// float32.
func drawElem(c *Call) (Elem, error) {
	e := Float
	switch {
	case c.HasAttr("dtype"):
		e = Elem(c.Int("dtype"))
	case c.Has(0):
		e = c.Elem(0)
	}
	if !e.DType().Valid() || e.Narrow() {
		return e, fmt.Errorf("random numbers of type %s", e)
	}
	return e, nil
}

// drawn makes draws of a shape, computes with them in floats, and converts.
func drawn(c *Call, draw func(g *sinter.Generator, d sinter.DType, shape []int) *sinter.Tensor) error {
	e, err := drawElem(c)
	if err != nil {
		return err
	}
	shape := c.Ints("shape")
	if c.NumIn() > 0 {
		shape = c.Shape(0)
	}
	d := e.DType()
	if d != sinter.F64 {
		d = sinter.F32
	}
	c.Set(0, draw(c.generator(), d, shape).Cast(e.DType()))
	return nil
}

func uniformOp(c *Call) error {
	return drawn(c, func(g *sinter.Generator, d sinter.DType, shape []int) *sinter.Tensor {
		low, high := c.Float("low"), c.Float("high")
		return c.Own(g.Uniform(c.Of(), d, shape...)).Mul(high - low).Add(low)
	})
}

func normalOp(c *Call) error {
	return drawn(c, func(g *sinter.Generator, d sinter.DType, shape []int) *sinter.Tensor {
		return c.Own(g.Normal(c.Of(), d, shape...)).Mul(c.Float("scale")).Add(c.Float("mean"))
	})
}

// dropoutOp passes its input on, unless input 2 says that this is training.
func dropoutOp(c *Call) error {
	ratio, training := 0.5, false
	if c.Has(1) {
		var err error
		if ratio, err = c.HostFloat(1); err != nil {
			return err
		}
	}
	if c.Has(2) {
		h, err := c.Host(2)
		if err != nil {
			return err
		}
		training = h.Elem == Bool && h.Size() == 1 && h.Ints[0] != 0
	}
	x := c.In(0)
	if !training || ratio == 0 {
		c.SetValue(0, c.Value(0))
		if c.Wants(1) {
			c.Set(1, c.Full(true, sinter.Bool, x.Shape()...))
		}
		return nil
	}
	if !(ratio >= 0 && ratio < 1) {
		return fmt.Errorf("the ratio is %v, expected 0 to 1, without 1", ratio)
	}
	mask := c.Own(c.generator().Bernoulli(c.Of(), 1-ratio, x.Shape()...))
	c.Set(0, x.Mul(mask.Cast(x.DType())).Mul(1/(1-ratio)))
	c.Set(1, mask)
	return nil
}
