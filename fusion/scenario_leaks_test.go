package fusion_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
)

// shop is a client with several streams, whose values a test counts.
type shop struct {
	t *testing.T
	c *fusion.Client

	owner, peer, grand *fusion.Stream
}

func newShop(t *testing.T) *shop {
	d, err := cpu.New(cpu.Options{Poison: true})
	if err != nil {
		t.Fatal(err)
	}
	c := fusion.New(d)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx := context.Background()
	return &shop{t, c, c.NewStream(ctx), c.NewStream(ctx), c.NewStream(ctx)}
}

// up uploads f32 values.
func (e *shop) up(s *fusion.Stream, x ...float32) *fusion.Value {
	var b []byte
	for _, f := range x {
		b = binary.NativeEndian.AppendUint32(b, math.Float32bits(f))
	}
	v, err := s.Upload(ir.Type{DType: ir.F32, Shape: ir.Shape{len(x)}}, b)
	if err != nil {
		e.t.Error(err)
	}
	return v
}

func (e *shop) op(s *fusion.Stream, row string, in ...*fusion.Value) *fusion.Value {
	return e.with(s, row, nil, in...)
}

func (e *shop) with(s *fusion.Stream, row string, attrs []any, in ...*fusion.Value) *fusion.Value {
	r := ir.Lookup(row)
	a, err := r.MakeAttrs(ir.A(attrs...))
	if err != nil {
		e.t.Error(err)
		return nil
	}
	types := make([]ir.Type, len(in))
	for i, v := range in {
		types[i] = v.Type()
	}
	op := fusion.OpOf(r, a)
	out, err := s.Infer(op, a, types)
	if err != nil {
		e.t.Error(err)
		return nil
	}
	v := new(fusion.Value)
	if err := s.Record(op, a, in, out, []*fusion.Value{v}, nil, func() ir.Site { return ir.Site{} }); err != nil {
		e.t.Error(err)
	}
	return v
}

// clone is a second owner of the same contents, on a stream.
func (e *shop) clone(s *fusion.Stream, v *fusion.Value) *fusion.Value {
	id, err := e.c.Share(context.Background(), v)
	if err != nil {
		e.t.Error(err)
		return nil
	}
	w, err := s.Take(id)
	if err != nil {
		e.t.Error(err)
	}
	return w
}

