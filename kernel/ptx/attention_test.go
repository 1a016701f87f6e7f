package ptx

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// placed is a tensor of a test at an address.
type placed struct {
	ir.Type
	at      uintptr
	strides []int64
}

// planNode plans a node over tensors, its results row-major behind them.
func planNode(t *testing.T, target Target, row string, attrs []ir.Named, in ...placed) (p *Plan, n *ir.Node, tensors []kernel.Tensor) {
	t.Helper()
	in = append([]placed(nil), in...)
	r := ir.Lookup(row)
	a, err := r.MakeAttrs(attrs)
	if err != nil {
		t.Fatal(err)
	}
	n = &ir.Node{Row: r, Attrs: a}
	for _, x := range in {
		n.In = append(n.In, ir.Tensor{Type: x.Type})
	}
	out, err := ir.Infer(r, n.InTypes(), a)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range out {
		in = append(in, placed{Type: o, at: uintptr(1<<44 + i<<40)})
	}
	for _, x := range in {
		if x.strides == nil {
			x.strides = x.Shape.Strides()
		}
		tensors = append(tensors, kernel.Tensor{Type: x.Type, Operand: kernel.Operand{Base: *(*unsafe.Pointer)(unsafe.Pointer(&x.at)), Strides: x.strides}})
	}
	if p, err = NewNatives(target).Plan(n, tensors); err != nil {
		t.Fatal(err)
	}
	return p, n, tensors
}

// attentionNode is the operands of attention, bias and gradients included, 1 TiB apart.
func attentionNode(dt ir.DType, batch, heads, shared, l, s, d, e int) []placed {
	shapes := []ir.Shape{{batch, heads, l, d}, {batch, shared, s, d}, {batch, shared, s, e}, {}, {batch, heads, l, e}, {batch, heads, l}, {batch, heads, l}}
	var out []placed
	for i, s := range shapes {
		p := placed{Type: ir.Type{DType: dt, Shape: s}, at: uintptr(i+1) << 40}
		if i > 4 {
			p.DType = dt.Compute()
		}
		out = append(out, p)
	}
	return out
}

// TestAttentionText: every variant keeps the rules of the language, and the limits of a
// multiprocessor.
func TestAttentionText(t *testing.T) {
	hopper := Target{Major: 9}
	texts := map[string]bool{}
	for _, dt := range []ir.DType{ir.BF16, ir.F16} {
		for _, size := range [][7]int{{1, 16, 16, 4096, 4096, 128, 128}, {2, 8, 2, 300, 300, 64, 64}, {1, 2, 2, 77, 99, 80, 40}, {1, 1, 1, 5, 9, 3, 1}, {2, 8, 2, 1, 512, 64, 128}} {
			for _, attrs := range [][]ir.Named{nil, ir.A("causal", true), ir.A("window", 100), ir.A("causal", true, "window", 7)} {
				in := attentionNode(dt, size[0], size[1], size[2], size[3], size[4], size[5], size[6])
				full := append([]placed(nil), in...)
				full[3].Shape = ir.Shape{size[1], size[3], size[4]}
				for row, list := range map[string][][]placed{"attention": {in[:3]}, "attention_bias": {in[:4], full[:4]}, "attention_grad_q": {in, full}, "attention_grad_kv": {in, full}} {
					for _, in := range list {
						p, _, _ := planNode(t, hopper, row, attrs, in...)
						if p == nil {
							t.Fatalf("%s of %v, %v: no plan", row, size, attrs)
						}
						for _, s := range p.Steps {
							if s.Entry.Shared > hopperShared || s.Entry.ParamBytes() > maxParamBytes || s.Entry.Threads > 512 {
								t.Errorf("%s: %d bytes of shared memory, %d of parameters, %d threads", s.Entry.Name, s.Entry.Shared, s.Entry.ParamBytes(), s.Entry.Threads)
							}
							if texts[s.Entry.Text] {
								continue
							}
							texts[s.Entry.Text] = true
							if err := Check(s.Entry.Text); err != nil {
								t.Errorf("%s: %v", s.Entry.Name, err)
							}
						}
					}
				}
			}
		}
	}
	t.Logf("%d texts", len(texts))
}

