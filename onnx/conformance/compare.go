package conformance

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/onnx"
)

// excess describes the element furthest from its expected value: its distance as
// a share of the tolerance.
type excess struct {
	share float64
	text  string
}

// compare returns the worst element, and an error if it is out of tolerance or
// the values differ in kind.
func compare(ctx context.Context, got, want *onnx.Value, tol tolerance) (excess, error) {
	switch {
	case got == nil:
		return excess{}, fmt.Errorf("there is no value, expected %s", want)
	case got.IsSequence() != want.IsSequence() || got.IsNone() != want.IsNone():
		return excess{}, fmt.Errorf("got %s, expected %s", got, want)
	case want.IsNone():
		return excess{text: "nothing, as expected"}, nil
	case want.IsSequence():
		g, w := got.Sequence(), want.Sequence()
		if len(g) != len(w) {
			return excess{}, fmt.Errorf("got a sequence of %d, expected %d", len(g), len(w))
		}
		worst := excess{text: "an empty sequence, as expected"}
		for i := range w {
			e, err := compare(ctx, g[i], w[i], tol)
			if err != nil {
				return e, fmt.Errorf("element %d: %w", i, err)
			}
			if i == 0 || e.share > worst.share {
				worst = e
			}
		}
		return worst, nil
	}
	if got.Elem != want.Elem || fmt.Sprint(got.Shape()) != fmt.Sprint(want.Shape()) {
		return excess{}, fmt.Errorf("got %s, expected %s", got, want)
	}
	if want.Elem == onnx.String {
		g, w := got.Strings(), want.Strings()
		for i := range w {
			if g[i] != w[i] {
				return excess{}, fmt.Errorf("element %d is %q, expected %q", i, g[i], w[i])
			}
		}
		return excess{text: "equal strings"}, nil
	}
	g, err := got.Array(ctx)
	if err != nil {
		return excess{}, err
	}
	w, err := want.Array(ctx)
	if err != nil {
		return excess{}, err
	}
	return compareArrays(g, w, tol)
}

func compareArrays(g, w sinter.Array, tol tolerance) (excess, error) {
	worst := excess{text: "no elements"}
	size := w.DType.Size()
	for i := 0; i < len(w.Bytes)/size; i++ {
		x, y := element(g, i), element(w, i)
		share := 0.0
		switch {
		case math.IsNaN(x) && math.IsNaN(y), x == y:
			if i > 0 && worst.text != "no elements" {
				continue
			}
		case math.IsNaN(x) || math.IsNaN(y) || math.IsInf(x, 0) || math.IsInf(y, 0):
			share = math.Inf(1)
		default:
			share = math.Abs(x-y) / (tol.abs + tol.rel*math.Abs(y))
		}
		if share > worst.share || worst.text == "no elements" {
			worst = excess{share, fmt.Sprintf("element %v is %v, expected %v (off by %.3g of the tolerance)", at(i, w.Shape), x, y, share)}
		}
	}
	if worst.share > 1 || math.IsNaN(worst.share) {
		return worst, fmt.Errorf("%w: %s", errValue, worst.text)
	}
	return worst, nil
}

// at returns the index of element i of a shape.
func at(i int, shape []int) []int {
	index := make([]int, len(shape))
	for a := len(shape) - 1; a >= 0; a-- {
		index[a] = i % shape[a]
		i /= shape[a]
	}
	return index
}

// element returns element i; 64-bit integers beyond 2^53 lose bits, which a
// relative tolerance does not see.
func element(a sinter.Array, i int) float64 {
	b := a.Bytes[i*a.DType.Size():]
	switch a.DType {
	case sinter.F32:
		return float64(math.Float32frombits(binary.NativeEndian.Uint32(b)))
	case sinter.F64:
		return math.Float64frombits(binary.NativeEndian.Uint64(b))
	case sinter.F16, sinter.BF16:
		return ir.Scalar{DType: a.DType, Bits: uint64(binary.NativeEndian.Uint16(b))}.Float()
	case sinter.I64:
		return float64(int64(binary.NativeEndian.Uint64(b)))
	case sinter.U64:
		return float64(binary.NativeEndian.Uint64(b))
	case sinter.I32:
		return float64(int32(binary.NativeEndian.Uint32(b)))
	case sinter.U32:
		return float64(binary.NativeEndian.Uint32(b))
	case sinter.I16:
		return float64(int16(binary.NativeEndian.Uint16(b)))
	case sinter.U16:
		return float64(binary.NativeEndian.Uint16(b))
	case sinter.I8:
		return float64(int8(b[0]))
	}
	return float64(b[0])
}