// want reads a value of floats or bools.
func (e *shop) want(v *fusion.Value, want ...float32) {
	e.t.Helper()
	data, errs, err := e.c.ReadValues(context.Background(), []*fusion.Value{v})
	if err != nil || errs[0] != nil {
		e.t.Error(err, errs)
		return
	}
	var got []float32
	for b := data[0].Bytes; len(b) > 0; b = b[v.Type().DType.Size():] {
		switch v.Type().DType {
		case ir.F32:
			got = append(got, math.Float32frombits(binary.NativeEndian.Uint32(b)))
		case ir.I32:
			got = append(got, float32(int32(binary.NativeEndian.Uint32(b))))
		default:
			got = append(got, float32(b[0]))
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		e.t.Errorf("got %v, want %v", got, want)
	}
}

func drop(values ...*fusion.Value) {
	for _, v := range values {
		v.Release()
	}
}

// tensors returns how many tensors the device holds.
func (e *shop) tensors() int {
	m, _ := backend.As[backend.Memory](e.c)
	u, err := m.MemoryUsage(context.Background())
	if err != nil {
		e.t.Error(err)
	}
	return u.Tensors
}

// leaks are the cases of the source in which tensors pass between streams; each ends
// with no tensor left on the device.
var leaks = []struct {
	name string
	run  func(e *shop)
}{
	{"single stream, drop", func(e *shop) {
		x := e.up(e.owner, 1, 2)
		y := e.op(e.owner, "add", x, x)
		drop(x, y)
	}},
	{"into data", func(e *shop) {
		x := e.up(e.owner, 1, 2)
		y := e.op(e.owner, "add", x, x)
		e.want(y, 2, 4)
		drop(x, y)
	}},
	{"clone and drop", func(e *shop) {
		x := e.up(e.owner, 1, 2)
		y := e.clone(e.owner, x)
		drop(x)
		e.want(y, 1, 2)
		drop(y)
	}},
	{"shared, then the owner drops", func(e *shop) {
		x := e.up(e.owner, 1, 2)
		y := e.op(e.peer, "add", x, x)
		e.want(y, 2, 4)
		drop(y, x)
	}},
	{"the owner drops first", func(e *shop) {
		x := e.up(e.owner, 1, 2)
		y := e.op(e.peer, "add", x, x)
		drop(x)
		e.want(y, 2, 4)
		drop(y)
	}},
	{"the peer closes first", func(e *shop) {
		x := e.up(e.owner, 1, 2)
		ctx, cancel := context.WithCancel(context.Background())
		s := e.c.NewStream(ctx)
		y := e.op(s, "add", x, x)
		s.Flush()
		drop(y)
		cancel()
		e.want(e.op(e.owner, "neg", x), -1, -2)
		drop(x)
	}},
	{"eight rounds", func(e *shop) {
		for range 8 {
			x := e.up(e.owner, 1, 2)
			y := e.op(e.peer, "add", x, x)
			drop(x)
			e.want(y, 2, 4)
			drop(y)
		}
	}},
	{"three peers", func(e *shop) {
		x := e.up(e.owner, 1, 2)
		for i := range 3 {
			y := e.op(e.c.NewStream(context.Background()), "add", x, x)
			if i%2 == 0 {
				e.want(y, 2, 4)
			}
			drop(y)
		}
		drop(x)
	}},
	{"owner to peer to grandpeer", func(e *shop) {
		x := e.up(e.owner, 1, 2)
		y := e.op(e.peer, "add", x, x)
		z := e.op(e.grand, "mul", y, x)
		drop(x, y)
		e.want(z, 2, 8)
		drop(z)
	}},
	{"a pending computation is shared", func(e *shop) {
		x := e.up(e.owner, 1)
		y := e.op(e.owner, "add", x, x)
		z := e.op(e.peer, "add", y, e.clone(e.peer, y))
		w := e.op(e.peer, "add", z, y)
		e.want(w, 6)
		drop(x, y, z, w)
	}},
	{"an unused clone", func(e *shop) {
		x := e.up(e.owner, 1, 2)
		drop(e.clone(e.peer, x), x)
	}},
	{"the owner keeps using", func(e *shop) {
		x := e.up(e.owner, 1, 2)
		y := e.op(e.peer, "add", x, x)
		z := e.op(e.owner, "mul", x, x)
		e.want(y, 2, 4)
		e.want(z, 1, 4)
		drop(x, y, z)
	}},
	{"two tensors shared", func(e *shop) {
		x, y := e.up(e.owner, 1, 2), e.up(e.owner, 3, 4)
		z := e.op(e.peer, "add", x, y)
		drop(x, y)
		e.want(z, 4, 6)
		drop(z)
	}},
	{"int", func(e *shop) {
		x := e.up(e.owner, 1, 2)
		i := e.with(e.owner, "cast", []any{"dtype", ir.I32}, x)
		y := e.op(e.peer, "add", i, i)
		drop(x, i)
		e.want(y, 2, 4)
		drop(y)
	}},
	{"a chain on the peer", func(e *shop) {
		x := e.up(e.owner, 1, 2)
		y := x
		for range 5 {
			z := e.op(e.peer, "add", y, x)
			if y != x {
				drop(y)
			}
			y = z
		}
		drop(x)
		e.want(y, 6, 12)
		drop(y)
	}},
	{"round trip", func(e *shop) {
		x := e.up(e.owner, 1, 2)
		y := e.op(e.peer, "add", x, x)
		z := e.op(e.owner, "add", y, x)
		drop(x, y)
		e.want(z, 3, 6)
		drop(z)
	}},
	{"into data across streams without a clone", func(e *shop) {
		x := e.up(e.owner, 1, 2)
		y := e.op(e.owner, "add", x, x)
		done := make(chan struct{})
		go func() {
			defer close(done)
			e.want(y, 2, 4)
			drop(y)
		}()
		<-done
		drop(x)
	}},
	{"the same source thrice", func(e *shop) {
		x := e.up(e.owner, 1, 2)
		for range 3 {
			y := e.op(e.peer, "add", e.op(e.peer, "neg", x), x)
			e.want(y, 0, 0)
			drop(y)
		}
		drop(x)
	}},
	{"values of peer and owner agree", func(e *shop) {
		x, h := e.up(e.owner, 10), e.up(e.owner, 0.5)
		y := e.op(e.peer, "add", x, h)
		e.want(y, 10.5)
		e.want(x, 10)
		drop(x, y, h)
	}},
	{"bool", func(e *shop) {
		x, y := e.up(e.owner, 1, 2), e.up(e.owner, 2, 1)
		b := e.op(e.owner, "lt", x, y)
		n := e.op(e.peer, "not", b)
		drop(x, y, b)
		e.want(n, 0, 1)
		drop(n)
	}},
	{"slice view", func(e *shop) {
		x := e.up(e.owner, 1, 2, 3)
		v := e.with(e.owner, "slice", []any{"starts", []int{1}, "sizes", []int{2}, "steps", []int{1}}, x)
		e.owner.Flush()
		drop(x)
		y := e.op(e.peer, "add", v, v)
		e.want(v, 2, 3)
		drop(v)
		e.want(y, 4, 6)
		drop(y)
	}},
	{"eight peers", func(e *shop) {
		x := e.up(e.owner, 1, 2)
		var ys []*fusion.Value
		for range 8 {
			ys = append(ys, e.op(e.c.NewStream(context.Background()), "add", x, x))
		}
		drop(x)
		for _, y := range ys {
			e.want(y, 2, 4)
		}
		drop(ys...)
	}},
	{"four threads", func(e *shop) {
		x := e.up(e.owner, 1, 2)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				y := e.op(e.c.NewStream(context.Background()), "add", x, x)
				e.want(y, 2, 4)
				drop(y)
			})
		}
		wg.Wait()
		drop(x)
	}},
	{"the peer shares again", func(e *shop) {
		x := e.up(e.owner, 1)
		y := e.clone(e.peer, x)
		z := e.clone(e.grand, y)
		drop(x)
		two := e.op(e.grand, "add", z, z)
		four := e.op(e.grand, "add", two, two)
		w := e.op(e.peer, "add", four, e.op(e.peer, "add", y, y))
		e.want(w, 6)
		drop(y, z, two, four, w)
	}},
	{"pending work on both", func(e *shop) {
		x := e.up(e.owner, 1, 2)
		y := e.op(e.owner, "add", x, x)
		z := e.op(e.peer, "mul", x, x)
		w := e.op(e.peer, "add", z, y)
		drop(x, y, z)
		e.want(w, 3, 8)
		drop(w)
	}},
	{"a cross-stream transaction", func(e *shop) {
		x := e.up(e.owner, 1)
		y, z := e.op(e.owner, "add", x, x), e.op(e.peer, "add", x, x)
		data, errs, err := e.c.ReadValues(context.Background(), []*fusion.Value{y, z})
		if err != nil || errs[0] != nil || errs[1] != nil {
			e.t.Error(err, errs)
		} else if string(data[0].Bytes) != string(data[1].Bytes) {
			e.t.Errorf("% x and % x", data[0].Bytes, data[1].Bytes)
		}
		w := e.op(e.grand, "add", y, z)
		e.want(w, 4)
		drop(x, y, z, w)
	}},
}

