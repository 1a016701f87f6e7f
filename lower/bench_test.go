package lower_test

import (
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/lower"
)

// BenchmarkNew lowers blocks of different sizes, with their keys.
func BenchmarkNew(b *testing.B) {
	for _, c := range []struct {
		name  string
		build func(d *draft) ir.Tensor
	}{
		{"one", func(d *draft) ir.Tensor { return d.do("exp", d.in(64, 128)) }},
		{"sum", func(d *draft) ir.Tensor { return d.do("sum", d.in(64, 128), "axes", []int{1}) }},
		{"softmax", func(d *draft) ir.Tensor { return d.softmax(d.in(64, 128), 1) }},
		{"chain100", func(d *draft) ir.Tensor {
			x, y := d.in(64, 128), d.in(128)
			for range 50 {
				x = d.do("exp", d.do("add", x, y))
			}
			return x
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			d := &draft{t: b, d: ir.F32}
			out := c.build(d).ID
			types := map[ir.ID]ir.Type{}
			for i := range d.p.Nodes {
				for _, x := range append(d.p.Nodes[i].In, d.p.Nodes[i].Out...) {
					types[x.ID] = x.Type
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				l, err := lower.New(d.p.Nodes, func(id ir.ID) ir.Layout { return ir.Layout{Strides: types[id].Shape.Strides()} },
					func(id ir.ID) bool { return id == out })
				if err != nil {
					b.Fatal(err)
				}
				_ = l.Pieces[0].Key()
			}
		})
	}
}
