package fusion_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
)

func f32Bytes(x ...float32) []byte {
	var b []byte
	for _, v := range x {
		b = binary.NativeEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func f32Of(b []byte) []float32 {
	out := make([]float32, len(b)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.NativeEndian.Uint32(b[4*i:]))
	}
	return out
}

func (r *recorder) floats(x ...float32) *fusion.Value {
	r.t.Helper()
	v, err := r.s.Upload(ir.Type{DType: ir.F32, Shape: ir.Shape{len(x)}}, f32Bytes(x...))
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

func captureReason(err error) fusion.CaptureReason {
	var r *fusion.CaptureRefused
	if errors.As(err, &r) {
		return r.Reason
	}
	return ""
}

// TestCapture: captured work runs on other inputs, in two segments, with a constant
// and an input that it consumes; where a guard fails, nothing runs.
func TestCapture(t *testing.T) {
	r := newRecorder(t, fusion.Options{})
	type vs = []*fusion.Value
	c := r.floats(10, 20, 30) // a constant of the work
	round := func(x, w *fusion.Value) (*fusion.Launches, *fusion.Value, *fusion.Value) {
		k, err := r.s.StartCapture()
		if err != nil {
			t.Fatal(err)
		}
		y := r.do("add", vs{r.do("mul", vs{x, w}), c})
		r.s.Flush()
		w2 := r.do("sub", vs{w, r.do("exp", vs{y})}) // reads a result of the first segment
		l, err := k.Stop(vs{x, w}, vs{w2, y}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return l, w2, y
	}
	x, w := r.floats(1, 2, 3), r.floats(.5, .25, -2)
	a, w2, y := round(x, w)
	b, _, _ := round(x, w)
	if err := a.Unlike(b); err != nil {
		t.Fatal(err)
	}
	want := r.read(w2, y)
	before := r.c.Stats()
	for _, consume := range []bool{false, true} {
		w3 := r.floats(.5, .25, -2)
		out, err := a.Replay(vs{x, w3}, []bool{false, consume}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.read(out...); string(got[0]) != string(want[0]) || string(got[1]) != string(want[1]) {
			t.Errorf("replayed %v, %v; recorded %v, %v", f32Of(got[0]), f32Of(got[1]), f32Of(want[0]), f32Of(want[1]))
		}
		if w3.Released() != consume {
			t.Errorf("consume %v, released %v", consume, w3.Released())
		}
	}
	if after := r.c.Stats(); after.Hits != before.Hits || after.Searches != before.Searches {
		t.Errorf("a replay looks for plans: %+v, before %+v", after, before)
	}
	out, err := a.Replay(vs{r.floats(4, 4, 4), r.floats(0, 1, 2)}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := f32Of(r.read(out[1])[0]); got[0] != 10 || got[1] != 24 || got[2] != 38 {
		t.Errorf("other inputs give %v, want [10 24 38]", got)
	}
	gone := r.floats(1, 1, 1)
	gone.Release()
	view := r.do("slice", vs{r.floats(1, 2, 3, 4)}, "starts", []int{1}, "sizes", []int{3}, "steps", []int{1})
	for _, g := range []struct {
		in   vs
		want fusion.CaptureReason
	}{
		{vs{x}, fusion.CaptureInput},
		{vs{r.floats(1, 2), w}, fusion.CaptureInput},
		{vs{view, w}, fusion.CaptureInput},
		{vs{gone, w}, fusion.CaptureReleased},
	} {
		if _, err := a.Replay(g.in, nil, nil); captureReason(err) != g.want {
			t.Errorf("got %v, want %q", err, g.want)
		}
	}
	a.Release()
	if _, err := a.Replay(vs{x, w}, nil, nil); err != nil && captureReason(err) != fusion.CaptureReleased {
		t.Error(err)
	}
}

// TestCaptureRefused: reads, other scalars, and data that is new in each round.
func TestCaptureRefused(t *testing.T) {
	r := newRecorder(t, fusion.Options{})
	type vs = []*fusion.Value
	x := r.floats(1, 2)
	start := func() *fusion.Capture {
		k, err := r.s.StartCapture()
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	k := start()
	if _, err := r.s.StartCapture(); captureReason(err) != fusion.CaptureBusy {
		t.Errorf("two at a time: %v", err)
	}
	y := r.do("neg", vs{x})
	r.read(y)
	if _, err := k.Stop(vs{x}, vs{y}, nil, nil); captureReason(err) != fusion.CaptureRead {
		t.Errorf("a read: %v", err)
	}
	k = start()
	r.read(x) // stored: nothing runs, and yet the host knows it
	if _, err := k.Stop(vs{x}, nil, nil, nil); captureReason(err) != fusion.CaptureRead {
		t.Errorf("a read of what is stored: %v", err)
	}
	capture := func(f func() *fusion.Value) *fusion.Launches {
		k := start()
		y := f()
		l, err := k.Stop(vs{x}, vs{y}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	n := 0.0
	scalar := func() *fusion.Value {
		n++
		one := r.do("full", nil, "shape", []int{2}, "dtype", ir.F32, "value", ir.Scalar{DType: ir.F32, Bits: uint64(math.Float32bits(float32(n)))})
		return r.do("add", vs{x, one})
	}
	if err := capture(scalar).Unlike(capture(scalar)); captureReason(err) != fusion.CaptureUnlike {
		t.Errorf("another scalar: %v", err)
	}
	data := func() *fusion.Value { return r.do("add", vs{x, r.floats(1, 2)}) }
	if err := capture(data).Unlike(capture(data)); captureReason(err) != fusion.CaptureUnlike {
		t.Errorf("new data: %v", err)
	}
	o := newRecorder(t, fusion.Options{Oracle: true})
	if _, err := o.s.StartCapture(); captureReason(err) != fusion.CaptureOracle {
		t.Errorf("oracle mode: %v", err)
	}
}

// TestCapturer: the capability of backends, by a client whose device has none.
func TestCapturer(t *testing.T) {
	c := planClient(t, fusion.Options{}, cpu.Options{})
	g, ok := backend.As[backend.Capturer](c)
	if !ok {
		t.Fatal("the client captures nothing")
	}
	ctx := context.Background()
	typ := ir.Type{DType: ir.F32, Shape: ir.Shape{3}}
	tensor := func(id ir.ID) ir.Tensor { return ir.Tensor{ID: id, Type: typ} }
	node := func(row string, out ir.ID, in ...ir.ID) ir.Node {
		n := ir.Node{Row: ir.Lookup(row), Out: []ir.Tensor{tensor(out)}}
		for _, id := range in {
			n.In = append(n.In, tensor(id))
		}
		return n
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	read := func(id ir.ID) []float32 {
		t.Helper()
		data, errs, err := c.Read(ctx, id)
		must(err)
		must(errs[0])
		return f32Of(data[0].Bytes)
	}
	must(c.Upload(tensor(1), f32Bytes(1, 2, 3)))
	must(c.Submit(ctx, []ir.Node{node("neg", 2, 1)})) // recorded before: no part of the graph
	must(g.CaptureStart())
	must(c.Submit(ctx, []ir.Node{node("add", 3, 1, 2), node("mul", 4, 1, 1), node("add", 5, 3, 4)}))
	c.Free(3, 4)
	graph, err := g.CaptureStop() // what is still recorded belongs to it
	must(err)
	if got := read(5); got[2] != 9 {
		t.Fatalf("captured %v, want [1 4 9]", got)
	}
	c.Free(1)
	must(c.Upload(tensor(1), f32Bytes(5, 6, 7)))
	must(graph.Replay())
	if got := read(5); got[0] != 25-1+5 || got[2] != 49-3+7 {
		t.Errorf("replayed %v, want [29 40 53]", got)
	}
	if _, err := g.CaptureStop(); !errors.Is(err, ir.ErrArgument) {
		t.Errorf("a stop without a start: %v", err)
	}
	c.Free(1)
	if err := graph.Replay(); !errors.Is(err, ir.ErrUnsupported) {
		t.Errorf("a freed input: %v", err)
	}
	graph.Release()
}

// A grapher captures by itself.
type grapher struct {
	*cpu.Device
	log []string
}

func (g *grapher) Launch(ctx context.Context, l []backend.Launch) error {
	g.log = append(g.log, "launch")
	return g.Device.Launch(ctx, l)
}
func (g *grapher) CaptureStart() error { g.log = append(g.log, "start"); return nil }
func (g *grapher) CaptureStop() (backend.Graph, error) {
	g.log = append(g.log, "stop")
	return g, nil
}
func (g *grapher) Replay() error { g.log = append(g.log, "replay"); return nil }
func (g *grapher) Release()      {}

// TestCapturerPassed: drains go before a capture, into it, and before a replay.
func TestCapturerPassed(t *testing.T) {
	d, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	inner := &grapher{Device: d}
	r := &recorder{t: t, c: fusion.New(inner)}
	r.s = r.c.Stream()
	defer r.c.Close()
	g, _ := backend.As[backend.Capturer](r.c)
	x := r.floats(1, 2)
	step := func() { r.do("neg", []*fusion.Value{x}) }
	step()
	if err := g.CaptureStart(); err != nil {
		t.Fatal(err)
	}
	step()
	graph, err := g.CaptureStop()
	if err != nil {
		t.Fatal(err)
	}
	step()
	if err := graph.Replay(); err != nil {
		t.Fatal(err)
	}
	want := []string{"launch", "start", "launch", "stop", "launch", "replay"}
	if len(inner.log) != len(want) {
		t.Fatalf("got %v, want %v", inner.log, want)
	}
	for i := range want {
		if inner.log[i] != want[i] {
			t.Fatalf("got %v, want %v", inner.log, want)
		}
	}
}
