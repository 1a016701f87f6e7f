package ir

import (
	"errors"
	"strings"
	"testing"
)

// TestTable: what every row must have.
func TestTable(t *testing.T) {
	numbers := map[uint16]string{}
	methods := map[string]string{}
	for i, r := range Rows() {
		if i > 0 && Rows()[i-1].Number >= r.Number {
			t.Errorf("%s: rows are not in order of number", r.Name)
		}
		if other := numbers[r.Number]; r.Number == 0 || other != "" {
			t.Errorf("%s: number %d is that of %q", r.Name, r.Number, other)
		}
		numbers[r.Number] = r.Name
		if r.Version == 0 {
			t.Errorf("%s: the numerics version is 0", r.Name)
		}
		if strings.Trim(r.Name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" || r.Name == "" {
			t.Errorf("%s: the name is not lower case with underscores", r.Name)
		}
		if !strings.HasSuffix(r.Doc, ".") || strings.Contains(r.Doc, "\n") {
			t.Errorf("%s: the doc %q does not end with a period", r.Name, r.Doc)
		}
		if other := methods[r.Method]; r.Method != "" && other != "" {
			t.Errorf("%s: the method %s is that of %s", r.Name, r.Method, other)
		}
		methods[r.Method] = r.Name
		if Lookup(r.Name) != r || ByNumber(r.Number) != r || (*Table)(nil).Lookup(r.Name) != r {
			t.Errorf("%s: lookups give another row", r.Name)
		}
		operands := map[string]bool{}
		for _, o := range r.Operands {
			if o.Name == "" || operands[o.Name] || o.Class == 0 {
				t.Errorf("%s: operand %q has no name of its own, or no class", r.Name, o.Name)
			}
			operands[o.Name] = true
		}
		for name := range r.Grad {
			if !operands[name] || r.Gradient(name) == nil {
				t.Errorf("%s: gradient of %q, which is no operand", r.Name, name)
			}
		}
	}
	if Lookup("no_such_row") != nil || ByNumber(0xffff) != nil {
		t.Error("unknown rows are found")
	}
}

// TestInferSamples: the type rule accepts each sample, and generic shapes of an
// elementwise row, for some dtypes of its classes; it refuses operands and
// attributes that are missing, and never panics.
func TestInferSamples(t *testing.T) {
	for _, r := range Rows() {
		samples := r.Samples
		if r.Access == Elementwise && len(r.Operands) > 0 {
			s := Sample{}
			for i := range r.Operands {
				s.Shapes = append(s.Shapes, []Shape{{2, 3}, {3}, {2, 1}}[i%3])
			}
			if len(r.Samples) > 0 {
				s.Attrs = r.Samples[0].Attrs
			} else if r.attrIndex("dtype") >= 0 {
				s.Attrs = A("dtype", F16)
			}
			samples = append(samples[:len(samples):len(samples)], s)
		}
		if len(samples) == 0 {
			t.Errorf("%s has no samples", r.Name)
		}
		for _, s := range samples {
			if got := accepted(t, r, s); got == 0 {
				t.Errorf("%s: the sample %v %v is accepted for no dtype", r.Name, s.Shapes, s.Attrs)
			}
		}
		for n := 0; n < 4; n++ {
			in := make([]Type, n)
			if _, err := Infer(r, in, make(Attrs, len(r.Attrs)+1)); err == nil {
				t.Errorf("%s accepts an attribute too many", r.Name)
			}
			if _, err := Infer(r, in, make(Attrs, len(r.Attrs))); err == nil && n+len(r.Attrs) > 0 {
				t.Errorf("%s accepts invalid operands or attributes", r.Name)
			}
		}
	}
}

// accepted counts the dtypes for which the rule accepts the sample.
func accepted(t *testing.T, r *Row, s Sample) (count int) {
	attrs, err := r.MakeAttrs(s.Attrs)
	if err != nil {
		t.Errorf("%s: %v: %v", r.Name, s.Attrs, err)
		return 0
	}
	for _, d := range DTypes() {
		in := make([]Type, len(s.Shapes))
		fits := true
		for i, shape := range s.Shapes {
			in[i] = Type{d, shape}
			switch c := r.OperandAt(i).Class; {
			case c.Has(d):
			case c == I64Class:
				in[i].DType = I64
			case c == BoolClass:
				in[i].DType = Bool
			case c == FloatClass && r.Operands[0].Class&FloatClass == 0: // floats beside integers
				in[i].DType = F32
			case c == IntClass && d.Kind() == KindUint: // signed beside unsigned
				in[i].DType = I8
			case c == Ints && r.Operands[0].Class&Ints == 0:
				in[i].DType = U8
			default:
				fits = false
			}
		}
		out, err := Infer(r, in, attrs)
		if !fits {
			if err == nil {
				t.Errorf("%s accepts %v, which is in none of its classes", r.Name, d)
			} else if !errors.Is(err, ErrDType) {
				t.Errorf("%s: %v: not a dtype error", r.Name, err)
			}
			continue
		}
		if err != nil {
			continue
		}
		count++
		if len(out) != r.NumResults() {
			t.Errorf("%s gives %d results, expected %d", r.Name, len(out), r.NumResults())
		}
		for _, o := range out {
			if err := o.Check(); err != nil {
				t.Errorf("%s gives %v: %v", r.Name, o, err)
			}
		}
		if len(r.programs) > 0 && r.Program(r.ComputeType(in, out)) == nil {
			t.Errorf("%s accepts %v but has no body that computes in %v", r.Name, in, r.ComputeType(in, out))
		}
	}
	return count
}

