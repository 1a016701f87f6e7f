package ir

// Shape and dtype rules that several rows share.

// inferSame: operands broadcast together, share one dtype (bool operands of
// other classes aside), and the result has it.
func inferSame(r *Row, in []Type, _ Attrs) ([]Type, error) {
	t, err := broadcastTypes(r, in)
	if err != nil {
		return nil, err
	}
	return []Type{t}, nil
}

// inferCompare is inferSame with a bool result.
func inferCompare(r *Row, in []Type, _ Attrs) ([]Type, error) {
	t, err := broadcastTypes(r, in)
	if err != nil {
		return nil, err
	}
	t.DType = Bool
	return []Type{t}, nil
}

// The rules of the table that custom rows use: SameType for elementwise rows,
// CompareType for elementwise rows with a bool result, AlongType for rows that
// keep the shape and work along the attribute axis.
var (
	SameType    InferFunc = inferSame
	CompareType InferFunc = inferCompare
	AlongType   InferFunc = inferAlong(sameDType)
)

// broadcastTypes checks that all operands but pure conditions have one dtype,
// and broadcasts their shapes.
func broadcastTypes(r *Row, in []Type) (Type, error) {
	var dt DType
	first := ""
	shapes := make([]Shape, len(in))
	for i, t := range in {
		shapes[i] = t.Shape
		o := r.OperandAt(i)
		if o.Class == BoolClass && len(in) > 2 {
			continue // the condition of a select
		}
		if dt == Invalid {
			dt, first = t.DType, o.Name
		} else if t.DType != dt {
			return Type{}, Errorf(ErrDType, "operand %s is %s but %s is %s; tensors never promote by themselves: cast one of them",
				first, dt, o.Name, t.DType)
		}
	}
	shape, err := Broadcast(shapes...)
	return Type{dt, shape}, err
}

// SumDType is the dtype in which sums, products and cumulative sums accumulate
// and are returned: floats keep theirs (f16 and bf16 accumulate in f32 and are
// rounded once), signed integers and bool give i64, unsigned ones u64.
func SumDType(d DType) DType {
	switch d.Kind() {
	case KindInt, KindBool:
		return I64
	case KindUint:
		return U64
	}
	return d
}

// MeanDType is the dtype of mean and variance: floats keep theirs, integers and
// bool give f64, which holds the mean of any i32 exactly.
func MeanDType(d DType) DType {
	if d.IsFloat() {
		return d
	}
	return F64
}

func sameDType(d DType) DType { return d }
func i64DType(DType) DType    { return I64 }

// inferReduce makes the rule of a reduction over the attribute axes (empty
// means all) with the attribute keepdims. Rows without an identity refuse to
// reduce nothing.
func inferReduce(result func(DType) DType, identity bool) InferFunc {
	return func(r *Row, in []Type, a Attrs) ([]Type, error) {
		axes, err := ReduceAxes(r, in[0], a)
		if err != nil {
			return nil, err
		}
		reduced := [MaxRank]bool{}
		n := 1
		for _, x := range axes {
			reduced[x] = true
			n *= in[0].Shape[x]
		}
		keep := r.Attr(a, "keepdims").Bool()
		shape := Shape{}
		for i, d := range in[0].Shape {
			switch {
			case !reduced[i]:
				shape = append(shape, d)
			case keep:
				shape = append(shape, 1)
			}
		}
		if n == 0 && !identity && shape.Size() > 0 {
			return nil, Errorf(ErrShape, "there is no %s of nothing: the reduced axes of %v have no elements", r.Name, in[0].Shape)
		}
		return []Type{{result(in[0].DType), shape}}, nil
	}
}

// ReduceAxes returns the normalised axes that a node reduces: the attribute
// axes, or axis.
func ReduceAxes(r *Row, in Type, a Attrs) ([]int, error) {
	if i := r.attrIndex("axes"); i >= 0 {
		return Axes(a[i].List, len(in.Shape))
	}
	x, err := Axis(extent(r.Attr(a, "axis").Int), len(in.Shape))
	if err != nil {
		return nil, err
	}
	return []int{x}, nil
}

// inferAlong: the result has the operand's shape; the attribute axis must exist.
func inferAlong(result func(DType) DType) InferFunc {
	return func(r *Row, in []Type, a Attrs) ([]Type, error) {
		if _, err := ReduceAxes(r, in[0], a); err != nil {
			return nil, err
		}
		return []Type{{result(in[0].DType), in[0].Shape}}, nil
	}
}
