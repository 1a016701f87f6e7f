package sinter

import (
	"context"
	"fmt"
	"math"
	"runtime"
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
	shape := ir.Shape(a.Shape)
	p := printer{a: a, strides: shape.Strides(), full: shape.Size() <= summarise}
	if shape.Size() > 0 {
		p.walk(0, 0, func(i int64) { p.width = max(p.width, len(p.element(i))) })
	}
	var b strings.Builder
	if len(shape) == 0 {
		b.WriteString(p.element(0))
	} else {
		p.write(&b, 0, 0)
	}
	fmt.Fprintf(&b, " %s%s", a.DType, shape)
	return b.String()
}

type printer struct {
	a       Array
	strides []int64
	full    bool
	width   int
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
		s := p.element(at)
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

// element returns the text of element i.
func (p *printer) element(i int64) string {
	size := p.a.DType.Size()
	var bits uint64
	for j := size - 1; j >= 0; j-- {
		k := j
		if bigEndian {
			k = size - 1 - j
		}
		bits = bits<<8 | uint64(p.a.Bytes[int(i)*size+k])
	}
	switch d := p.a.DType; {
	case d == Bool:
		return strconv.FormatBool(bits != 0)
	case d.IsFloat():
		return formatFloat(math.Float64frombits(kernel.Convert(F64, d, bits)), d)
	case d.Kind() == ir.KindUint:
		return strconv.FormatUint(bits, 10)
	default:
		return strconv.FormatInt(int64(kernel.Convert(I64, d, bits)), 10)
	}
}

// formatFloat prints the shortest digits that give the value back in its dtype,
// at most eight (f64: sixteen) of them, with a point, as numpy does.
func formatFloat(v float64, d DType) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	size := 32
	if d == F64 {
		size = 64
	}
	s := strconv.FormatFloat(v, 'f', -1, size)
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e8) {
		return strconv.FormatFloat(v, 'e', -1, size)
	}
	if d == F16 || d == BF16 {
		s = strconv.FormatFloat(v, 'g', 5, 32)
	}
	if !strings.ContainsAny(s, ".e") {
		s += "."
	}
	return s
}

func keepAlive(t *Tensor) { runtime.KeepAlive(t) }

func typeName(v any) string { return fmt.Sprintf("%T", v) }
