package cpu_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"testing"

	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/ir"
)

// A product with a transposed matrix has the bits of the product with a copy of
// it, for batches, broadcast batches and an operand that serves twice; nothing
// stays behind.
func TestTransposedContraction(t *testing.T) {
	d, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ctx := context.Background()
	next := ir.ID(0)
	tensor := func(shape ...int) ir.Tensor {
		next++
		return ir.Tensor{ID: next, Type: ir.Type{DType: ir.F32, Shape: shape}}
	}
	upload := func(shape ...int) ir.Tensor {
		x := tensor(shape...)
		data := make([]byte, 0, x.Bytes())
		for i := range x.Shape.Size() {
			data = binary.NativeEndian.AppendUint32(data, math.Float32bits(float32(math.Sin(float64(i)))))
		}
		if err := d.Upload(x, data); err != nil {
			t.Fatal(err)
		}
		return x
	}
	apply := func(row string, attrs []ir.Named, in ...ir.Tensor) ir.Tensor {
		r := ir.Lookup(row)
		a, err := r.MakeAttrs(attrs)
		if err != nil {
			t.Fatal(err)
		}
		n := ir.Node{Row: r, Attrs: a, In: in}
		out, err := ir.Infer(r, n.InTypes(), a)
		if err != nil {
			t.Fatal(err)
		}
		y := tensor(out[0].Shape...)
		n.Out = []ir.Tensor{y}
		if err := d.Submit(ctx, []ir.Node{n}); err != nil {
			t.Fatal(err)
		}
		return y
	}
	for _, c := range []struct {
		x, z []int // z before its last two axes are swapped
		axes []int
	}{
		{[]int{8, 16}, []int{12, 16}, []int{1, 0}},
		{[]int{3, 8, 16}, []int{3, 12, 16}, []int{0, 2, 1}},
		{[]int{3, 8, 16}, []int{1, 12, 16}, []int{0, 2, 1}},
		{[]int{1, 16}, []int{12, 16}, []int{1, 0}}, // one row
	} {
		x, z := upload(c.x...), upload(c.z...)
		view := apply("permute", ir.A("axes", c.axes), z)
		flat := apply("reshape", ir.A("shape", []int{view.Shape.Size()}), view) // copies
		plain := apply("reshape", ir.A("shape", view.Shape), flat)
		data, errs, err := d.Read(ctx, apply("matmul", nil, x, view).ID, apply("matmul", nil, x, plain).ID)
		if err != nil || errs[0] != nil || errs[1] != nil {
			t.Fatal(err, errs)
		}
		if !bytes.Equal(data[0].Bytes, data[1].Bytes) {
			t.Errorf("%v · %v transposed: the bits differ from those of a copy", c.x, c.z)
		}
	}
	square := upload(8, 8)
	swapped := apply("permute", ir.A("axes", []int{1, 0}), square)
	if _, errs, err := d.Read(ctx, apply("matmul", nil, swapped, swapped).ID); err != nil || errs[0] != nil {
		t.Fatal(err, errs)
	}
	for id := ir.ID(1); id <= next; id++ {
		d.Free(id)
	}
	if u, err := d.MemoryUsage(ctx); err != nil || u.InUse != 0 || u.Tensors != 0 {
		t.Errorf("%d bytes and %d tensors stayed behind (%v)", u.InUse, u.Tensors, err)
	}
}

