package sinter_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/cpu"
)

// line is the caller's line, for errors that must name it.
func line() int {
	_, _, n, _ := runtime.Caller(1)
	return n
}

// TestErrorsNameUserLine: an error says operation, operands and the line of the
// call that made it, however much later and through whatever it is read.
func TestErrorsNameUserLine(t *testing.T) {
	a, b := sinter.Zeros(sinter.F32, 2, 3), sinter.Zeros(sinter.F32, 4, 5)
	i := sinter.Zeros(sinter.I64, 3)
	ints := sinter.FromSlice([]int32{1, 2, 3})
	for _, x := range []struct {
		name string
		line int
		y    *sinter.Tensor
		kind error
		says []string
	}{
		{"add", line(), a.Add(b), sinter.ErrShape, []string{"add(f32[2,3], f32[4,5])"}},
		{"matmul", line(), a.MatMul(b), sinter.ErrShape, []string{"matmul(f32[2,3], f32[4,5])", "3", "4"}},
		{"dtypes", line(), a.Add(i), sinter.ErrDType, []string{"add(f32[2,3], i64[3])", "f32", "i64", "cast"}},
		{"class", line(), i.Sqrt(), sinter.ErrDType, []string{"sqrt(i64[3])", "floats"}},
		{"reshape", line(), a.Reshape(4), sinter.ErrShape, []string{"reshape(f32[2,3])", "6", "4"}},
		{"axis", line(), a.Sum(sinter.Over(5)), sinter.ErrShape, []string{"sum(f32[2,3])", "5"}},
		{"constant", line(), ints.Add(0.5), sinter.ErrDType, []string{"0.5", "i32"}},
		{"squeeze", line(), a.Squeeze(0), sinter.ErrShape, []string{"squeeze(f32[2,3])"}},
		{"from slice", line(), sinter.FromSlice([]float32{1}, 2), sinter.ErrShape, []string{"from_slice", "1 element", "[2]"}},
		{"apply", line(), sinter.Apply("no_such_row", []*sinter.Tensor{a})[0], sinter.ErrArgument, []string{"no_such_row"}},
		{"index", line(), a.Gather(1, sinter.FromSlice([]int64{0, 3})), sinter.ErrData, []string{"gather(f32[2,3], i64[2])", "index out of range", "on cpu"}},
		{"division", line(), ints.Mod(0), sinter.ErrData, []string{"mod(i32[3], i32[])", "division by zero", "[0]"}},
		{"full", line(), sinter.Full("x", sinter.F32), sinter.ErrDType, []string{"full", "string"}},
		{"where", line(), sinter.Where(a, a, a), sinter.ErrDType, []string{"where(f32[2,3]", "bool"}},
		{"concat", line(), sinter.Concat(0, a, b), sinter.ErrShape, []string{"concat(f32[2,3], f32[4,5])"}},
	} {
		later := x.y.Add(1).Sum() // the first error comes through
		_, err := sinter.Read(context.Background(), later)
		if !errors.Is(err, x.kind) {
			t.Errorf("%s: got %v, want a %v", x.name, err, x.kind)
			continue
		}
		for _, part := range append(x.says, fmt.Sprintf("api_errors_test.go:%d", x.line)) {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error %q does not say %q", x.name, err, part)
			}
		}
		var e *sinter.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: not a *sinter.Error", x.name)
		}
	}
}

