package amd64

import (
	"math/rand"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// TestTable runs the scalar program of every elementwise row of the op table.
func TestTable(t *testing.T) {
	r := rand.New(rand.NewSource(30))
	ran, refused := 0, map[string]int{}
	for _, row := range ir.Rows() {
		for _, d := range []ir.DType{ir.F32, ir.F64, ir.I32, ir.U32, ir.I64, ir.Bool} {
			block := row.Program(d)
			if block == nil || row.Access != ir.Elementwise {
				continue
			}
			b := kernel.NewBuilder(row.Name+"."+d.String(), par1)
			env := kernel.Env{T: d, Names: map[string]kernel.Ref{}}
			env.Attr = func(string) (kernel.Ref, bool) { return b.AddParam(d), true }
			env.Linear = func() kernel.Ref { return b.Index(0) }
			for _, o := range row.Operands {
				c := d
				if !o.Class.Has(d) && o.Class.Has(ir.Bool) {
					c = ir.Bool
				}
				env.Names[o.Name] = b.Load(b.AddArg(arg(c, kernel.In, kernel.Unit)))
			}
			names, err := b.Expand(block, env)
			if err != nil {
				t.Logf("%s: %v", b.K.Name, err)
				continue
			}
			y := names[row.ResultName(0)]
			b.Store(b.AddArg(arg(b.Type(y), kernel.Out, kernel.Unit)), y)
			if err := b.K.Verify(); err != nil {
				t.Logf("%v", err)
				continue
			}
			codes, in := prepare(t, b.K, false)
			for _, level := range levels {
				if _, err := Compile(b.K, level); err != nil && Available(level) {
					refused[err.Error()+" at "+level.String()]++
				}
			}
			ran++
			for _, n := range []int64{1, 7, 16, 100, 1025} {
				agree(t, r, b.K, codes, in, []int64{n}, randomBits)
				agree(t, r, b.K, codes, in, []int64{n}, plainBits)
			}
		}
	}
	if ran < 50 {
		t.Errorf("only %d programs ran", ran)
	}
	for why := range refused {
		t.Log(why)
	}
	t.Logf("%d programs", ran)
}
