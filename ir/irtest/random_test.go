package irtest

import (
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/ir"
)

// TestRandom: every program verifies, survives text and wire and keeps the
// limit, and over some seeds every row appears.
func TestRandom(t *testing.T) {
	rows := map[string]int{}
	var empty, negative, nodes int
	for seed := uint64(0); seed < 1500; seed++ {
		p := Random(rand.New(rand.NewPCG(seed, 1)), Options{Faults: seed%4 == 0})
		if err := p.Verify(); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, p)
		}
		text := p.String()
		q, err := ir.ParseProgram(text, nil)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, p)
		}
		if q.String() != text {
			t.Fatalf("seed %d: got\n%s\nwant\n%s", seed, q, text)
		}
		w, err := ir.DecodeWire(p.AppendWire(nil), nil)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, p)
		}
		if w.Fingerprint() != p.Fingerprint() || q.Fingerprint() != p.Fingerprint() {
			t.Fatalf("seed %d: fingerprints differ\n%s", seed, p)
		}
		for _, v := range p.Inputs {
			if v.Shape.Size() > 4096 {
				t.Fatalf("seed %d: input %v is too large", seed, v.Type)
			}
		}
		nodes += len(p.Nodes)
		for i := range p.Nodes {
			n := &p.Nodes[i]
			rows[n.Row.Name]++
			for _, v := range n.Out {
				if v.Shape.Size() > 4096 {
					t.Fatalf("seed %d: %v is too large", seed, v.Type)
				}
				if v.Shape.Size() == 0 {
					empty++
				}
			}
			if n.Row.Name == "slice" {
				for _, s := range n.Attr("steps").List {
					if s < 0 {
						negative++
					}
				}
			}
		}
	}
	for _, r := range ir.Rows() {
		if rows[r.Name] < 20 && r.Decompose == nil {
			t.Errorf("%s appears %d times in %d nodes", r.Name, rows[r.Name], nodes)
		}
	}
	if empty < nodes/200 || negative < 100 {
		t.Errorf("%d empty results and %d negative steps in %d nodes", empty, negative, nodes)
	}
	t.Logf("%d nodes, %d empty, rows %v", nodes, empty, rows)
}

// TestCasts: over some seeds every dtype is cast to every other.
func TestCasts(t *testing.T) {
	casts := map[[2]ir.DType]bool{}
	for seed := uint64(0); seed < 300; seed++ {
		p := Random(rand.New(rand.NewPCG(seed, 3)), Options{Rows: []*ir.Row{ir.Lookup("cast")}})
		for i := range p.Nodes {
			if n := &p.Nodes[i]; n.Row.Name == "cast" {
				casts[[2]ir.DType{n.In[0].DType, n.Out[0].DType}] = true
			}
		}
	}
	if n := len(ir.DTypes()); len(casts) != n*n {
		t.Errorf("%d pairs of dtypes are cast, expected %d", len(casts), n*n)
	}
}

// TestDeterministic: a seed names a program.
func TestDeterministic(t *testing.T) {
	make := func() string { return Random(rand.New(rand.NewPCG(7, 7)), Options{}).String() }
	if a, b := make(), make(); a != b {
		t.Errorf("got\n%s\nand\n%s", a, b)
	}
}

// TestNewRow: a row that this package does not know is called by its declaration.
func TestNewRow(t *testing.T) {
	var table ir.Table
	unknown := []*ir.Row{
		{Name: "test/fresh@1", Doc: "y = x · z + w.", Access: ir.Elementwise,
			Operands: []ir.Operand{{Name: "x", Class: ir.FloatClass}, {Name: "z", Class: ir.FloatClass}, {Name: "w", Class: ir.FloatClass}},
			Attrs:    []ir.AttrSpec{{Name: "scale", Kind: ir.AttrFloat}},
			Infer:    ir.Lookup("add").Infer, Body: ir.Body{Any: "(x * z + w) * scale"}},
		{Name: "test/solve@1", Doc: "y = the solution.", Access: ir.Opaque,
			Operands: []ir.Operand{{Name: "x", Class: ir.FloatClass}, {Name: "z", Class: ir.FloatClass}},
			Infer:    ir.Lookup("matmul").Infer,
			Samples:  []ir.Sample{{Shapes: []ir.Shape{{3, 3}, {3, 2}}}}},
	}
	for _, r := range unknown {
		if err := table.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]int{}
	for seed := uint64(0); seed < 80; seed++ {
		p := Random(rand.New(rand.NewPCG(seed, 2)), Options{Rows: append(ir.Rows(), unknown...)})
		for i := range p.Nodes {
			seen[p.Nodes[i].Row.Name]++
		}
		if q, err := ir.DecodeWire(p.AppendWire(nil), &table); err != nil || q.Fingerprint() != p.Fingerprint() {
			t.Fatalf("%v\n%s", err, p)
		}
	}
	for _, r := range unknown {
		if seen[r.Name] == 0 {
			t.Errorf("%s never appears", r.Name)
		}
	}
}

func TestInputData(t *testing.T) {
	p, err := ir.ParseProgram(`program
  in %1 f32[5,3]
  in %2 i64[40]
  in %3 i64[40]
  in %4 f16[1000]
  %5 = gather %1 %2 {axis=-1}
  %6 = gather %1 %2 {axis=0}
  %7 = mod %2 %3
  out %5`, nil)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	data := InputData(rng, p, 0.3)
	for i, in := range p.Inputs {
		if int64(len(data[i])) != in.Bytes() {
			t.Errorf("input %d has %d bytes, expected %d", i, len(data[i]), in.Bytes())
		}
	}
	for i := 0; i < 40; i++ {
		if v := int64(element8(data[1][8*i:])); v < -3 || v > 2 {
			t.Errorf("index %d is out of range", v)
		}
		if element8(data[2][8*i:]) == 0 {
			t.Error("a divisor is 0")
		}
	}
	special := 0
	for i := 0; i < 2000; i += 2 {
		if data[3][i+1]&0x7c == 0x7c {
			special++ // infinity or NaN
		}
	}
	if special < 30 {
		t.Errorf("%d of 1000 elements are infinite or NaN", special)
	}
	for _, d := range ir.DTypes() {
		for _, domain := range []ir.Domain{ir.AnyValue, ir.Moderate, ir.Positive, ir.NonZero} {
			if d == ir.Bool && domain != ir.AnyValue {
				continue
			}
			for i := 0; i < 200; i++ {
				s := ir.Scalar{DType: d, Bits: element(rng, d, domain, 0.5)}
				v := s.Float()
				if s.Check() != nil || domain == ir.Positive && !(v > 0) || domain == ir.NonZero && v == 0 {
					t.Fatalf("%v in domain %d", s, domain)
				}
			}
		}
	}
}

func element8(b []byte) (v uint64) {
	for i := 7; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v
}
