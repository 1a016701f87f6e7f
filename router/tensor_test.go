package router_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/router"
)

// tensors are two devices of a router as users of tensors have them.
func tensors(t testing.TB, o router.Options, a, b backend.Backend) (x, y *sinter.Device) {
	r := owned(t, o, named("a", a), named("b", b))
	rt := sinter.NewRuntime()
	rt.Drivers.Add("r", r)
	x, err := rt.Device("r/a")
	if err != nil {
		t.Fatal(err)
	}
	if y, err = rt.Device("r/b"); err != nil {
		t.Fatal(err)
	}
	return x, y
}

// plain are two devices without a router.
func plain(t testing.TB) (x, y *sinter.Device) {
	a, b := open(t, "cpu"), open(t, "interp")
	t.Cleanup(func() { a.Close(); b.Close() })
	rt := sinter.NewRuntime()
	return rt.Adopt(a), rt.Adopt(b)
}

func values(t testing.TB, x *sinter.Tensor) []float32 {
	t.Helper()
	v, err := sinter.Data[float32](context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestTo: tensors move between devices, through a router and without one; the
// source may be released at once, errors travel, and CopyTo waits.
func TestTo(t *testing.T) {
	for name, devices := range map[string]func(testing.TB) (x, y *sinter.Device){
		"router": func(t testing.TB) (x, y *sinter.Device) {
			return tensors(t, router.Options{}, open(t, "cpu"), open(t, "interp"))
		},
		"plain": plain,
	} {
		t.Run(name, func(t *testing.T) {
			a, b := devices(t)
			x := sinter.FromSliceOn(sinter.On(a), []float32{1, 2, 3})
			y := x.Add(1).To(b)
			if y.Device() != b || y.To(b).Device() != b || x.To(a).Device() != a {
				t.Errorf("the moved tensor is on %s", y.Device())
			}
			z := y.Mul(y)
			back := z.To(a)
			y.Release()
			z.Release()
			sum := back.Add(x)
			if got := values(t, sum); fmt.Sprint(got) != "[5 11 19]" {
				t.Errorf("got %v", got)
			}
			// A chain through both, with scopes, and reads of many devices in one call.
			s := sinter.NewScope("s")
			v := s.In(x)
			for range 20 {
				v = v.To(b).Add(1).To(a)
			}
			got, err := sinter.Read(context.Background(), s.Keep(v), x.To(b))
			if err != nil || got[0].Bytes == nil || got[1].Bytes == nil {
				t.Errorf("reading from two devices: %v", err)
			}
			s.End()
			bad := sinter.Apply("gather", []*sinter.Tensor{x, sinter.FromSliceOn(sinter.On(a), []int64{7})}, ir.A("axis", 0)...)[0]
			moved := bad.To(b).Neg()
			if _, err := sinter.Read(context.Background(), moved); !errors.Is(err, ir.ErrData) || !strings.Contains(err.Error(), "tensor_test.go") {
				t.Errorf("the error of a moved tensor: %v", err)
			}
			if _, err := bad.CopyTo(context.Background(), b); !errors.Is(err, ir.ErrData) {
				t.Errorf("CopyTo of an error: %v", err)
			}
			c, err := x.CopyTo(context.Background(), b)
			if err != nil || fmt.Sprint(values(t, c)) != "[1 2 3]" {
				t.Errorf("CopyTo: %v", err)
			}
			if w := x.Add(c); !errors.Is(w.Err(), ir.ErrDevice) || !strings.Contains(w.Err().Error(), a.ID()) || !strings.Contains(w.Err().Error(), b.ID()) {
				t.Errorf("operands on two devices: %v", w.Err())
			}
			x.Release()
			if w := x.To(b); !errors.Is(w.Err(), ir.ErrClosed) {
				t.Errorf("To of a released tensor: %v", w.Err())
			}
			if w := c.To(nil); !errors.Is(w.Err(), ir.ErrArgument) {
				t.Errorf("To of no device: %v", w.Err())
			}
			a.Sync(context.Background())
			b.Sync(context.Background())
		})
	}
}

// TestToDoesNotWait: between devices without a router, what does not need the
// tensor goes on; what needs it is held back, however much that is.
func TestToDoesNotWait(t *testing.T) {
	f := scripted(t, "hold neg 1")
	b := open(t, "interp")
	t.Cleanup(func() { f.Close(); b.Close() })
	rt := sinter.NewRuntime()
	src, dst := rt.Adopt(f), rt.Adopt(b)
	x := sinter.FromSliceOn(sinter.On(src), []float32{1, 2}).Neg()
	src.Stream().Flush()
	<-f.Held()
	y := x.To(dst)
	other := sinter.FromSliceOn(sinter.On(dst), []float32{5, 6})
	z := y
	for range 600 { // more than a submission
		next := z.Add(other)
		z.Release()
		z = next
	}
	if got := values(t, other.Add(other)); fmt.Sprint(got) != "[10 12]" {
		t.Errorf("work that does not need the tensor: %v", got)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := sinter.Read(ctx, z); !errors.Is(err, ir.ErrCancelled) {
		t.Errorf("a read of what is held back: %v", err)
	}
	f.Open()
	if got := values(t, z); fmt.Sprint(got) != "[2999 3598]" {
		t.Errorf("got %v", got)
	}
	if err := dst.Sync(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestMixed: operands on several devices move by the router's rule, which counts.
func TestMixed(t *testing.T) {
	for rule, want := range map[router.Rule]string{router.MoveToFirst: "b", router.MoveToLargest: "a", router.MoveToDefault: "a"} {
		a, b := tensors(t, router.Options{Mixed: rule}, open(t, "cpu"), open(t, "interp"))
		small := sinter.FromSliceOn(sinter.On(b), []float32{10})
		large := sinter.FromSliceOn(sinter.On(a), []float32{1, 2})
		x := small.Add(large)
		if x.Err() != nil || x.Device().ID() != want {
			t.Errorf("rule %d: on %v, %v; want %s", rule, x.Device(), x.Err(), want)
			continue
		}
		if got := values(t, x); fmt.Sprint(got) != "[11 12]" {
			t.Errorf("rule %d: got %v", rule, got)
		}
		c, _ := backend.As[*router.Client](b.Backend())
		s := c.Router().Stats()
		if s.Devices[0].Mixed+s.Devices[1].Mixed != 1 || s.Devices[0].MovesIn+s.Devices[1].MovesIn != 1 {
			t.Errorf("rule %d: %v", rule, s)
		}
	}
}

// TestGradients: a gradient moves back along the moves, with the bits that it has
// on one device, in both orders of differentiation.
func TestGradients(t *testing.T) {
	ctx := context.Background()
	one := open(t, "cpu")
	t.Cleanup(func() { one.Close() })
	single := sinter.NewRuntime().Adopt(one)
	loss := func(x, w *sinter.Tensor, far *sinter.Device) *sinter.Tensor {
		h := x.MatMul(w).To(far).Tanh()
		v := h.Mul(h).Add(2.5).To(x.Device())
		return v.Mul(x.Sum()).Exp().To(far).Sum()
	}
	run := func(near, far *sinter.Device) [][]byte {
		x := sinter.FromSliceOn(sinter.On(near), []float32{0.1, -0.2, 0.3, 0.4, 0.5, -0.6}, 2, 3).Track()
		w := sinter.FromSliceOn(sinter.On(near), []float32{0.3, 0.1, -0.5, 0.2, 0.7, 0.9}, 3, 2).Track()
		unused := sinter.FromSliceOn(sinter.On(far), []float32{1}).Track()
		l := loss(x, w, far)
		g, err := autodiff.Grad(l, x, w, unused)
		if err != nil {
			t.Fatal(err)
		}
		if g[0].Device() != near || g[1].Device() != near || g[2].Device() != far {
			t.Errorf("gradients are on %s, %s, %s", g[0].Device(), g[1].Device(), g[2].Device())
		}
		first, err := autodiff.Options{Track: true}.Grad(loss(x, w, far), x)
		if err != nil {
			t.Fatal(err)
		}
		second, err := autodiff.Grad(first[0].Mul(first[0]).Sum(), w)
		if err != nil {
			t.Fatal(err)
		}
		data, err := sinter.Read(ctx, g[0], g[1], g[2], second[0], l)
		if err != nil {
			t.Fatal(err)
		}
		var out [][]byte
		for _, a := range data {
			out = append(out, a.Bytes)
		}
		return out
	}
	want := run(single, single)
	a, b := tensors(t, router.Options{}, open(t, "cpu"), open(t, "interp"))
	p, q := plain(t)
	for i, devices := range [][2]*sinter.Device{{a, b}, {b, a}, {p, q}} {
		for k, got := range run(devices[0], devices[1]) {
			if !bytes.Equal(got, want[k]) {
				t.Errorf("devices %d: result %d differs from that of one device", i, k)
			}
		}
	}
}

// TestTrainSplit: a small model whose halves are on two devices trains to the same
// bits as on one, and leaves nothing behind.
func TestTrainSplit(t *testing.T) {
	ctx := context.Background()
	train := func(near, far *sinter.Device) [][]byte {
		gen := sinter.NewGenerator(7)
		vars := []*sinter.Var{
			sinter.NewVar(gen.Normal(sinter.On(near), sinter.F32, 6, 8)), sinter.NewVar(sinter.On(near).Zeros(sinter.F32, 8)),
			sinter.NewVar(gen.Normal(sinter.On(far), sinter.F32, 8, 3)), sinter.NewVar(sinter.On(far).Zeros(sinter.F32, 3)),
		}
		x := gen.Normal(sinter.On(near), sinter.F32, 16, 6)
		y := gen.Normal(sinter.On(far), sinter.F32, 16, 3)
		for range 20 {
			s := sinter.NewScope("step")
			h := s.In(x).MatMul(vars[0].In(s)).Add(vars[1].In(s)).Tanh().To(far)
			d := h.MatMul(vars[2].In(s)).Add(vars[3].In(s)).Sub(s.In(y))
			g, err := autodiff.Gradients(d.Mul(d).Mean(), vars...)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range vars {
				if err := v.Set(v.In(s).Sub(g[i].Mul(0.05))); err != nil {
					t.Fatal(err)
				}
			}
			s.End()
		}
		var out [][]byte
		for _, v := range vars {
			a, err := sinter.Read(ctx, v.Value())
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, a[0].Bytes)
		}
		return out
	}
	one := open(t, "cpu")
	t.Cleanup(func() { one.Close() })
	single := sinter.NewRuntime().Adopt(one)
	want := train(single, single)
	a, b := tensors(t, router.Options{}, open(t, "cpu"), scripted(t, "delay mul 100us\ndrop HostMemory"))
	for i, got := range train(a, b) {
		if !bytes.Equal(got, want[i]) {
			t.Errorf("variable %d differs from that of one device", i)
		}
	}
	for _, d := range []*sinter.Device{a, b} {
		c, _ := backend.As[*router.Client](d.Backend())
		if err := d.Sync(ctx); err != nil {
			t.Error(err)
		}
		if n := c.Live(); n > 300 { // handles that the collector has not seen yet; 20 steps made thousands
			t.Errorf("%s: %d tensors live after training", d, n)
		}
	}
}