// TestAttentionRefused: what flash kernels do not take is left to ordinary units, or to others.
func TestAttentionRefused(t *testing.T) {
	hopper := Target{Major: 9}
	good := func() []placed { return attentionNode(ir.BF16, 2, 4, 2, 100, 100, 64, 64) }
	f32 := attentionNode(ir.F32, 2, 4, 2, 100, 100, 64, 64)
	rounded := good()
	rounded[5].DType = ir.BF16
	for name, c := range map[string]struct {
		target Target
		attrs  []ir.Named
		in     []placed
		exact  bool // the kernel for ordinary units takes it
	}{
		"f32":                      {hopper, nil, f32, true},
		"f64":                      {hopper, nil, attentionNode(ir.F64, 2, 4, 2, 100, 100, 64, 64), false},
		"wide heads":               {hopper, nil, attentionNode(ir.BF16, 1, 1, 1, 9, 9, 136, 64), false},
		"wide values":              {hopper, nil, attentionNode(ir.BF16, 1, 1, 1, 9, 9, 64, 136), false},
		"a negative scale":         {hopper, ir.A("scale", -1.0), good(), true},
		"no queries":               {hopper, nil, attentionNode(ir.BF16, 1, 1, 1, 0, 9, 64, 64), false},
		"an older device":          {Target{Major: 8}, nil, good(), true},
		"a newer device":           {Target{Major: 10}, nil, good(), true},
		"drivers without the text": {Target{Major: 9, NoHopper: true}, nil, good(), true},
	} {
		for row, in := range map[string][]placed{"attention": c.in[:3], "attention_grad_q": c.in, "attention_grad_kv": c.in} {
			p, _, _ := planNode(t, c.target, row, c.attrs, in...)
			if (p != nil) != c.exact || p != nil && !strings.Contains(p.Steps[0].Entry.Name, "exact") {
				t.Errorf("%s: %s is planned as %v", name, row, p)
			}
		}
	}
	if p, _, _ := planNode(t, hopper, "attention_grad_kv", nil, rounded...); p != nil {
		t.Error("statistics of bf16: the gradient is planned")
	}
	for _, row := range []string{"attention", "attention_grad_q", "attention_grad_kv"} {
		in := good()
		if row == "attention" {
			in = in[:3]
		}
		if p, _, _ := planNode(t, hopper, row, nil, in...); p == nil {
			t.Errorf("%s is not planned", row)
		}
	}
}

// TestAttentionMoves: a plan moved to other addresses is the one made there, and operands
// that the copy engine does not take are packed, wherever they lie.
func TestAttentionMoves(t *testing.T) {
	hopper := Target{Major: 9}
	for _, packed := range []bool{false, true} {
		at := func(offset uintptr) []placed {
			in := attentionNode(ir.BF16, 2, 4, 2, 100, 90, 64, 72)
			for i := range in {
				in[i].at += offset * uintptr(i+1)
			}
			if packed { // keys lie transposed, and values begin in the middle of a line
				in[1].strides = []int64{2 * 90 * 64, 90 * 64, 1, 90}
				in[2].at += 2
			}
			return in
		}
		first, n, tensors := planNode(t, hopper, "attention_grad_kv", nil, at(0)...)
		want, other, moved := planNode(t, hopper, "attention_grad_kv", nil, at(4096)...)
		x := NewNatives(hopper)
		if a, b := x.AppendKey(nil, n, tensors), x.AppendKey(nil, other, moved); string(a) != string(b) {
			t.Fatal("the keys differ")
		}
		if steps := map[bool]int{false: 2, true: 4}[packed]; len(first.Steps) != steps {
			t.Fatalf("%d steps, want %d", len(first.Steps), steps)
		}
		first.MoveTo(moved)
		for _, p := range []*Plan{first, want} {
			p.Bind(1<<45, 1<<46)
		}
		for i := range want.Steps {
			got, want := &first.Steps[i], &want.Steps[i]
			for j, v := range want.Params {
				if got.Params[j] != v {
					t.Errorf("step %d, %s: %#x, want %#x", i, want.Entry.slots[j], got.Params[j], v)
				}
			}
			for j, m := range want.Maps {
				if got.Maps[j] != m {
					t.Errorf("step %d, map %d: %+v, want %+v", i, j, got.Maps[j], m)
				}
			}
		}
	}
	a := attentionNode(ir.BF16, 2, 4, 2, 100, 90, 64, 72)
	b := attentionNode(ir.BF16, 2, 4, 2, 100, 90, 64, 72)
	b[0].at += 16 // in the middle of a line: another plan may fit
	_, n, one := planNode(t, hopper, "attention", nil, a[:3]...)
	_, _, two := planNode(t, hopper, "attention", nil, b[:3]...)
	x := NewNatives(hopper)
	if string(x.AppendKey(nil, n, one)) == string(x.AppendKey(nil, n, two)) {
		t.Error("one key of different alignments")
	}
}
