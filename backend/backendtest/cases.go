package backendtest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/irtest"
)

// call is a way to call a row, but for the dtypes.
type call struct {
	shapes []ir.Shape
	attrs  []ir.Named
	edge   bool // an extreme shape, tried over few layouts
}

// testCase is one call of a row over one layout. Its data follow from its name.
type testCase struct {
	name   string
	row    *ir.Row
	attrs  ir.Attrs
	in     []ir.Type
	out    []ir.Type
	layout string

	units    bool // computed by units of a kind of device that is no processor
	referred bool
	want     []host // of the reference
	err      error  // what the definition says against it
}

// allCases lists the cases of all rows, once.
var allCases = sync.OnceValue(func() []*testCase {
	var out []*testCase
	for _, r := range ir.Rows() {
		if r.Decompose == nil { // else no backend sees it
			out = append(out, CasesOf(r)...)
		}
	}
	return out
})

// CasesOf lists the cases of a row.
func CasesOf(r *ir.Row) []*testCase {
	var out []*testCase
	seen := map[string]bool{}
	for _, c := range callsOf(r) {
		for _, d := range assignments(r) {
			for _, named := range attributes(r, c.attrs, d) {
				in := make([]ir.Type, len(c.shapes))
				for i, s := range c.shapes {
					in[i] = ir.Type{DType: operandType(r, i, d), Shape: s}
				}
				attrs, err := r.MakeAttrs(named)
				if err != nil {
					continue
				}
				types, err := ir.Infer(r, in, attrs)
				if err != nil {
					continue // the row does not take this call in this dtype
				}
				use := layouts
				switch {
				case len(in) == 0:
					use = layouts[:1]
				case c.edge: // one layout, by turns
					use = []string{"contiguous", "mixed"}[len(out)%2:][:1]
				}
				for _, l := range use {
					t := &testCase{row: r, attrs: attrs, in: in, out: types, layout: l}
					t.name = fmt.Sprintf("%s(%v)%v/%s", r.Name, in, describe(r, attrs), l)
					if !seen[t.name] {
						seen[t.name] = true
						out = append(out, t)
					}
				}
			}
		}
	}
	return out
}

func describe(r *ir.Row, a ir.Attrs) string {
	s := ""
	for i, spec := range r.Attrs {
		s += " " + spec.Name + "=" + a[i].String()
	}
	return s
}

// assignments lists the dtypes that the operands may share; a row whose
// operands have no choice gets one. Where no dtype suits all, each is given to
// those that it suits.
func assignments(r *ir.Row) []ir.DType {
	var out []ir.DType
	for _, d := range ir.DTypes() {
		ok, free := true, false
		for i := range r.Operands {
			t := operandType(r, i, d)
			ok = ok && r.Operands[i].Class.Has(t)
			free = free || r.Operands[i].Class != ir.BoolClass && r.Operands[i].Class != ir.I64Class && t == d
		}
		if ok && (free || len(out) == 0) {
			out = append(out, d)
		}
	}
	return out
}

func operandType(r *ir.Row, i int, d ir.DType) ir.DType {
	switch r.OperandAt(i).Class {
	case ir.BoolClass:
		return ir.Bool
	case ir.I64Class:
		return ir.I64
	}
	if c := r.OperandAt(i).Class; !c.Has(d) && !shares(r) {
		for _, other := range []ir.DType{ir.F32, ir.U8, ir.I8} {
			if c.Has(other) {
				return other
			}
		}
	}
	return d
}

// shares reports whether one dtype suits all operands that have a choice.
func shares(r *ir.Row) bool {
	all := ir.AnyType
	for _, o := range r.Operands {
		if o.Class != ir.BoolClass && o.Class != ir.I64Class {
			all &= o.Class
		}
	}
	return all != 0
}

