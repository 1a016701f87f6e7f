package cpu_test

import (
	"context"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/ir"
)

// A window holds the work queued inside it, and none queued before or after.
func TestProfileWindow(t *testing.T) {
	const nap = 20 * time.Millisecond
	d, err := cpu.New(cpu.Options{Routines: map[string]cpu.Routine{
		"nonzero": func(*backend.Call) error { time.Sleep(nap); return nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ctx := context.Background()
	x := ir.Tensor{ID: 1, Type: ir.Type{DType: ir.Bool, Shape: ir.Shape{1}}}
	if err := d.Upload(x, []byte{1}); err != nil {
		t.Fatal(err)
	}
	row := ir.Lookup("nonzero")
	attrs, err := row.MakeAttrs(ir.A("max", 1))
	if err != nil {
		t.Fatal(err)
	}
	id := ir.ID(2)
	sleep := func() {
		n := ir.Node{Row: row, Attrs: attrs, In: []ir.Tensor{x}, Out: []ir.Tensor{
			{ID: id, Type: ir.Type{DType: ir.I64, Shape: ir.Shape{1, 1}}}, {ID: id + 1, Type: ir.Type{DType: ir.I64, Shape: ir.Shape{}}}}}
		id += 2
		if err := d.Submit(ctx, []ir.Node{n}); err != nil {
			t.Fatal(err)
		}
	}
	sleep()
	w, err := d.ProfileStart()
	if err != nil {
		t.Fatal(err)
	}
	sleep()
	sleep()
	took, err := w.End(ctx)
	if err != nil {
		t.Fatal(err)
	}
	// A sleep is at least as long as asked for; how much longer is the system's affair.
	if took < 2*nap {
		t.Errorf("two naps of %v took %v", nap, took)
	}
	if k := d.Counters().KernelTime; k < 2*nap || k > took {
		t.Errorf("kernels took %v of a window of %v with two naps of %v", k, took, nap)
	}
	if k := w.(backend.KernelWindow).Kernels(); len(k) != 1 || k[0].Runs != 2 || k[0].Time != d.Counters().KernelTime {
		t.Errorf("kernels %+v, expected one that ran twice for %v", k, d.Counters().KernelTime)
	}
	empty, err := d.ProfileStart()
	if err != nil {
		t.Fatal(err)
	}
	if took, err = empty.End(ctx); err != nil || took != 0 {
		t.Errorf("an empty window took %v, %v", took, err)
	}
	w, err = d.ProfileStart()
	if err != nil {
		t.Fatal(err)
	}
	w.Abandon()
	w.Abandon()
	if err := d.Sync(ctx); err != nil {
		t.Fatal(err)
	}
}
