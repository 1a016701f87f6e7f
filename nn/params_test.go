package nn_test

import (
	"slices"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
)

func scalarVar(v float32) *sinter.Var { return sinter.NewVar(sinter.Scalar(v)) }

type base struct{ Scale *sinter.Var }

type listed struct{ a, b *sinter.Var }

func (l listed) NamedParams() []nn.Named {
	return []nn.Named{{"first", l.a, false}, {"second", l.b, true}}
}

type node struct {
	Value *sinter.Var
	Next  *node
}

type odd struct {
	base
	Base2   base        `nn:"renamed"`
	Skipped *sinter.Var `nn:"-"`
	hidden  *sinter.Var
	QKVBias *sinter.Var
	W1      *sinter.Var
	Nil     *sinter.Var
	List    []*sinter.Var
	Pair    [2]*sinter.Var
	ByName  map[string]*sinter.Var
	ByNum   map[int]base
	Any     any
	Layer   nn.Layer
	Listed  listed
	Ring    *node
	Tied    *sinter.Var
	Func    func()
	Chan    chan int
	Width   int
}

func TestParamsNames(t *testing.T) {
	v := make([]*sinter.Var, 20)
	for i := range v {
		v[i] = scalarVar(float32(i))
	}
	ring := &node{Value: v[15]}
	ring.Next = &node{Value: v[16], Next: ring}
	m := &odd{
		Base2: base{v[0]}, Skipped: v[19], hidden: v[19], QKVBias: v[1], W1: v[2],
		List: []*sinter.Var{v[3], nil, v[4]}, Pair: [2]*sinter.Var{v[5], v[6]},
		ByName: map[string]*sinter.Var{"z": v[7], "a": v[8]}, ByNum: map[int]base{10: {v[9]}, 9: {v[10]}},
		Any: &base{v[11]}, Layer: nn.Sequential{nn.ReLU, &nn.Linear{Weight: v[12]}},
		Listed: listed{v[13], v[14]}, Ring: ring, Tied: v[2],
	}
	_ = m.hidden
	var names []string
	for _, p := range nn.Params(m) {
		names = append(names, p.Name)
	}
	want := []string{"renamed.scale", "qkv_bias", "w1", "list.0", "list.2", "pair.0", "pair.1", "by_name.a", "by_name.z",
		"by_num.9.scale", "by_num.10.scale", "any.scale", "layer.1.weight", "listed.first", "listed.second",
		"ring.value", "ring.next.value"}
	if !slices.Equal(names, want) {
		t.Errorf("names\n%v, want\n%v", names, want)
	}
	// One of Listed is a buffer.
	if n := len(nn.Vars(m)); n != len(want)-1 || nn.Count(m) != n {
		t.Errorf("%d variables, %d elements, want %d", n, nn.Count(m), len(want)-1)
	}
}

func TestParamsOfNothing(t *testing.T) {
	var typed *odd
	for _, m := range []any{nil, typed, 3, "text", (*sinter.Var)(nil), []nn.Layer{nil}, func() {}, struct{}{}} {
		if p := nn.Params(m); len(p) != 0 {
			t.Errorf("%T: %v", m, p)
		}
	}
	v := scalarVar(1)
	if p := nn.Params(v); len(p) != 1 || p[0].Name != "" || p[0].Var != v {
		t.Errorf("a variable by itself: %v", p)
	}
}

// Embedded is exported, so its fields count as the outer struct's.
type Embedded struct{ Weight *sinter.Var }

func TestParamsEmbedded(t *testing.T) {
	v := scalarVar(1)
	if p := nn.Params(struct{ *Embedded }{&Embedded{v}}); len(p) != 1 || p[0].Name != "weight" {
		t.Errorf("%v", p)
	}
}

func TestSummary(t *testing.T) {
	g := sinter.NewGenerator(1)
	type net struct{ Layers nn.Sequential }
	n := net{nn.Sequential{nn.NewLinear(g, 64, 128), nn.ReLU, nn.NewLinear(g, 128, 10, nn.NoBias(), nn.DType(sinter.F16))}}
	want := "name             shape     dtype  elements\n" +
		"layers.0.weight  [128 64]  f32    8,192\n" +
		"layers.0.bias    [128]     f32    128\n" +
		"layers.2.weight  [10 128]  f16    1,280\n" +
		"total                             9,600\n"
	if got := nn.Summary(n); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	text := "Sequential(\n  0: Linear(64 → 128)\n  1: ReLU\n  2: Linear(128 → 10, no bias)\n)"
	if got := n.Layers.String(); got != text {
		t.Errorf("got %s, want %s", got, text)
	}
	bad := nn.Sequential{nn.NewLinear(g, -1, 2), nn.Func((*sinter.Tensor).Neg), &nn.Linear{}, nn.Sequential{}}
	if s := bad.String() + nn.Summary(bad); s == "" {
		t.Error("no text")
	}
}

type statistics struct{ Mean, Variance *sinter.Var }

func TestBuffers(t *testing.T) {
	m := struct {
		Weight *sinter.Var
		Stats  statistics  `nn:"running,buffer"`
		Count  *sinter.Var `nn:",buffer"`
		Bias   *sinter.Var
	}{scalarVar(1), statistics{scalarVar(2), scalarVar(3)}, sinter.NewVar(sinter.Scalar[int64](4)), scalarVar(5)}
	var all, trained []string
	for _, p := range nn.Params(m) {
		name := p.Name
		if p.Buffer {
			name += "*"
		}
		all = append(all, name)
	}
	m.Bias.Freeze()
	for _, p := range nn.Trainable(m) {
		trained = append(trained, p.Name)
	}
	if want := []string{"weight", "running.mean*", "running.variance*", "count*", "bias"}; !slices.Equal(all, want) {
		t.Errorf("%v, want %v", all, want)
	}
	if want := []string{"weight"}; !slices.Equal(trained, want) {
		t.Errorf("%v, want %v", trained, want)
	}
	if v := nn.Vars(m); len(v) != 2 || v[1] != m.Bias {
		t.Errorf("%d variables", len(v))
	}
	for _, p := range nn.Prefixed("p", nn.Params(m)) {
		if p.Buffer != (p.Name != "p.weight" && p.Name != "p.bias") {
			t.Errorf("%s: buffer %v", p.Name, p.Buffer)
		}
	}
}
