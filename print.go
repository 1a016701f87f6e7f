package sinter

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Limits of String, numpy's: longer axes show their first and last entries once
// the tensor has more elements than summarise.
const (
	summarise = 1000
	edgeItems = 3
)

// String waits for the tensor and returns its elements as numpy prints them,
// followed by dtype and shape; for a tensor that carries an error, the error.
func (t *Tensor) String() string {
	a, err := Read(context.Background(), t)
	if err != nil {
		return "error(" + err.Error() + ")"
	}
	return a[0].String()
}

// String returns the elements as numpy prints them, with dtype and shape.
func (a Array) String() string {
	if err := a.check(); err != nil {
		return "error(" + err.Error() + ")"
	}
	shape := ir.Shape(a.Shape)
	p := printer{a: a, strides: shape.Strides(), full: shape.Size() <= summarise}
	if a.DType.IsFloat() {
		p.floats = newFloatFormat(a.DType)
		p.walk(0, 0, func(i int64) { p.floats.see(p.float(i)) })
		p.walk(0, 0, func(i int64) { p.floats.measure(p.float(i)) })
	} else {
		p.walk(0, 0, func(i int64) { p.width = max(p.width, len(p.integer(i))) })
	}
	var b strings.Builder
	p.write(&b, 0, 0)
	fmt.Fprintf(&b, " %s%s", a.DType, shape)
	return b.String()
}

type printer struct {
	a       Array
	strides []int64
	full    bool
	width   int // of integers and bools
	floats  *floatFormat
}

// shown returns the indices of an axis that are printed; -1 stands for the gap.
func (p *printer) shown(axis int) []int {
	n := p.a.Shape[axis]
	var out []int
	for i := 0; i < n; i++ {
		if !p.full && n > 2*edgeItems && i == edgeItems {
			out = append(out, -1)
			i = n - edgeItems
		}
		out = append(out, i)
	}
	return out
}

func (p *printer) walk(axis int, at int64, f func(int64)) {
	if axis == len(p.a.Shape) {
		f(at)
		return
	}
	for _, i := range p.shown(axis) {
		if i >= 0 {
			p.walk(axis+1, at+int64(i)*p.strides[axis], f)
		}
	}
}

func (p *printer) write(b *strings.Builder, axis int, at int64) {
	if axis == len(p.a.Shape) {
		if p.floats != nil {
			b.WriteString(p.floats.text(p.float(at)))
			return
		}
		s := p.integer(at)
		b.WriteString(strings.Repeat(" ", p.width-len(s)) + s)
		return
	}
	b.WriteByte('[')
	last := axis == len(p.a.Shape)-1
	for n, i := range p.shown(axis) {
		if n > 0 {
			if last {
				b.WriteByte(' ')
			} else {
				b.WriteString(strings.Repeat("\n", len(p.a.Shape)-1-axis) + strings.Repeat(" ", axis+1))
			}
		}
		if i < 0 {
			b.WriteString("...")
			continue
		}
		p.write(b, axis+1, at+int64(i)*p.strides[axis])
	}
	b.WriteByte(']')
}

// bits returns element i.
func (p *printer) bits(i int64) uint64 {
	size := p.a.DType.Size()
	var bits uint64
	for j := size - 1; j >= 0; j-- {
		k := j
		if bigEndian {
			k = size - 1 - j
		}
		bits = bits<<8 | uint64(p.a.Bytes[int(i)*size+k])
	}
	return bits
}

func (p *printer) float(i int64) float64 {
	return math.Float64frombits(kernel.Convert(F64, p.a.DType, p.bits(i)))
}

// integer returns the text of element i of an integer or bool array.
func (p *printer) integer(i int64) string {
	switch d := p.a.DType; {
	case d == Bool:
		return strconv.FormatBool(p.bits(i) != 0)
	case d.Kind() == ir.KindUint:
		return strconv.FormatUint(p.bits(i), 10)
	default:
		return strconv.FormatInt(int64(kernel.Convert(I64, d, p.bits(i))), 10)
	}
}

func typeName(v any) string { return fmt.Sprintf("%T", v) }
