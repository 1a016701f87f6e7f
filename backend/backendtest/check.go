package backendtest

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/ir"
)

// expected is what a definition says of one result: exact bits, or values with
// the absolute error that each may have. An element whose tolerance is NaN is
// not compared.
type expected struct {
	bits     []uint64
	val, tol []float64
}

// check compares results with the definition of the row: one of the definitions
// of this package, or the Ref of an elementwise row. Other rows have none.
func check(x *testCase, in, got []host) error {
	if define := definitions[x.row.Name]; define != nil {
		for i, e := range define(x, in) {
			if err := e.check(got[i]); err != nil {
				return fmt.Errorf("against the definition: result %d%w", i, err)
			}
		}
		return nil
	}
	if x.row.Access == ir.Elementwise && x.row.Ref != nil {
		return checkRef(x, in, got[0])
	}
	return nil
}

// Defined reports whether results of the row are compared with a definition.
func Defined(r *ir.Row) bool {
	return definitions[r.Name] != nil || r.Access == ir.Elementwise && r.Ref != nil
}

func (e expected) check(got host) error {
	for i := range got.bits {
		if e.bits != nil {
			if !same(got.typ.DType, got.bits[i], e.bits[i]) {
				return fmt.Errorf(", element %d: got %v, want %v", i, got.scalar(i), ir.Scalar{DType: got.typ.DType, Bits: e.bits[i]})
			}
			continue
		}
		y, want, tol := got.float(i), e.val[i], e.tol[i]
		switch {
		case math.IsNaN(tol), math.IsNaN(want) && math.IsNaN(y), y == want, math.Abs(y-want) <= tol:
		default:
			return fmt.Errorf(", element %d: got %v, want %v within %g", i, y, want, tol)
		}
	}
	return nil
}

// checkRef compares an elementwise result with the row's Ref in float64.
func checkRef(x *testCase, in []host, got host) error {
	wide := make([]host, len(in))
	for i := range in {
		wide[i] = in[i].spread(got.typ.Shape)
	}
	args := append(make([]float64, len(in)), attrValues(x)...)
	for i := range got.bits {
		exact := true
		for j := range wide {
			args[j] = wide[j].float(i)
			exact = exact && (wide[j].typ.DType.IsFloat() || math.Abs(args[j]) < 1<<53)
		}
		if !exact {
			continue // integers that float64 does not hold; their bits are compared all the same
		}
		if ref := x.row.Ref(args...); !accurate(x.row, got.typ.DType, got.bits[i], ref) {
			return fmt.Errorf("against the definition: element %d is %v, want %v (%g), of %v (tolerance %+v)",
				i, got.scalar(i), ir.MakeScalar(got.typ.DType, ref), ref, args, x.row.Tol)
		}
	}
	return nil
}

// attrValues are the numeric attributes, which follow the operands of a Ref.
func attrValues(x *testCase) []float64 {
	var out []float64
	for i, spec := range x.row.Attrs {
		switch a := x.attrs[i]; spec.Kind {
		case ir.AttrInt, ir.AttrBool:
			out = append(out, float64(a.Int))
		case ir.AttrFloat:
			v := a.Float()
			if x.row.ComputeType(x.in, x.out) == ir.F32 {
				v = float64(float32(v)) // as the launch parameter is
			}
			out = append(out, v)
		case ir.AttrScalar:
			out = append(out, a.Scalar().Float())
		}
	}
	return out
}

// oracleError is what the float64 functions of package math may be off, in units
// of the last place of float64.
const oracleError = 2

// accurate reports whether an element is the value ref as well as the row's
// tolerance asks for.
func accurate(r *ir.Row, d ir.DType, bits uint64, ref float64) bool {
	if !d.IsFloat() {
		return math.IsNaN(ref) || math.Abs(ref) >= 1<<53 || bits == cut(d, uint64(int64(ref)))
	}
	y := ir.Scalar{DType: d, Bits: bits}.Float()
	tol := r.Tol.F32
	if d == ir.F64 {
		tol = r.Tol.F64
	}
	if tol == 0 && (d == ir.F32 || d == ir.F64) {
		return same(d, bits, ir.MakeScalar(d, ref).Bits)
	}
	switch d {
	case ir.F64:
		tol += oracleError
	case ir.F32:
		tol = max(tol, 0.5) + 1e-6
	default: // computed in f32 and rounded once
		tol = 0.5 + (tol+1)*ulp(ir.F32, ref)/ulp(d, ref)
	}
	switch {
	case math.IsNaN(ref) || math.IsNaN(y):
		return math.IsNaN(ref) == math.IsNaN(y)
	case math.IsInf(ref, 0):
		return y == ref
	case math.IsInf(y, 0): // the rounding may have crossed the border
		most := ref + math.Copysign((tol+1)*ulp(d, ref), ref)
		return math.Signbit(y) == math.Signbit(ref) && math.IsInf(ir.MakeScalar(d, most).Float(), 0)
	}
	return math.Abs(y-ref) <= tol*ulp(d, ref)
}