func TestScenariosLeaks(t *testing.T) {
	if len(leaks) != 26 {
		t.Errorf("%d cases, the source has 26", len(leaks))
	}
	for _, c := range leaks {
		t.Run(c.name, func(t *testing.T) {
			e := newShop(t)
			c.run(e)
			// What a case left unnamed goes with the collector.
			for try := 0; try < 20 && e.tensors() > 0; try++ {
				collectGarbage()
			}
			if n := e.tensors(); n != 0 {
				t.Errorf("%d tensors are left", n)
			}
		})
	}
}

// Scenarios of several threads: each makes a tensor and drops, consumes or leaves
// it, and waits for the device or not.
func TestScenariosThreads(t *testing.T) {
	for _, what := range []string{"dropped", "consumed", "no op"} {
		for _, wait := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, wait %v", what, wait), func(t *testing.T) {
				e := newShop(t)
				x := e.up(e.owner, 1, 2)
				var wg sync.WaitGroup
				for range 3 {
					wg.Go(func() {
						s := e.c.NewStream(context.Background())
						switch what {
						case "dropped":
							drop(e.op(s, "add", x, x))
						case "consumed":
							y := e.op(s, "add", x, x)
							e.want(y, 2, 4)
							drop(y)
						}
						if wait {
							if err := e.c.Sync(context.Background()); err != nil {
								t.Error(err)
							}
						}
					})
				}
				wg.Wait()
				e.want(x, 1, 2)
				drop(x)
				if n := e.tensors(); n != 0 {
					t.Errorf("%d tensors are left", n)
				}
			})
		}
	}
}
