package sinter_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

// fault is a fault that users of another framework met: its number in the
// collection, and a case with the right outputs.
type fault struct {
	id   int
	name string
	run  func(f *faultRun)
}

// elsewhere are the faults that nothing can express yet, with what they wait for.
var elsewhere = map[int]string{
	121: quantization, 122: quantization, 123: quantization, 134: remotes, 135: remotes,
}

const (
	quantization = "rows that quantize"
	remotes      = "a remote backend"
)

// faultsPartly are the faults that run but for a part, with what that waits for.
var faultsPartly = map[int]string{
	94: remotes,
}

var faults = slices.Concat(faultsFusion, faultsNumerics, faultsViews, faultsUse, faultsGrad, faultsTuning)

// faultModes are the devices on which every fault runs, one of them without fusion.
var faultModes = []string{"interp", "cpu", "router/cpu", "cpu unfused"}

// faultRun is one run of a fault on a device.
type faultRun struct {
	*testing.T
	dev *sinter.Device
	on  sinter.Of

	unfused bool
}

// missing is a row that a fault needs and the table does not have yet.
type missing string

// TestFaults runs every fault on every device of processors, and through a
// router, twice: the second time over cached kernels.
func TestFaults(t *testing.T) {
	fused, single := sinter.NewRuntime(), sinter.NewRuntime(sinter.WithFusion(false))
	awaits := map[string][]int{}
	ran := map[int]bool{}
	for _, id := range faultModes {
		rt := fused
		name, unfused := strings.CutSuffix(id, " unfused")
		if unfused {
			rt = single
		}
		d, err := rt.Device(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range faults {
			for _, round := range []string{"fresh", "cached"} {
				t.Run(fmt.Sprintf("%s/%d %s/%s", id, x.id, x.name, round), func(t *testing.T) {
					defer func() {
						switch p := recover().(type) {
						case nil:
							ran[x.id] = true
						case missing:
							if id == "interp" && round == "fresh" {
								awaits[string(p)] = append(awaits[string(p)], x.id)
							}
							t.Skipf("there is no row %s", string(p))
						default:
							panic(p)
						}
					}()
					x.run(&faultRun{t, d, sinter.On(d), unfused})
				})
			}
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	for id, needs := range elsewhere {
		awaits[needs] = append(awaits[needs], id)
	}
	n := 0
	var list []string
	for row, ids := range awaits {
		n += len(ids)
		list = append(list, fmt.Sprintf("%s (%v)", row, ids))
	}
	t.Logf("faults: %d run on %v, %d await %s; in part %v", len(ran), faultModes, n, strings.Join(list, ", "), faultsPartly)
}

// TestFaultsListed: every row of the collection is run here or named as awaiting.
func TestFaultsListed(t *testing.T) {
	text, err := os.ReadFile("../shared/cases/faults.md")
	if err != nil {
		t.Skip("the collection is not there: ", err)
	}
	known := map[int]bool{}
	for _, x := range faults {
		if known[x.id] || elsewhere[x.id] != "" {
			t.Errorf("fault %d is listed twice", x.id)
		}
		known[x.id] = true
	}
	rows := 0
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \|`).FindAllStringSubmatch(string(text), -1) {
		rows++
		if id, _ := strconv.Atoi(m[1]); !known[id] && elsewhere[id] == "" {
			t.Errorf("fault %d is neither run nor listed", id)
		}
	}
	t.Logf("%d rows in the collection, %d run here", rows, len(known))
}

// op records a row by name.
func (f *faultRun) op(row string, in []*sinter.Tensor, attrs ...any) *sinter.Tensor {
	return f.ops(row, in, attrs...)[0]
}

func (f *faultRun) ops(row string, in []*sinter.Tensor, attrs ...any) []*sinter.Tensor {
	if ir.Lookup(row) == nil {
		panic(missing(row))
	}
	return sinter.Apply(row, in, ir.A(attrs...)...)
}

// mk makes a tensor on the device of the run.
func mk[T sinter.Element](f *faultRun, v []T, shape ...int) *sinter.Tensor {
	return sinter.FromSliceOn(f.on, v, shape...)
}

func (f *faultRun) f32(v ...float32) *sinter.Tensor { return mk(f, v) }
func (f *faultRun) f64(v ...float64) *sinter.Tensor { return mk(f, v) }
func (f *faultRun) i64(v ...int64) *sinter.Tensor   { return mk(f, v) }

// arange is 0, 1, ... in f32 with a shape.
func (f *faultRun) arange(shape ...int) *sinter.Tensor {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return f.on.Arange(0, n, 1, sinter.F32).Reshape(shape...)
}

// values reads a tensor of any dtype as float64.
func (f *faultRun) values(x *sinter.Tensor) []float64 {
	f.Helper()
	a, err := sinter.Read(context.Background(), x)
	if err != nil {
		f.Errorf("read: %v", err)
		return nil
	}
	return floatsOf(a[0])
}

func floatsOf(a sinter.Array) []float64 {
	size := a.DType.Size()
	out := make([]float64, len(a.Bytes)/size)
	for i := range out {
		b := a.Bytes[i*size:][:size]
		s := ir.Scalar{DType: a.DType}
		switch size {
		case 1:
			s.Bits = uint64(b[0])
		case 2:
			s.Bits = uint64(binary.NativeEndian.Uint16(b))
		case 4:
			s.Bits = uint64(binary.NativeEndian.Uint32(b))
		default:
			s.Bits = binary.NativeEndian.Uint64(b)
		}
		out[i] = s.Float()
	}
	return out
}

// want fails unless the tensor has the shape (unless nil) and exactly the values,
// signs of zeros included.
func (f *faultRun) want(x *sinter.Tensor, shape []int, want ...float64) {
	f.Helper()
	f.near(x, 0, shape, want...)
}

// near is want with a relative tolerance.
func (f *faultRun) near(x *sinter.Tensor, tol float64, shape []int, want ...float64) {
	f.Helper()
	got := f.values(x)
	if shape != nil && fmt.Sprint(x.Shape()) != fmt.Sprint(shape) {
		f.Errorf("got shape %v, want %v", x.Shape(), shape)
	}
	ok := len(got) == len(want)
	for i := range got {
		if !ok {
			break
		}
		a, b := got[i], want[i]
		switch {
		case math.IsNaN(a) && math.IsNaN(b):
		case a == b:
			ok = a != 0 || tol > 0 || math.Signbit(a) == math.Signbit(b)
		default:
			ok = math.Abs(a-b) <= tol*max(1, math.Abs(b))
		}
	}
	if !ok {
		f.Errorf("got %v, want %v", clip(got), clip(want))
	}
}

func clip(v []float64) any {
	if len(v) > 40 {
		return fmt.Sprintf("%v... (%d)", v[:40], len(v))
	}
	return v
}

// fails fails unless reading the tensor gives an error of the kind, and returns it.
func (f *faultRun) fails(x *sinter.Tensor, kind error) *ir.Error {
	f.Helper()
	_, err := sinter.Read(context.Background(), x)
	if !errors.Is(err, kind) {
		f.Errorf("got error %v, want a %v", err, kind)
		return &ir.Error{Kind: kind}
	}
	return ir.AsError(err)
}

var (
	nan  = math.NaN()
	inf  = math.Inf(1)
	neg0 = math.Copysign(0, -1)
)

type ts = []*sinter.Tensor
