package fusion_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// wrong is a device whose compiler turns additions into subtractions in kernels
// that also multiply: what a fault of fusion looks like.
type wrong struct{ *cpu.Device }

func (w wrong) As(target any) bool {
	c, ok := target.(*backend.Compiler)
	if ok {
		*c = wrongCompiler{w.Device}
	}
	return ok
}

type wrongCompiler struct{ backend.Compiler }

func (w wrongCompiler) Compile(k *kernel.Kernel) (backend.Compiled, error) {
	c := *k
	c.Body = append([]kernel.Instr(nil), k.Body...)
	has := map[kernel.Op]bool{}
	for _, in := range c.Body {
		has[in.Op] = true
	}
	for i := range c.Body {
		if has[kernel.OpMul] && c.Body[i].Op == kernel.OpAdd {
			c.Body[i].Op = kernel.OpSub
		}
	}
	return w.Compiler.Compile(&c)
}

// TestOracle: the oracle finds the result that fusion changed, and it alone, names
// what it was fused with, and writes a capsule that holds the case.
func TestOracle(t *testing.T) {
	d, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := fusion.New(wrong{d}, fusion.Options{Oracle: true, Capsules: dir})
	defer c.Close()
	r := &recorder{t, c, c.Stream()}
	typ := ir.Type{DType: ir.F32, Shape: ir.Shape{2}}
	x, err := c.Stream().Upload(typ, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40}) // 1, 2
	if err != nil {
		t.Fatal(err)
	}
	square := r.do("mul", []*fusion.Value{x, x})
	sum := r.do("add", []*fusion.Value{square, x}) // 2, 6; wrong: 0, 2
	data, errs, err := c.ReadValues(context.Background(), []*fusion.Value{square, sum})
	if err != nil {
		t.Fatal(err)
	}
	if errs[0] != nil || !bytes.Equal(data[0].Bytes, []byte{0, 0, 0x80, 0x3f, 0, 0, 0x80, 0x40}) {
		t.Errorf("the result that agrees: % x, %v", data[0].Bytes, errs[0])
	}
	if !errors.Is(errs[1], ir.ErrInternal) {
		t.Fatalf("the result that differs: %v", errs[1])
	}
	e := ir.AsError(errs[1])
	if e.Op != "add" || !strings.Contains(e.Msg, "element 0 is 0x0, one by one 0x40000000") || !strings.Contains(e.Detail, "mul user.go:1, add user.go:1") {
		t.Errorf("the error is %v (%s)", e, e.Detail)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.capsule"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d capsules, %v", len(files), err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	capsule, err := fusion.ReadCapsule(bytes.NewReader(text), nil)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if len(capsule.Program.Nodes) != 2 || len(capsule.Inputs) != 1 || len(capsule.Inputs[0]) != 8 || capsule.Sites[1] != "user.go:1" || len(capsule.Program.Outputs) != 2 {
		t.Errorf("the capsule is\n%s", text)
	}
	var again bytes.Buffer
	if _, err := capsule.WriteTo(&again); err != nil || again.String() != string(text) {
		t.Errorf("written again it is (%v)\n%s\nnot\n%s", err, &again, text)
	}
	for _, n := range []int{0, 10, 30, len(text) / 2, len(text) - 2} { // cut off
		if _, err := fusion.ReadCapsule(bytes.NewReader(text[:n]), nil); err == nil {
			t.Errorf("the first %d bytes of a capsule are taken for one", n)
		}
	}
	if err := c.Sync(context.Background()); err != nil {
		t.Errorf("Sync returns an error that was read: %v", err)
	}
}

// TestOracleAgrees: nothing is found where nothing is wrong.
func TestOracleAgrees(t *testing.T) {
	r := newRecorder(t, fusion.Options{Oracle: true})
	x := r.upload(40, 30)
	m := r.do("max", []*fusion.Value{x}, "axes", []int{1}, "keepdims", true)
	e := r.do("exp", []*fusion.Value{r.do("sub", []*fusion.Value{x, m})})
	y := r.do("div", []*fusion.Value{e, r.do("sum", []*fusion.Value{e}, "axes", []int{1}, "keepdims", true)})
	r.read(y, e)
	if err := r.c.Sync(context.Background()); err != nil {
		t.Error(err)
	}
}

func FuzzReadCapsule(f *testing.F) {
	f.Add([]byte("sinter capsule v1 linux/amd64\ndevice \"cpu\"\nerror \"\"\nsite 0 \"a.go:1\"\ndata 0 0000803f\nprogram p\n  in %1 f32[1]\n  %2 = neg %1\n  out %2\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := fusion.ReadCapsule(bytes.NewReader(b), nil)
		if err != nil {
			return
		}
		var w bytes.Buffer
		if _, err := c.WriteTo(&w); err != nil {
			t.Fatal(err)
		}
		if _, err := fusion.ReadCapsule(&w, nil); err != nil {
			t.Fatalf("a capsule that was read is not read again: %v", err)
		}
	})
}
