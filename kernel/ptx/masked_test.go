package ptx

import (
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
)

// maskedSpec is y = select(c, v, x), or what is not, of a cache [8, 40, 24]: c is of its positions.
func maskedSpec(t ir.DType, stays bool, cond string) ptxtest.Spec {
	wide := t.Compute()
	return ptxtest.Spec{Name: "chosen", Class: "chosen", Axes: "ppp", Extents: []int64{8, 40, 24}, Compute: wide,
		In:  []ptxtest.Arg{{Type: ir.Bool, Axes: cond}, {Type: t, Axes: "sbu", Fill: ptxtest.Normal}, {Type: t, Axes: "ssu", Fill: ptxtest.Normal}},
		Out: []ptxtest.Arg{{Type: t, Axes: "ssu"}},
		Raw: func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref {
			v, x := b.Convert(in[1], wide), b.Convert(in[2], wide)
			v = b.Op(kernel.OpAdd, wide, v, v)
			if stays {
				v, x = x, v
			}
			return []kernel.Ref{b.Op(kernel.OpSelect, wide, in[0], v, x)}
		}}
}

// TestMasked: an update in place by a condition that is the same along the innermost axis reads
// nothing of what is there, and gives what the update beside it gives; the plan of one is not
// that of the other. Other forms stay what they are.
func TestMasked(t *testing.T) {
	run := func(s ptxtest.Spec, inPlace bool, change func(*kernel.Launch)) (out []byte, name, key string) {
		t.Helper()
		c := s.Make()
		if change != nil {
			change(c.Launch)
		}
		m, err := Generate(c.Kernel, Target{Major: 9})
		if err != nil {
			t.Fatal(err)
		}
		sim, base := simulatorOf(c)
		at := 3
		if inPlace {
			base[3], at = base[2], 2
		}
		plan, err := m.Plan(c.Launch, base)
		if err != nil {
			t.Fatal(err)
		}
		sim.runPlan(t, plan)
		return slices.Clone(c.Buffers[at].Bytes()), plan.Steps[0].Entry.Name, string(m.AppendKey(nil, c.Launch, base))
	}
	for _, typ := range []ir.DType{ir.F32, ir.BF16, ir.F16, ir.U8, ir.I64, ir.F64} {
		for _, stays := range []bool{false, true} {
			for _, cond := range []string{"bub", "sub", "ubb"} {
				s := maskedSpec(typ, stays, cond)
				want, plain, key := run(s, false, nil)
				got, name, other := run(s, true, nil)
				if n, at := ptxtest.Mismatches(typ, got, want); n > 0 {
					t.Errorf("%s, %v, condition %s: %d mismatches, %s", typ, stays, cond, n, at)
				}
				if strings.Contains(plain, "_masked") || !strings.HasSuffix(name, "_masked") || key == other {
					t.Errorf("%s: %s beside what there is, %s in its place; one key: %v", typ, plain, name, key == other)
				}
			}
		}
	}
	// Conditions that change along the innermost axis, and results that lie apart though they begin there.
	if _, name, _ := run(maskedSpec(ir.BF16, false, "bsu"), true, nil); strings.Contains(name, "_masked") {
		t.Errorf("%s by a condition of each element", name)
	}
	apart := func(l *kernel.Launch) { l.Extents = []int64{4, 40, 24}; l.Args[3].Strides = []int64{2 * 960, 24, 1} }
	if _, name, _ := run(maskedSpec(ir.BF16, false, "bub"), true, apart); strings.Contains(name, "_masked") {
		t.Errorf("%s of a result that lies apart", name)
	}
	// A part of it along an axis.
	part := func(l *kernel.Launch) { *l = *l.Slice(1, 8, 31) }
	want, _, _ := run(maskedSpec(ir.BF16, false, "bub"), false, part)
	got, name, _ := run(maskedSpec(ir.BF16, false, "bub"), true, part)
	if !strings.Contains(name, "_masked") {
		t.Error(name)
	}
	c := maskedSpec(ir.BF16, false, "bub").Make()
	for i := range len(want) / 2 {
		if p := i / 24 % 40; p < 8 || p >= 31 { // not of the part
			copy(want[2*i:2*i+2], c.Buffers[2].Bytes()[2*i:])
		}
	}
	if n, at := ptxtest.Mismatches(ir.BF16, got, want); n > 0 {
		t.Errorf("a part: %d mismatches, %s", n, at)
	}
}

// TestMaskedForm: what else a kernel does keeps it from being an update that leaves the rest
// alone.
func TestMaskedForm(t *testing.T) {
	form := func(change func(s *ptxtest.Spec)) *masked {
		s := maskedSpec(ir.F32, false, "bub")
		change(&s)
		return maskedOf(s.Shape().Kernel)
	}
	raw := func(f func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref) func(s *ptxtest.Spec) {
		return func(s *ptxtest.Spec) { s.Raw = f }
	}
	if form(func(*ptxtest.Spec) {}) == nil {
		t.Error("no form")
	}
	for what, change := range map[string]func(s *ptxtest.Spec){
		"two results": func(s *ptxtest.Spec) {
			one := s.Raw
			s.Out = append(s.Out, s.Out[0])
			s.Raw = func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref { return append(one(b, in), in[1]) }
		},
		"another type": func(s *ptxtest.Spec) { s.Out[0].Type = ir.BF16 },
		"a sum": raw(func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref {
			return []kernel.Ref{b.Op(kernel.OpAdd, ir.F32, in[1], in[2])}
		}),
		"of what is there": raw(func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref {
			return []kernel.Ref{b.Op(kernel.OpSelect, ir.F32, in[0], b.Op(kernel.OpNeg, ir.F32, in[2]), in[2])}
		}),
		"repeated": func(s *ptxtest.Spec) { s.In[2].Axes = "sbu" },
	} {
		if form(change) != nil {
			t.Errorf("%s: a form", what)
		}
	}
}