// TestConstants: a constant that the dtype cannot hold is an error, any other
// adapts.
func TestConstants(t *testing.T) {
	for _, x := range []struct {
		d  sinter.DType
		v  any
		ok bool
	}{
		{sinter.I8, 127, true}, {sinter.I8, 128, false}, {sinter.I8, -128, true}, {sinter.I8, -129, false},
		{sinter.U8, 255, true}, {sinter.U8, -1, false}, {sinter.U8, 256, false}, {sinter.U64, uint64(math.MaxUint64), true},
		{sinter.U64, -1, false}, {sinter.I64, uint64(math.MaxUint64), false}, {sinter.I64, int64(math.MinInt64), true},
		{sinter.I32, 1.0, true}, {sinter.I32, 1.5, false}, {sinter.I32, math.NaN(), false}, {sinter.I32, math.Inf(1), false},
		{sinter.I64, 1e19, false}, {sinter.I64, 9223372036854775807.0, false}, {sinter.I64, uint64(1 << 63), false}, {sinter.U64, 18446744073709551616.0, false},
		{sinter.F32, 1e300, false}, {sinter.F32, 0.1, true}, {sinter.F32, math.Inf(-1), true}, {sinter.F32, math.NaN(), true},
		{sinter.F16, 65504, true}, {sinter.F16, 65520, false}, {sinter.F16, 1e-10, true}, {sinter.BF16, 1e39, false},
		{sinter.F64, 1 << 53, true}, {sinter.Bool, true, true}, {sinter.Bool, 1, false}, {sinter.F32, true, false},
		{sinter.F32, "1", false}, {sinter.F32, nil, false}, {sinter.F32, []float32{1}, false}, {sinter.F32, 1i, false},
		{sinter.F32, int8(3), true}, {sinter.I64, uint8(3), true}, {sinter.F64, float32(0.5), true},
	} {
		y := sinter.Full(x.v, x.d)
		if (y.Err() == nil) != x.ok {
			t.Errorf("the constant %v (%T) in %v: error %v", x.v, x.v, x.d, y.Err())
		}
		if z := sinter.Zeros(x.d, 2); x.d != sinter.Bool {
			if z = z.Add(x.v); (z.Err() == nil) != x.ok {
				t.Errorf("%v tensor plus %v (%T): error %v", x.d, x.v, x.v, z.Err())
			}
		}
	}
}

// TestReleased: what was released, or belongs to an ended scope, is closed.
func TestReleased(t *testing.T) {
	x := sinter.Ones(sinter.F32, 2)
	view := x.Reshape(2, 1)
	x.Release()
	x.Release()
	for name, err := range map[string]error{
		"Err": x.Err(), "Add": x.Add(1).Err(), "In": sinter.NewScope("s").In(x).Err(), "Track": x.Track().Err(),
	} {
		if !errors.Is(err, sinter.ErrClosed) {
			t.Errorf("%s of a released tensor: %v", name, err)
		}
	}
	if _, err := sinter.Read(context.Background(), x); !errors.Is(err, sinter.ErrClosed) {
		t.Errorf("Read of a released tensor: %v", err)
	}
	if v, err := sinter.Data[float32](context.Background(), view); err != nil || fmt.Sprint(v) != "[1 1]" {
		t.Errorf("a view of a released tensor: %v, %v", v, err)
	}
	s := sinter.NewScope("s")
	y := s.In(view).Add(1)
	s.End()
	if !errors.Is(y.Err(), sinter.ErrClosed) || !errors.Is(y.Add(1).Err(), sinter.ErrClosed) {
		t.Errorf("a tensor of an ended scope: %v", y.Err())
	}
	if z := s.In(view).Add(1); !errors.Is(z.Err(), sinter.ErrClosed) {
		t.Errorf("recording in an ended scope: %v", z.Err())
	}
}

// TestReadMany: one error does not spoil the others.
func TestReadMany(t *testing.T) {
	good := sinter.FromSlice([]int32{4, 5})
	bad := sinter.FromSlice([]int32{4}).Mod(0)
	a, err := sinter.Read(context.Background(), good, bad, nil, good.Add(1))
	if !errors.Is(err, sinter.ErrData) {
		t.Errorf("got %v", err)
	}
	if fmt.Sprint(floatsOf(a[0]), floatsOf(a[3])) != "[4 5] [5 6]" || a[1].Bytes != nil || a[2].Bytes != nil {
		t.Errorf("got %v", a)
	}
	if a, err := sinter.Read(context.Background()); len(a) != 0 || err != nil {
		t.Errorf("Read of nothing: %v, %v", a, err)
	}
}

