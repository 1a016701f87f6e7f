package cpu_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// A kernel serves the launches queued before its release, and is an error of the
// results afterwards.
func TestReleasedKernel(t *testing.T) {
	d, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ctx := context.Background()
	b := kernel.NewBuilder("copy", []kernel.AxisKind{kernel.Parallel})
	unit := []kernel.Access{kernel.Unit}
	x, y := b.AddArg(kernel.Arg{Type: ir.U8, Access: unit}), b.AddArg(kernel.Arg{Type: ir.U8, Dir: kernel.Out, Access: unit})
	b.Store(y, b.Load(x))
	k, err := d.Compile(b.K)
	if err != nil {
		t.Fatal(err)
	}
	typ := ir.Type{DType: ir.U8, Shape: ir.Shape{3}}
	if err := d.Upload(ir.Tensor{ID: 1, Type: typ}, []byte{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	launch := func(out ir.ID) {
		arg := func(id ir.ID) backend.LaunchArg {
			return backend.LaunchArg{Tensor: ir.Tensor{ID: id, Type: typ}, Strides: []int64{1}}
		}
		if err := d.Launch(ctx, []backend.Launch{{Pieces: []backend.Piece{{Kernel: k, Extents: []int64{3}, Args: []backend.LaunchArg{arg(1), arg(out)}}}}}); err != nil {
			t.Fatal(err)
		}
	}
	launch(2)
	k.Release()
	k.Release()
	launch(3)
	data, errs, err := d.Read(ctx, 2, 3)
	if err != nil || errs[0] != nil || data[0].Bytes[2] != 3 {
		t.Errorf("before: %v, %v, %v", data, errs, err)
	}
	if !errors.Is(errs[1], ir.ErrClosed) {
		t.Errorf("after: got %v, expected closed", errs[1])
	}
}
