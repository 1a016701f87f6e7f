package ir

import (
	"math"
	"strconv"
	"strings"
)

// AttrKind is the type of an attribute.
type AttrKind uint8

// The attribute types.
const (
	AttrInt AttrKind = iota + 1
	AttrInts
	AttrFloat
	AttrBool
	AttrDType
	AttrScalar // one element of a dtype, exact
)

// AttrSpec declares an attribute of a row. A nil Default makes it required. A
// Binding attribute is a launch parameter: its value is outside every plan key.
type AttrSpec struct {
	Name    string
	Kind    AttrKind
	Default any
	Binding bool
}

// Attr is the value of an attribute.
type Attr struct {
	Kind AttrKind
	Int  int64   // AttrInt; AttrBool as 0 or 1; AttrDType and AttrScalar: the dtype
	Bits uint64  // AttrFloat: of the float64; AttrScalar: of the element
	List []int64 // AttrInts
}

// Attrs are the attributes of a node, in the order of its row's specs.
type Attrs []Attr

// Float returns the value of a float attribute.
func (a Attr) Float() float64 { return math.Float64frombits(a.Bits) }

// Bool returns the value of a bool attribute.
func (a Attr) Bool() bool { return a.Int != 0 }

// DType returns the dtype of a dtype or scalar attribute.
func (a Attr) DType() DType { return DType(a.Int) }

// Scalar returns the value of a scalar attribute.
func (a Attr) Scalar() Scalar { return Scalar{DType(a.Int), a.Bits} }

// check returns an error if the attribute is not a value of the kind.
func (a Attr) check(kind AttrKind) error {
	switch {
	case a.Kind != kind:
		return Errorf(ErrArgument, "it is of kind %d, expected %d", a.Kind, kind)
	case kind == AttrBool && a.Int>>1 != 0:
		return Errorf(ErrArgument, "%d is not a bool", a.Int)
	case kind == AttrDType && (a.Int < 0 || a.Int >= int64(numDTypes) || !DType(a.Int).Valid()):
		return Errorf(ErrDType, "%d is not a dtype", a.Int)
	case kind == AttrScalar && (a.Int < 0 || a.Int >= int64(numDTypes)):
		return Errorf(ErrDType, "%d is not a dtype", a.Int)
	case kind == AttrScalar:
		return a.Scalar().Check()
	}
	return nil
}

// Equal reports whether two attributes are the same, bit for bit.
func (a Attr) Equal(b Attr) bool {
	if a.Kind != b.Kind || a.Int != b.Int || a.Bits != b.Bits || len(a.List) != len(b.List) {
		return false
	}
	for i := range a.List {
		if a.List[i] != b.List[i] {
			return false
		}
	}
	return true
}

// String returns the text form of the value.
func (a Attr) String() string {
	switch a.Kind {
	case AttrInt:
		return strconv.FormatInt(a.Int, 10)
	case AttrInts:
		var b strings.Builder
		b.WriteByte('[')
		for i, v := range a.List {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strconv.FormatInt(v, 10))
		}
		b.WriteByte(']')
		return b.String()
	case AttrFloat:
		return Scalar{F64, a.Bits}.text()
	case AttrBool:
		return strconv.FormatBool(a.Int != 0)
	case AttrDType:
		return DType(a.Int).String()
	case AttrScalar:
		return a.Scalar().String()
	}
	return "?"
}

// MakeAttr converts a Go value to an attribute of the given kind.
func MakeAttr(kind AttrKind, v any) (Attr, error) {
	a := Attr{Kind: kind}
	bad := func() (Attr, error) {
		return a, Errorf(ErrArgument, "attribute value %v has type %T, which does not fit", v, v)
	}
	switch kind {
	case AttrInt:
		switch x := v.(type) {
		case int:
			a.Int = int64(x)
		case int64:
			a.Int = x
		default:
			return bad()
		}
	case AttrInts:
		switch x := v.(type) {
		case []int64:
			a.List = append([]int64(nil), x...)
		case []int:
			for _, i := range x {
				a.List = append(a.List, int64(i))
			}
		case Shape:
			for _, i := range x {
				a.List = append(a.List, int64(i))
			}
		default:
			return bad()
		}
	case AttrFloat:
		switch x := v.(type) {
		case float64:
			a.Bits = math.Float64bits(x)
		case int:
			a.Bits = math.Float64bits(float64(x))
		default:
			return bad()
		}
	case AttrBool:
		x, ok := v.(bool)
		if !ok {
			return bad()
		}
		if x {
			a.Int = 1
		}
	case AttrDType:
		x, ok := v.(DType)
		if !ok || !x.Valid() {
			return bad()
		}
		a.Int = int64(x)
	case AttrScalar:
		x, ok := v.(Scalar)
		if !ok {
			return bad()
		}
		if err := x.Check(); err != nil {
			return a, err
		}
		a.Int, a.Bits = int64(x.DType), x.Bits
	default:
		return bad()
	}
	return a, nil
}

// Named is an attribute given by name.
type Named struct {
	Name  string
	Value any
}

// A makes a list of named attributes from alternating names and values.
func A(pairs ...any) []Named {
	out := make([]Named, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		out = append(out, Named{name, pairs[i+1]})
	}
	return out
}

// MakeAttrs puts named attributes into the row's order and fills in defaults.
func (r *Row) MakeAttrs(named []Named) (Attrs, error) {
	if len(r.Attrs) == 0 && len(named) == 0 {
		return nil, nil
	}
	out := make(Attrs, len(r.Attrs))
	for _, n := range named {
		i := r.attrIndex(n.Name)
		if i < 0 {
			return nil, Errorf(ErrArgument, "%s has no attribute %q", r.Name, n.Name)
		}
		a, err := MakeAttr(r.Attrs[i].Kind, n.Value)
		if err != nil {
			return nil, Errorf(ErrArgument, "attribute %q: %v", n.Name, err)
		}
		out[i] = a
	}
	for i, s := range r.Attrs {
		if out[i].Kind != 0 {
			continue
		}
		if s.Default == nil {
			return nil, Errorf(ErrArgument, "attribute %q is missing", s.Name)
		}
		a, err := MakeAttr(s.Kind, s.Default)
		if err != nil {
			return nil, err
		}
		out[i] = a
	}
	return out, nil
}

// HasAttr reports whether the row has an attribute with a name.
func (r *Row) HasAttr(name string) bool { return r.attrIndex(name) >= 0 }

func (r *Row) attrIndex(name string) int {
	for i, s := range r.Attrs {
		if s.Name == name {
			return i
		}
	}
	return -1
}

// Attr returns the attribute with a name; it panics if the row has none, which
// is a fault of the row's own code.
func (r *Row) Attr(a Attrs, name string) Attr {
	i := r.attrIndex(name)
	if i < 0 {
		panic("sinter/ir: BUG: row " + r.Name + " has no attribute " + name)
	}
	return a[i]
}