func TestAddCustom(t *testing.T) {
	row := func(name string) *Row {
		return &Row{Name: name, Doc: "y = x.", Access: Elementwise, Operands: []Operand{{"x", AnyType, AnyValue}},
			Infer: inferSame, Body: Body{Any: "x"}}
	}
	for _, c := range []struct {
		change func(*Row)
		want   string
	}{
		{func(r *Row) { r.Name = "plain" }, "must be domain/name@version"},
		{func(r *Row) { r.Name = "a/b" }, "must be domain/name@version"},
		{func(r *Row) { r.Name = "a/b c@1" }, "must be domain/name@version"},
		{func(r *Row) { r.Name = "a/b@1@2" }, "must be domain/name@version"},
		{func(r *Row) { r.Name = "/b@1" }, "must be domain/name@version"},
		{func(r *Row) { r.Number = 5 }, "the wire number must be 0"},
		{func(r *Row) { r.Doc = "" }, "doc, access and type rule are required"},
		{func(r *Row) { r.Access = View }, "have a View"},
		{func(r *Row) { r.Body = Body{} }, "a body is required"},
		{func(r *Row) { r.Body.Any = "x +" }, "body for"},
		{func(r *Row) { r.Grad = map[string]string{"x": "("} }, "gradient of x"},
		{func(r *Row) { r.Variadic, r.Operands = true, nil }, "declares the operand that repeats"},
		{func(r *Row) { r.Attrs = []AttrSpec{{Name: "a b", Kind: AttrInt}} }, "not a word"},
		{func(r *Row) { r.Attrs = []AttrSpec{{Name: "a", Kind: 99}} }, "no kind 99"},
		{func(r *Row) { r.Attrs = []AttrSpec{{Name: "a", Kind: AttrInt}, {Name: "a", Kind: AttrInt}} }, "missing or taken"},
		{func(r *Row) { r.Attrs = []AttrSpec{{Name: "a", Kind: AttrInt, Default: "1"}} }, `the default of "a"`},
	} {
		var table Table
		r := row("acme/copy@1")
		c.change(r)
		if err := table.Add(r); err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, ErrArgument) {
			t.Errorf("got error %v, expected it to contain %q", err, c.want)
		}
	}
	var table Table
	if err := table.Add(row("acme/copy@1")); err != nil {
		t.Fatal(err)
	}
	if err := table.Add(row("acme/copy@1")); err == nil || !strings.Contains(err.Error(), "already defined") {
		t.Errorf("got %v", err)
	}
	const text = "program\n  in %1 f32[]\n  %2 f32[] = acme/copy@1 %1\n  out %2\n"
	p, err := ParseProgram(text, &table)
	if err != nil || p.String() != text {
		t.Fatalf("%v: %s", err, p)
	}
	if _, err := ParseProgram(text, nil); err == nil {
		t.Error("found in no table")
	}
	if _, err := DecodeWire(p.AppendWire(nil), &table); err != nil {
		t.Error(err)
	}
	if _, err := DecodeWire(p.AppendWire(nil), nil); err == nil || !strings.Contains(err.Error(), `"acme/copy@1"`) {
		t.Errorf("got %v", err)
	}
}

// TestHugeConcat: extents that would wrap around together are refused.
func TestHugeConcat(t *testing.T) {
	for _, n := range []int{2, 16, 33, 40, 64} {
		in := make([]Type, n)
		for i := range in {
			in[i] = Type{U8, Shape{MaxElements}}
		}
		if out, err := Infer(Lookup("concat"), in, Attrs{{Kind: AttrInt}}); !errors.Is(err, ErrShape) {
			t.Errorf("%d operands: %v, %v", n, out, err)
		}
	}
	for _, shape := range [][]int64{{1 << 32, 1 << 32}, {1 << 62, 4}, {1 << 32, 1 << 32, -1}, {3, 1 << 62, 1 << 62}} {
		a, err := Lookup("reshape").MakeAttrs(A("shape", shape))
		if err != nil {
			t.Fatal(err)
		}
		if out, err := Infer(Lookup("reshape"), []Type{{F32, Shape{0}}}, a); !errors.Is(err, ErrShape) {
			t.Errorf("%v: %v, %v", shape, out, err)
		}
	}
}
