package fusion

import (
	"context"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// constant is a scalar that each segment makes anew where it is used: it lies
// nowhere, takes no memory and cannot be released. What it is is a launch
// parameter, so plans do not depend on it.
type constant struct {
	op    *Op
	attrs ir.Attrs
	types []ir.Type
}

// Constant makes a value without axes of one element. Any number of operations
// may use it, on any stream of the client.
func (s *Stream) Constant(x ir.Scalar) (*Value, error) {
	row := ir.Lookup("full")
	attrs, err := row.MakeAttrs(ir.A("shape", []int{}, "dtype", x.DType, "value", x))
	if err != nil {
		return nil, err
	}
	k := &constant{op: OpOf(row, attrs), attrs: attrs}
	if k.types, err = ir.Infer(row, nil, attrs); err != nil {
		return nil, err
	}
	v := &Value{typ: &k.types[0], stream: s}
	v.st.Store(&stored{constant: k})
	return v, nil
}

// record makes an ordinary value of a constant.
func (s *Stream) record(k *constant) (*Value, error) {
	v := new(Value)
	err := s.Record(k.op, k.attrs, nil, k.types, []*Value{v}, nil, func() ir.Site { return ir.Site{} })
	return v, err
}

// recordApart records an operation without fusion, with constants as segments of
// their own.
func (s *Stream) recordApart(op *Op, attrs ir.Attrs, in []*Value, types []ir.Type, out []*Value, g *Group, site func() ir.Site) error {
	in = slices.Clone(in)
	for i, v := range in {
		if st := v.st.Load(); st != nil && st.constant != nil {
			w, err := s.record(st.constant)
			if err != nil {
				return err
			}
			defer w.Release()
			in[i] = w
		}
	}
	return s.Record(op, attrs, in, types, out, g, site)
}

// settled runs what makes a constant for someone who wants to look at it.
func (k *constant) settled(ctx context.Context, s *Stream) (*stored, error) {
	v, err := s.record(k)
	if err != nil {
		return nil, err
	}
	return v.settled(ctx) // the collector frees it
}
