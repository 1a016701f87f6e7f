package fusion_test

import (
	"context"
	"testing"

	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
)

// recorder records on a client's stream, and fails the test on errors.
type recorder struct {
	t *testing.T
	c *fusion.Client
	s *fusion.Stream
}

func newRecorder(t *testing.T, o fusion.Options) *recorder {
	d, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := fusion.New(d, o)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return &recorder{t, c, c.Stream()}
}

func (r *recorder) upload(shape ...int) *fusion.Value {
	r.t.Helper()
	typ := ir.Type{DType: ir.F32, Shape: shape}
	v, err := r.s.Upload(typ, make([]byte, typ.Bytes()))
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

func (r *recorder) do(row string, in []*fusion.Value, attrs ...any) *fusion.Value {
	r.t.Helper()
	rw := ir.Lookup(row)
	a, err := rw.MakeAttrs(ir.A(attrs...))
	if err != nil {
		r.t.Fatal(err)
	}
	types := make([]ir.Type, len(in))
	for i, v := range in {
		types[i] = v.Type()
	}
	op := fusion.OpOf(rw, a)
	out, err := r.s.Infer(op, a, types)
	if err != nil {
		r.t.Fatal(err)
	}
	v := new(fusion.Value)
	if err := r.s.Record(op, a, in, out, []*fusion.Value{v}, nil, func() ir.Site { return ir.Site{Text: "user.go:1"} }); err != nil {
		r.t.Fatal(err)
	}
	return v
}

func (r *recorder) read(vs ...*fusion.Value) [][]byte {
	r.t.Helper()
	data, errs, err := r.c.ReadValues(context.Background(), vs)
	if err != nil {
		r.t.Fatal(err)
	}
	out := make([][]byte, len(vs))
	for i := range data {
		if errs[i] != nil {
			r.t.Fatal(errs[i])
		}
		out[i] = data[i].Bytes
	}
	return out
}

// TestInspect: a chain is one kernel; the second time its plan is there, and for
// another size it is bound again.
func TestInspect(t *testing.T) {
	r := newRecorder(t, fusion.Options{})
	var runs []fusion.Run
	stop := r.c.Inspect(func(x fusion.Run) { runs = append(runs, x) })
	for _, n := range []int{1000, 1000, 1001, 1003} {
		x := r.upload(n)
		y := r.do("relu", []*fusion.Value{r.do("add", []*fusion.Value{x, x})})
		r.read(y)
	}
	stop()
	r.read(r.do("neg", []*fusion.Value{r.upload(3)}))
	want := []fusion.Found{fusion.FoundSearch, fusion.FoundHit, fusion.FoundRebound, fusion.FoundRebound}
	if len(runs) != len(want) {
		t.Fatalf("%d runs, want %d", len(runs), len(want))
	}
	for i, x := range runs {
		if x.Found != want[i] || x.Cut != fusion.CutRead {
			t.Errorf("run %d: %s, cut by %s; want %s, cut by a read", i, x.Found, x.Cut, want[i])
		}
		if e := x.Explain(); e.Kernels != 1 || e.Launches != 1 {
			t.Errorf("run %d: %d kernels, %d launches", i, e.Kernels, e.Launches)
		}
	}
	st := r.c.Stats()
	if st.Hits != 1 || st.Rebound != 2 || st.Searches != 2 || st.Misses[fusion.MissPath] != 2 {
		t.Errorf("stats %+v", st)
	}
}

// TestVirtual: a consumed large result that nobody released is not stored; reading
// it afterwards computes it, and the plan stores it from then on.
func TestVirtual(t *testing.T) {
	r := newRecorder(t, fusion.Options{})
	var runs []fusion.Run
	defer r.c.Inspect(func(x fusion.Run) { runs = append(runs, x) })()
	for round := 0; round < 3; round++ {
		runs = nil
		x := r.upload(100, 1000)
		h := r.do("exp", []*fusion.Value{x})
		y := r.do("add", []*fusion.Value{h, h})
		r.read(y)
		first := runs[0].Explain().Written
		got := r.read(h)[0]
		if len(got) != 400000 || got[3] != 0x3f || got[2] != 0x80 { // exp(0) = 1
			t.Fatalf("round %d: %d bytes, % x", round, len(got), got[:4])
		}
		switch {
		case round == 0 && (len(runs) != 2 || !runs[1].Recipe || first != 400000):
			t.Errorf("round 0: %d runs, %d bytes written by the first", len(runs), first)
		case round > 0 && (len(runs) != 1 || first != 800000):
			t.Errorf("round %d: %d runs, %d bytes written by the first", round, len(runs), first)
		}
	}
}
