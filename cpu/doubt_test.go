//go:build unix

package cpu_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// doubtful is a random program whose indices and divisors are sometimes wrong. It keeps a
// few results, some of which do not depend on what is wrong, and tells their values or
// errors.
func doubtful(t *testing.T, dev *sinter.Device, seed uint64) (told []string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	const n = 6
	var floats, ints []*sinter.Tensor
	for range 3 {
		f, k := make([]float32, n), make([]int64, n)
		for i := range f {
			f[i], k[i] = float32(rng.IntN(100))/8, int64(rng.IntN(n))
		}
		floats, ints = append(floats, sinter.FromSliceOn(sinter.On(dev), f)), append(ints, sinter.FromSliceOn(sinter.On(dev), k))
	}
	float := func() *sinter.Tensor { return floats[rng.IntN(len(floats))] }
	whole := func() *sinter.Tensor { return ints[rng.IntN(len(ints))] }
	read := func(x *sinter.Tensor) {
		var data any
		var err error
		if x.DType().IsFloat() {
			data, err = sinter.Data[float32](t.Context(), x)
		} else {
			data, err = sinter.Data[int64](t.Context(), x)
		}
		told = append(told, fmt.Sprint(data, err))
	}
	for range 40 {
		switch rng.IntN(14) {
		case 0, 1:
			floats = append(floats, float().Gather(0, whole()))
		case 2:
			floats = append(floats, float().ScatterAdd(0, whole(), float()))
		case 3:
			ints = append(ints, whole().Gather(0, whole()))
		case 4:
			ints = append(ints, whole().FloorDiv(whole())) // 0 is among the divisors
		case 5:
			ints = append(ints, whole().Add(rng.IntN(2))) // soon out of range
		case 6:
			ints = append(ints, whole().Mod(n))
		case 7:
			floats = append(floats, float().Add(float()))
		case 8:
			floats = append(floats, float().Mul(whole().Cast(sinter.F32)))
		case 9:
			floats = append(floats, float().Flip(0))
		case 10:
			floats = append(floats, float().Sub(float().Mean()))
		case 11:
			values, order := float().Sort(0, false)
			floats, ints = append(floats, values), append(ints, order)
		case 12:
			if i := rng.IntN(len(floats)); len(floats) > 3 {
				floats[i].Release()
				floats = append(floats[:i], floats[i+1:]...)
			}
		case 13:
			switch rng.IntN(4) {
			case 0:
				read(float())
			case 1:
				dev.Stream().Flush()
			case 2:
				if i := rng.IntN(len(ints)); len(ints) > 3 {
					ints[i].Release()
					ints = append(ints[:i], ints[i+1:]...)
				}
			}
		}
	}
	for _, x := range append(floats, ints...) {
		read(x)
	}
	return told
}

// scatter is a native kernel of scatter_add for vectors that lie in one piece.
func (r *remote) scatter(n *ir.Node, in, out []kernel.Tensor) (done bool, run int, err error) {
	if n.Row.Name != "scatter_add" {
		return false, 0, nil
	}
	for _, t := range in {
		if len(t.Type.Shape) != 1 || t.Operand.Strides[0] != 1 {
			return false, 0, nil
		}
	}
	x, index, src, y := r.elements(in[0]), elementsOf[int64](r, in[1]), r.elements(in[2]), r.elements(out[0])
	copy(y, x)
	code, first := kernel.NoFault, int64(0)
	for i, at := range index {
		if at < 0 {
			at += int64(len(y))
		}
		if at >= 0 && at < int64(len(y)) {
			y[at] += src[i]
		} else if code == kernel.NoFault {
			code, first = kernel.IndexOutOfRange, int64(i)
		}
	}
	return true, r.note(code, first), nil
}