// TestReaders: the Go type must be that of the dtype, an item one element.
func TestReaders(t *testing.T) {
	ctx := context.Background()
	x := sinter.FromSlice([]float32{1, 2})
	if _, err := sinter.Data[float64](ctx, x); !errors.Is(err, sinter.ErrDType) {
		t.Errorf("f32 as []float64: %v", err)
	}
	if _, err := sinter.Data[int](ctx, sinter.FromSlice([]int{1})); err != nil {
		t.Errorf("int: %v", err)
	}
	if _, err := sinter.Item[float32](ctx, x); !errors.Is(err, sinter.ErrShape) {
		t.Errorf("item of two: %v", err)
	}
	if v, err := sinter.Item[float32](ctx, x.Sum()); v != 3 || err != nil {
		t.Errorf("item: %v, %v", v, err)
	}
	type celsius float32
	if v, err := sinter.Data[celsius](ctx, sinter.FromSlice([]celsius{20})); err != nil || v[0] != 20 {
		t.Errorf("a named type: %v, %v", v, err)
	}
	v := []float32{1, 2}
	y := sinter.FromSlice(v)
	v[0] = 99
	if got, _ := sinter.Data[float32](ctx, y); got[0] != 1 {
		t.Error("FromSlice keeps the slice")
	}
}

// TestContexts: a cancelled context ends the wait with an error.
func TestContexts(t *testing.T) {
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	x := sinter.Ones(sinter.F32, 100000)
	for range 50 {
		x = x.Add(1)
	}
	if _, err := sinter.Read(gone, x); err != nil && !errors.Is(err, sinter.ErrCancelled) {
		t.Errorf("Read: %v", err)
	}
	if _, err := sinter.Read(context.Background(), x); err != nil {
		t.Errorf("after a cancelled read: %v", err)
	}
}

// TestClosedDevice: its tensors are errors, and nothing hangs.
func TestClosedDevice(t *testing.T) {
	b, err := cpu.New(cpu.Options{ID: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	d := sinter.NewRuntime().Adopt(b)
	x := sinter.FromSliceOn(sinter.On(d), []float32{1, 2})
	y := x.Add(1)
	if err := errors.Join(d.Close(), d.Close()); err != nil {
		t.Errorf("Close: %v", err)
	}
	for _, z := range []*sinter.Tensor{x, y, x.Add(1), sinter.On(d).Zeros(sinter.F32, 2), sinter.FromSliceOn(sinter.On(d), []float32{1})} {
		if _, err := sinter.Read(context.Background(), z); !errors.Is(err, sinter.ErrClosed) {
			t.Errorf("Read on a closed device: %v", err)
		}
	}
	if err := d.Sync(context.Background()); !errors.Is(err, sinter.ErrClosed) {
		t.Errorf("Sync of a closed device: %v", err)
	}
	x.Release()
	y.Release()
}

// TestTwoDevices: tensors move from one device to another.
func TestTwoDevices(t *testing.T) {
	other, err := sinter.OpenDevice("interp")
	if err != nil {
		t.Fatal(err)
	}
	x := sinter.FromSlice([]float32{1, 2})
	y := sinter.FromSliceOn(sinter.On(other), []float32{3, 4})
	moved, err := x.CopyTo(context.Background(), other)
	if err != nil || moved.Device() != other {
		t.Fatalf("CopyTo: %v", err)
	}
	if v, err := sinter.Data[float32](context.Background(), moved.Add(y)); err != nil || fmt.Sprint(v) != "[4 6]" {
		t.Errorf("got %v, %v", v, err)
	}
	if _, err := sinter.OpenDevice("nonsense:3"); !errors.Is(err, sinter.ErrDevice) {
		t.Errorf("opening what is not there: %v", err)
	}
}

// TestOtherRuntime: devices of one id that are two say so.
func TestOtherRuntime(t *testing.T) {
	a, err := sinter.NewRuntime().Device("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := sinter.NewRuntime().Device("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	err = sinter.On(a).Ones(sinter.F32, 2).Add(sinter.On(b).Ones(sinter.F32, 2)).Err()
	if err == nil || !strings.Contains(err.Error(), "on cpu of another runtime") {
		t.Error(err)
	}
}