// Weights that are used again and again are kept packed: that shows in the memory in
// use, goes when it is needed or with the weights, and changes no bit.
func TestConstantOperands(t *testing.T) {
	const rows, n, k = 8, 700, 600
	run := func(o cpu.Options) (outputs [][]byte, grown int64) {
		d, err := cpu.New(o)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		ctx := context.Background()
		next := ir.ID(0)
		tensor := func(shape ...int) ir.Tensor {
			next++
			return ir.Tensor{ID: next, Type: ir.Type{DType: ir.F32, Shape: shape}}
		}
		upload := func(x ir.Tensor) ir.Tensor {
			data := make([]byte, 0, x.Bytes())
			for i := range x.Shape.Size() {
				data = binary.NativeEndian.AppendUint32(data, math.Float32bits(float32(math.Sin(float64(i)))))
			}
			if err := d.Upload(x, data); err != nil {
				t.Fatal(err)
			}
			return x
		}
		submit := func(row string, attrs []ir.Named, out ir.Tensor, in ...ir.Tensor) {
			r := ir.Lookup(row)
			a, err := r.MakeAttrs(attrs)
			if err == nil {
				err = d.Submit(ctx, []ir.Node{{Row: r, Attrs: a, In: in, Out: []ir.Tensor{out}}})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		inUse := func() int64 {
			u, err := d.MemoryUsage(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return u.InUse
		}
		x, w := upload(tensor(rows, k)), upload(tensor(n, k))
		view, y := tensor(k, n), tensor(rows, n)
		submit("permute", ir.A("axes", []int{1, 0}), view, w)
		var before int64
		for i := range 6 {
			submit("matmul", nil, y, x, view)
			data, errs, err := d.Read(ctx, y.ID)
			if err != nil || errs[0] != nil {
				t.Fatal(err, errs)
			}
			outputs = append(outputs, data[0].Bytes)
			d.Free(y.ID)
			if i == 0 {
				before = inUse()
			}
		}
		grown = inUse() - before
		d.Free(view.ID)
		d.Free(w.ID)
		d.Free(x.ID)
		if left := inUse(); left != 0 {
			t.Errorf("%d bytes stayed behind", left)
		}
		return outputs, grown
	}
	plain, grown := run(cpu.Options{NoPacking: true})
	if grown != 0 {
		t.Errorf("%d bytes more in use without packing", grown)
	}
	packed, grown := run(cpu.Options{})
	if grown < 4*n*k && cpuGenerates(t) {
		t.Errorf("%d bytes more in use, expected those of the packed weights", grown)
	}
	tight, _ := run(cpu.Options{Memory: 4*n*k + 4*rows*(n+k) + 1<<20})
	for i := range plain {
		if !bytes.Equal(plain[i], plain[0]) || !bytes.Equal(packed[i], plain[i]) || !bytes.Equal(tight[i], plain[i]) {
			t.Fatalf("round %d has other bits", i)
		}
	}
}

// cpuGenerates reports whether devices generate code here.
func cpuGenerates(t *testing.T) bool {
	d, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	return d.CodeID() != ""
}

// A request beyond what the machine has is an error of the tensor, and the
// device goes on.
func TestHugeRequest(t *testing.T) {
	d, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.Info().Memory == 0 {
		t.Skip("the memory of this machine is not known")
	}
	ctx := context.Background()
	row := ir.Lookup("full")
	attrs, err := row.MakeAttrs(ir.A("shape", []int{1 << 43}, "dtype", ir.U8, "value", ir.Scalar{DType: ir.U8}))
	if err != nil {
		t.Fatal(err)
	}
	y := ir.Tensor{ID: 1, Type: ir.Type{DType: ir.U8, Shape: ir.Shape{1 << 43}}}
	if err := d.Submit(ctx, []ir.Node{{Row: row, Attrs: attrs, Out: []ir.Tensor{y}}}); err != nil {
		t.Fatal(err)
	}
	_, errs, err := d.Read(ctx, y.ID)
	if err != nil || errs[0] == nil || !bytes.Contains([]byte(errs[0].Error()), []byte("bytes asked for")) {
		t.Fatalf("got %v, %v", errs, err)
	}
	x := ir.Tensor{ID: 2, Type: ir.Type{DType: ir.U8, Shape: ir.Shape{1}}}
	if err := d.Upload(x, []byte{7}); err != nil {
		t.Fatal(err)
	}
	if data, errs, err := d.Read(ctx, x.ID); err != nil || errs[0] != nil || data[0].Bytes[0] != 7 {
		t.Error(err, errs)
	}
}