// TestDoubts: programs with faults give on an accelerator, which is asked late, the values
// and the errors that they give where every operation is looked at.
func TestDoubts(t *testing.T) {
	programs := 150
	if testing.Short() {
		programs = 30
	}
	faults := 0
	for seed := range uint64(programs) {
		r := newRemote()
		r.set(func() { r.native = r.scatter })
		var told [2][]string
		for i, o := range []cpu.Options{{}, {Accelerator: r}} {
			d, err := cpu.New(o)
			if err != nil {
				t.Fatal(err)
			}
			dev := sinter.NewRuntime().Adopt(d)
			told[i] = doubtful(t, dev, seed)
			if err := dev.Sync(t.Context()); err != nil {
				told[i] = append(told[i], "an error is left")
			}
			if err := dev.Close(); err != nil { // all memory is returned
				t.Error(err)
			}
		}
		for i := range told[0] {
			if told[0][i] != told[1][i] {
				t.Fatalf("program %d, result %d:\n%s\nexpected\n%s", seed, i, told[1][i], told[0][i])
			}
			if strings.Contains(told[0][i], "element") {
				faults++
			}
		}
	}
	if faults < programs {
		t.Errorf("%d faults are too few to tell anything", faults)
	}
}

// TestDoubtsWait: work that may have a fault is waited for when somebody reads, or when
// much is in doubt; Sync returns the first error.
func TestDoubtsWait(t *testing.T) {
	r := newRemote()
	r.all = true
	d, err := cpu.New(cpu.Options{Accelerator: r})
	if err != nil {
		t.Fatal(err)
	}
	dev := sinter.NewRuntime().Adopt(d)
	defer dev.Close()
	asked := func() (n int) {
		d.Counters() // behind what is queued
		r.set(func() { n = r.asked })
		return n
	}
	on := sinter.On(dev)
	x := sinter.FromSliceOn(on, []float32{1, 2, 4})
	index := sinter.FromSliceOn(on, []int64{2, 0})
	wrong := sinter.FromSliceOn(on, []int64{0, 3})
	var kept []*sinter.Tensor
	round := func(index *sinter.Tensor) *sinter.Tensor { // two launches, of which one may have a fault
		y := x.Gather(0, index)
		dev.Stream().Flush()
		y = y.Mul(2)
		dev.Stream().Flush()
		kept = append(kept, y)
		return y
	}
	before := asked()
	y := round(index)
	if n := asked(); n != before {
		t.Errorf("asked %d times while nobody looked", n-before)
	}
	if got, err := sinter.Data[float32](t.Context(), y); err != nil || got[0] != 8 || got[1] != 2 {
		t.Errorf("%v, %v", got, err)
	}
	if n := asked(); n != before+1 {
		t.Errorf("asked %d times, expected once", n-before)
	}
	before = asked()
	for range 2 * cpu.MaxUnasked {
		round(index)
	}
	if n := asked() - before; n == 0 || n > 3 {
		t.Errorf("asked %d times about %d runs", n, 2*cpu.MaxUnasked)
	}
	first, second := round(wrong), round(sinter.FromSliceOn(on, []int64{-9}))
	err = dev.Sync(t.Context())
	if err == nil || !strings.Contains(err.Error(), "[1] of the result") {
		t.Errorf("sync: %v", err)
	}
	if err := dev.Sync(t.Context()); err != nil {
		t.Errorf("the second sync: %v", err)
	}
	if first.Err() != nil || second.Err() != nil { // they were recorded well
		t.Error(first.Err(), second.Err())
	}
	for _, y := range []*sinter.Tensor{first, second} {
		if _, err := sinter.Data[float32](t.Context(), y); ir.AsError(err).Kind != ir.ErrData {
			t.Errorf("read: %v", err)
		}
	}
}