// attributes completes named attributes in every way that matters: all dtypes,
// and for a scalar a value of the dtype.
func attributes(r *ir.Row, given []ir.Named, d ir.DType) [][]ir.Named {
	has := map[string]bool{}
	for _, n := range given {
		has[n.Name] = true
	}
	out := [][]ir.Named{given}
	for _, spec := range r.Attrs {
		if has[spec.Name] {
			continue
		}
		if spec.Kind == ir.AttrDType {
			var wide [][]ir.Named
			for _, n := range out {
				for _, to := range ir.DTypes() {
					wide = append(wide, append(n[:len(n):len(n)], ir.Named{Name: spec.Name, Value: to}))
				}
			}
			out = wide
			continue
		}
		for i, n := range out {
			var v any
			switch spec.Kind {
			case ir.AttrScalar:
				to := d
				for _, o := range n {
					if x, ok := o.Value.(ir.DType); ok {
						to = x
					}
				}
				v = ir.MakeScalar(to, 3)
			default:
				v = sampleValue(r, spec)
			}
			if v != nil {
				out[i] = append(n[:len(n):len(n)], ir.Named{Name: spec.Name, Value: v})
			}
		}
	}
	return out
}

// sampleValue is the attribute's value in the first sample that has one.
func sampleValue(r *ir.Row, spec ir.AttrSpec) any {
	for _, s := range r.Samples {
		for _, n := range s.Attrs {
			if n.Name == spec.Name {
				return n.Value
			}
		}
	}
	if spec.Default != nil {
		return nil // MakeAttrs fills it in
	}
	switch spec.Kind {
	case ir.AttrFloat:
		return 0.5
	case ir.AttrInt:
		return 1
	case ir.AttrBool:
		return true
	}
	return nil
}

// period is the length of the data of long operands: a prime, so that no tree or
// vector is in step with it.
const period = 1999

// data returns the logical operands, what to upload, and the views between.
func (c *testCase) data() (logical, uploads []host, views [][]viewCall) {
	h := fnv.New64a()
	h.Write([]byte(c.name))
	rng := rand.New(rand.NewPCG(h.Sum64(), 1))
	n := ir.Node{Row: c.row, Attrs: c.attrs}
	p := &ir.Program{}
	for i, t := range c.in {
		n.In = append(n.In, ir.Tensor{ID: ir.ID(i + 1), Type: t})
	}
	p.Inputs, p.Nodes = n.In, []ir.Node{n}
	special := []float64{0, 0.05, 0.3}[rng.IntN(3)]
	big := false
	for _, t := range c.in {
		big = big || t.Shape.Size() > period
	}
	var bytes [][]byte
	if !big {
		bytes = irtest.InputData(rng, p, special)
	}
	for i, t := range c.in {
		if big { // repeat a shorter one; no row is called on long indices
			b := irtest.Data(rng, ir.Type{DType: t.DType, Shape: ir.Shape{period}}, c.row.OperandAt(i).Domain, special)
			for int64(len(b)) < t.Bytes() {
				b = append(b, b[:min(int64(len(b)), t.Bytes()-int64(len(b)))]...)
			}
			bytes = append(bytes, b[:t.Bytes()])
		}
		x := decode(t, littleEndian(t.DType, bytes[i]))
		if c.row.Access == ir.Elementwise {
			stir(rng, x, c.row.OperandAt(i).Domain)
		}
		u, v, l := arrange(c.layout, i, x)
		logical, uploads, views = append(logical, l), append(uploads, u), append(views, v)
	}
	return logical, uploads, views
}

// stir puts elements of any magnitude among those of a small range.
func stir(rng *rand.Rand, x host, domain ir.Domain) {
	d := x.typ.DType
	if domain != ir.AnyValue || d == ir.Bool {
		return
	}
	for i := range x.bits {
		if rng.IntN(3) == 0 {
			x.bits[i] = cut(d, rng.Uint64())
		}
	}
}

// littleEndian turns little-endian elements into the machine's order.
func littleEndian(d ir.DType, b []byte) []byte {
	if n := d.Size(); n > 1 && decode(ir.Type{DType: ir.U16, Shape: ir.Shape{1}}, []byte{1, 0}).bits[0] != 1 {
		for i := 0; i+n <= len(b); i += n {
			for j := 0; j < n/2; j++ {
				b[i+j], b[i+n-1-j] = b[i+n-1-j], b[i+j]
			}
		}
	}
	return b
}
