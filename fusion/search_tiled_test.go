package fusion_test

import (
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// tiling is a device that says of every product that it runs on packed tiles.
type tiling struct{ *cpu.Device }

func (d tiling) As(target any) bool {
	switch t := target.(type) {
	case *backend.Tiler:
		*t = d
		return true
	case *backend.Compiler:
		*t = d.Device
		return true
	}
	return false
}

func (tiling) Tiles(*kernel.Kernel, []int64) bool { return true }

// Where products run on packed tiles, what feeds them and what follows them is part
// of their kernel, in any layout.
func TestTiledProducts(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string // the operations of each launch
	}{
		{"transposed matrix, bias, relu", `
  in %1 f32[64,32]
  in %2 f32[48,32]
  in %3 f32[48]
  %4 = permute %2 {axes=[1,0]}
  %5 = matmul %1 %4
  %6 = add %5 %3
  %7 = relu %6
  out %7`, []string{"matmul add relu"}},
		{"cast and scale of the weights", `
  in %1 f32[64,32]
  in %2 i8[48,32]
  in %3 f32[48,1]
  %4 = cast %2 {dtype=f32}
  %5 = mul %4 %3
  %6 = permute %5 {axes=[1,0]}
  %7 = matmul %1 %6
  out %7`, []string{"cast mul permute matmul"}},
		{"a convolution without padding, and what follows it", `
  in %1 f32[2,8,12,12]
  in %2 f32[16,8,3,3]
  in %3 f32[16,1,1]
  in %4 f32[2,16,10,10]
  %5 = unfold %1 {axis=2,size=3}
  %6 = unfold %5 {axis=3,size=3}
  %7 = permute %6 {axes=[0,4,5,1,2,3]}
  %8 = reshape %7 {shape=[2,72,100]}
  %9 = permute %2 {axes=[0,2,3,1]}
  %10 = reshape %9 {shape=[16,72]}
  %11 = matmul %10 %8
  %12 = reshape %11 {shape=[2,16,10,10]}
  %13 = mul %12 %3
  %14 = add %13 %4
  %15 = relu %14
  out %15`, []string{"reshape reshape matmul reshape mul add relu"}},
		{"its border is one copy, that of the next one is written by the product", `
  in %1 f32[2,8,12,12]
  in %2 f32[16,72]
  in %3 f32[16,72]
  %5 = unfold %1 {axis=2,size=3}
  %6 = unfold %5 {axis=3,size=3}
  %7 = permute %6 {axes=[0,4,5,1,2,3]}
  %8 = reshape %7 {shape=[2,72,100]}
  %9 = matmul %2 %8
  %10 = reshape %9 {shape=[2,16,10,10]}
  %11 = relu %10
  %12 = full {shape=[2,16,1,10],dtype=f32,value=f32:0}
  %13 = concat %12 %11 %12 {axis=2}
  %14 = full {shape=[2,16,12,1],dtype=f32,value=f32:0}
  %15 = concat %14 %13 %14 {axis=3}
  out %15`, []string{"reshape matmul reshape relu full concat full concat"}},
	} {
		p, err := ir.ParseProgram("program tiled"+c.text+"\n", nil)
		if err != nil {
			t.Fatal(err)
		}
		d, err := cpu.New(cpu.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f := fusion.New(tiling{d})
		var runs []fusion.Run
		stop := f.Inspect(func(r fusion.Run) { runs = append(runs, r) })
		_, errs, err := f.RunProgram(t.Context(), p, nil)
		stop()
		if err != nil || errs[0] != nil {
			t.Fatal(err, errs)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		var got []string
		e := runs[0].Explain()
		for _, b := range e.Blocks {
			if b.Launches == 0 {
				continue
			}
			var ops []string
			for _, op := range b.Ops {
				ops = append(ops, op.Op)
			}
			got = append(got, strings.Join(ops, " "))
		}
		if strings.Join(got, "; ") != strings.Join(c.want, "; ") {
			t.Errorf("%s: got %q, want %q:\n%s", c.name, got, c.want, e)
		}
	}
}