// taker is a kernel that takes elements by an index.
func taker() *kernel.Kernel {
	b := kernel.NewBuilder("take", []kernel.AxisKind{kernel.Parallel})
	unit := []kernel.Access{kernel.Unit}
	index := b.Load(b.AddArg(kernel.Arg{Type: ir.I64, Dir: kernel.In, Access: unit}))
	from := b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.In, Access: []kernel.Access{kernel.Broadcast}, Gather: true})
	b.Store(b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.Out, Access: unit}), b.Gather(from, index))
	return b.K
}

// taking is a launch of it, of which nobody knows the nodes.
func taking(k backend.Compiled, x, index, y ir.Tensor) backend.Launch {
	return backend.Launch{Pieces: []backend.Piece{{Kernel: k, Extents: []int64{int64(index.Shape[0])}, Args: []backend.LaunchArg{
		{Tensor: index, Strides: []int64{1}}, {Tensor: x, Strides: []int64{0}, GatherStride: 1, GatherExtent: int64(x.Shape[0])}, {Tensor: y, Strides: []int64{1}}}}}}
}

func vector(id ir.ID, t ir.DType, n int) ir.Tensor {
	return ir.Tensor{ID: id, Type: ir.Type{DType: t, Shape: ir.Shape{n}}}
}

// TestDoubtsHold: what is in doubt holds little memory, and gives it up where it is short.
func TestDoubtsHold(t *testing.T) {
	r := newRemote()
	d, err := cpu.New(cpu.Options{Accelerator: r, Memory: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	k, err := d.Compile(taker())
	if err != nil {
		t.Fatal(err)
	}
	x := vector(1, ir.F32, 1)
	upload := func(t *testing.T, x ir.Tensor) {
		if err := d.Upload(x, make([]byte, x.Bytes())); err != nil {
			t.Fatal(err)
		}
	}
	upload(t, x)
	asked := func(n int) int { // about n indices that the launch consumes
		index, y := vector(2, ir.I64, n), vector(3, ir.F32, n)
		upload(t, index)
		before := 0
		r.set(func() { before = r.asked })
		l := taking(k, x, index, y)
		l.Consumes = []ir.ID{index.ID}
		if err := d.Launch(t.Context(), []backend.Launch{l}); err != nil {
			t.Fatal(err)
		}
		d.Free(y.ID)
		d.Counters() // behind what is queued
		r.set(func() { before = r.asked - before })
		return before
	}
	if n := asked(3 << 20); n != 1 {
		t.Errorf("asked %d times about 24 MB of indices, expected at once", n)
	}
	if n := asked(3 << 19); n != 0 {
		t.Errorf("asked %d times about 12 MB of indices", n)
	}
	big := vector(4, ir.F32, 14<<20) // 56 of 64 MB
	upload(t, big)
	if _, errs, err := d.Read(t.Context(), big.ID); err != nil || errs[0] != nil {
		t.Error(err, errs)
	}
}

// openTaker opens a device, and compiles the kernel for it.
func openTaker(t *testing.T, o cpu.Options) (*cpu.Device, backend.Compiled) {
	t.Helper()
	d, err := cpu.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	k, err := d.Compile(taker())
	if err != nil {
		t.Fatal(err)
	}
	return d, k
}

// TestDoubtsWithoutNodes: a launch whose nodes nobody knows has the fault that its kernels
// noted.
func TestDoubtsWithoutNodes(t *testing.T) {
	x, i, y, z := vector(1, ir.F32, 3), vector(2, ir.I64, 2), vector(3, ir.F32, 2), vector(4, ir.F32, 2)
	var told []string
	for _, o := range []cpu.Options{{}, {Accelerator: newRemote()}} {
		d, k := openTaker(t, o)
		if err := d.Upload(x, make([]byte, 12)); err != nil {
			t.Fatal(err)
		}
		if err := d.Upload(i, []byte{2, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0}); err != nil {
			t.Fatal(err)
		}
		if err := d.Launch(t.Context(), []backend.Launch{taking(k, x, i, y)}); err != nil {
			t.Fatal(err)
		}
		if err := d.Alias(y.ID, z.ID); err != nil {
			t.Fatal(err)
		}
		lent, err := d.OpenRead(t.Context(), z.ID)
		if err != nil || lent.Err() == nil {
			t.Fatal("a loan of what is in doubt", err)
		}
		lent.Close()
		_, errs, err := d.Read(t.Context(), y.ID, z.ID)
		if err != nil || errs[0] == nil || errs[1] != errs[0] {
			t.Fatal(errs, err)
		}
		told = append(told, errs[0].Error())
	}
	if told[0] != told[1] {
		t.Errorf("%s\nexpected\n%s", told[1], told[0])
	}
}

// TestDoubtsBeside: a launch of which a part runs on the host and has a fault there is asked
// about at once, however often it comes, and both parts have the error.
func TestDoubtsBeside(t *testing.T) {
	d, err := cpu.New(cpu.Options{Accelerator: newRemote()})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var kernels []backend.Compiled
	for range 3 { // the third is refused
		k, err := d.Compile(taker())
		if err != nil {
			t.Fatal(err)
		}
		kernels = append(kernels, k)
	}
	x, good, wrong := vector(1, ir.F32, 3), vector(2, ir.I64, 1), vector(3, ir.I64, 1)
	for _, up := range []struct {
		t    ir.Tensor
		data []byte
	}{{x, make([]byte, 12)}, {good, make([]byte, 8)}, {wrong, []byte{9, 0, 0, 0, 0, 0, 0, 0}}} {
		if err := d.Upload(up.t, up.data); err != nil {
			t.Fatal(err)
		}
	}
	for i := range ir.ID(2 * cpu.MaxUnasked) {
		y, z := vector(10+2*i, ir.F32, 1), vector(11+2*i, ir.F32, 1)
		here, there := taking(kernels[0], x, good, y), taking(kernels[2], x, wrong, z)
		launch := backend.Launch{Pieces: append(here.Pieces, there.Pieces...)}
		if err := d.Launch(t.Context(), []backend.Launch{launch}); err != nil {
			t.Fatal(err)
		}
		if i%8 > 0 {
			continue
		}
		_, errs, err := d.Read(t.Context(), y.ID, z.ID)
		if err != nil || ir.AsError(errs[0]).Kind != ir.ErrData || ir.AsError(errs[1]).Kind != ir.ErrData {
			t.Fatal(errs, err)
		}
	}
}

// TestDoubtsInParts: of a result that two launches write, whose nodes nobody knows, an
// error of the first one stays.
func TestDoubtsInParts(t *testing.T) {
	var told []string
	for _, o := range []cpu.Options{{}, {Accelerator: newRemote()}} {
		d, k := openTaker(t, o)
		x, index, y := vector(1, ir.F32, 3), vector(2, ir.I64, 2), vector(3, ir.F32, 2)
		if err := d.Upload(x, make([]byte, 12)); err != nil {
			t.Fatal(err)
		}
		if err := d.Upload(index, []byte{9, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}); err != nil {
			t.Fatal(err)
		}
		var launches []backend.Launch
		for i := range int64(2) { // the first index is wrong
			l := taking(k, x, index, y)
			l.Pieces[0].Extents = []int64{1}
			l.Pieces[0].Args[0].Offset, l.Pieces[0].Args[2].Offset = i, i
			launches = append(launches, l)
		}
		if err := d.Launch(t.Context(), launches); err != nil {
			t.Fatal(err)
		}
		_, errs, err := d.Read(t.Context(), y.ID)
		if err != nil || errs[0] == nil {
			t.Fatal(errs, err)
		}
		told = append(told, errs[0].Error())
	}
	if told[0] != told[1] {
		t.Errorf("%s\nexpected\n%s", told[1], told[0])
	}
}

// alike compares what a program tells on a device and on one with an accelerator.
func alike(t *testing.T, memory int64, program func(dev *sinter.Device) []string) {
	t.Helper()
	r := newRemote()
	r.all = true
	var told [2][]string
	for i, o := range []cpu.Options{{Memory: memory}, {Memory: memory, Accelerator: r}} {
		d, err := cpu.New(o)
		if err != nil {
			t.Fatal(err)
		}
		dev := sinter.NewRuntime().Adopt(d)
		told[i] = append(program(dev), fmt.Sprint(dev.Sync(t.Context())))
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	}
	for i := range told[0] {
		if told[0][i] != told[1][i] {
			t.Errorf("result %d: %s\nexpected %s", i, told[1][i], told[0][i])
		}
	}
}

// tell is the beginning of a tensor, and its error.
func tell(t *testing.T, x *sinter.Tensor) string {
	data, err := sinter.Data[float32](t.Context(), x.Cast(sinter.F32))
	return fmt.Sprint(data[:min(len(data), 4)], err)
}

// TestDoubtsAtOnce: what is asked about at once, since its indices are many, is not blamed
// for what was in doubt before, and Sync tells of that first.
func TestDoubtsAtOnce(t *testing.T) {
	for _, wrong := range [][]int64{{0, 3}, {0, 2}} {
		alike(t, 256<<20, func(dev *sinter.Device) []string {
			on := sinter.On(dev)
			x := sinter.FromSliceOn(on, []float32{1, 2, 4})
			many := make([]int64, 3<<20)
			many[7] = 99
			a := x.Gather(0, sinter.FromSliceOn(on, wrong))
			dev.Stream().Flush()
			b := a.Gather(0, sinter.FromSliceOn(on, many))
			dev.Stream().Flush()
			c := x.Gather(0, sinter.FromSliceOn(on, []int64{-7}))
			dev.Stream().Flush()
			first := fmt.Sprint(dev.Sync(t.Context()))
			return []string{first, tell(t, b), tell(t, a), tell(t, c)}
		})
	}
}

// TestDoubtsOneByOne: a launch of which an operand has failed runs node by node; one that
// divides by what is in doubt is not blamed.
func TestDoubtsOneByOne(t *testing.T) {
	alike(t, 0, func(dev *sinter.Device) []string {
		on := sinter.On(dev)
		x, i := sinter.FromSliceOn(on, []float32{1, 2, 4}), sinter.FromSliceOn(on, []int64{6, 7, 8})
		failed := x.Gather(0, sinter.FromSliceOn(on, []int64{0, 1, 9}))
		dev.Stream().Flush()
		out := []string{tell(t, x)} // the device knows now that it has failed
		a := i.FloorDiv(sinter.FromSliceOn(on, []int64{1, 1, 0}))
		dev.Stream().Flush()
		b := i.FloorDiv(a.Flip(0))
		c := failed.Add(b.Cast(sinter.F32))
		dev.Stream().Flush()
		return append(out, tell(t, b), tell(t, a), tell(t, c))
	})
}

// TestDoubtsInLittleMemory: where there is no room to trace a fault, its result has it all
// the same, and others are right.
func TestDoubtsInLittleMemory(t *testing.T) {
	for _, memory := range []int64{22, 26, 30, 44} {
		alike(t, memory<<20, func(dev *sinter.Device) []string {
			on := sinter.On(dev)
			index := make([]int64, 1<<20)
			index[5] = 3
			x := sinter.FromSliceOn(on, make([]float32, len(index)))
			i, table := sinter.FromSliceOn(on, index), sinter.FromSliceOn(on, []float32{1, 2, 4})
			y, z := x.Mul(2), x.Add(table.Gather(0, i))
			dev.Stream().Flush()
			out := make([]string, 0, 3)
			for _, v := range []*sinter.Tensor{y, z, x} {
				data, err := sinter.Data[float32](t.Context(), v)
				out = append(out, fmt.Sprint(data[:min(len(data), 4)], err))
			}
			return out
		})
	}
}
