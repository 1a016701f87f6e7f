package fusion_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
)

// routine is a program of elementwise operations on vectors, that goes round after round
// with variations, with what its values must be.
type routine struct {
	*recorder
	rng   *rand.Rand
	other *fusion.Stream // that some leaves are of
	steps []routineStep

	constants map[float32]*fusion.Value
	repeats   int64 // as of the last look
}

// routineStep is an operation on earlier values: leaves first, then results.
type routineStep struct {
	row    string
	a, b   int
	number float32 // if b is below 0
}

// known is a value with what it must be.
type known struct {
	v    *fusion.Value
	want []float32
}

const routineLeaves = 4

func newRoutine(t *testing.T, seed uint64, n int) *routine {
	r := &routine{recorder: newRecorder(t, fusion.Options{Small: -1, MaxOps: 24}), rng: rand.New(rand.NewPCG(seed, 1)), constants: map[float32]*fusion.Value{}}
	r.other = r.c.NewStream(context.Background())
	for i := range n {
		r.steps = append(r.steps, r.step(routineLeaves+i))
	}
	return r
}

// repeated reports whether something was recorded again as it was since the last look.
func (r *routine) repeated() bool {
	n := r.c.Stats().Repeats
	defer func() { r.repeats = n }()
	return n > r.repeats
}

// step makes an operation on n values: mostly late ones, so that chains arise, else on any,
// so that some operations begin apart.
func (r *routine) step(n int) routineStep {
	pick := func() int {
		if r.rng.IntN(3) == 0 {
			return r.rng.IntN(n)
		}
		return n - 1 - r.rng.IntN(min(n, 3))
	}
	s := routineStep{row: []string{"add", "sub", "mul", "maximum", "neg"}[r.rng.IntN(5)], a: pick(), b: pick()}
	if r.rng.IntN(4) == 0 {
		s.b, s.number = -1, float32(r.rng.IntN(3))-1.5
	}
	return s
}

func apply(row string, x, z float32) float32 {
	switch row {
	case "add":
		return x + z
	case "sub":
		return x - z
	case "mul":
		return x * z
	case "maximum":
		if x != x || z != z {
			return float32(math.NaN())
		}
		return max(x, z)
	}
	return -x
}

// constant returns a constant, mostly the one of last time.
func (r *routine) constant(x float32) *fusion.Value {
	if v := r.constants[x]; v != nil && r.rng.IntN(8) > 0 {
		return v
	}
	v, err := r.s.Constant(ir.Scalar{DType: ir.F32, Bits: uint64(math.Float32bits(x))})
	if err != nil {
		r.t.Fatal(err)
	}
	r.constants[x] = v
	return v
}

func (r *routine) leaf(s *fusion.Stream, n int) known {
	k := known{want: make([]float32, n)}
	for i := range k.want {
		k.want[i] = float32(r.rng.IntN(9)-4) / 4
	}
	v, err := s.Upload(ir.Type{DType: ir.F32, Shape: ir.Shape{n}}, f32Bytes(k.want...))
	if err != nil {
		r.t.Fatal(err)
	}
	k.v = v
	return k
}

// do records a step, in a group if that is not nil.
func (r *routine) do(s routineStep, values []known, g *fusion.Group) known {
	x := values[s.a]
	in := []*fusion.Value{x.v}
	out := known{v: new(fusion.Value), want: make([]float32, len(x.want))}
	switch {
	case s.row == "neg":
	case s.b < 0:
		in = append(in, r.constant(s.number))
	default:
		in = append(in, values[s.b].v)
	}
	for i := range out.want {
		z := s.number
		if s.b >= 0 {
			z = values[s.b].want[i]
		}
		out.want[i] = apply(s.row, x.want[i], z)
	}
	row := ir.Lookup(s.row)
	if err := r.s.Record(fusion.OpOf(row, nil), nil, in, nil, []*fusion.Value{out.v}, g, func() ir.Site { return ir.Site{Text: s.row} }); err != nil {
		r.t.Fatal(err)
	}
	return out
}

// fails records an operation that must not be recorded.
func (r *routine) fails(x, z known) {
	row := ir.Lookup("add")
	err := r.s.Record(fusion.OpOf(row, nil), nil, []*fusion.Value{x.v, z.v}, nil, []*fusion.Value{new(fusion.Value)}, nil, func() ir.Site { return ir.Site{} })
	if !errors.Is(err, ir.ErrShape) {
		r.t.Errorf("shapes %v and %v: %v", x.v.Type(), z.v.Type(), err)
	}
}

func (r *routine) check(what string, list ...known) {
	r.t.Helper()
	vs := make([]*fusion.Value, len(list))
	for i := range list {
		vs[i] = list[i].v
	}
	for i, b := range r.read(vs...) {
		for j, want := range list[i].want {
			got := math.Float32frombits(binary.NativeEndian.Uint32(b[4*j:]))
			if math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
				r.t.Fatalf("%s: element %d of value %d is %v, want %v", what, j, i, got, want)
			}
		}
	}
}

// TestRoutines: what is recorded again and again, with variations at any place, has the
// values that it must have, whatever of the last time is taken over.
func TestRoutines(t *testing.T) {
	programs, rounds := 60, 30
	if testing.Short() {
		programs = 12
	}
	repeated := 0
	for seed := range programs {
		r := newRoutine(t, uint64(seed), 4+seed%28)
		leaves := make([]known, routineLeaves)
		odd := r.leaf(r.s, 7)
		size := 0
		for round := range rounds {
			what := fmt.Sprintf("program %d, round %d", seed, round)
			chance := func(n int) bool { return round%6 >= 3 && r.rng.IntN(n) == 0 } // then the same for a while
			if size == 0 || chance(8) {
				size = 3 + r.rng.IntN(2)
				clear(leaves)
			}
			for i := range leaves {
				if leaves[i].v != nil && !chance(4) {
					continue
				}
				from := r.s
				if chance(4) {
					from = r.other
				}
				leaves[i] = r.leaf(from, size)
			}
			if chance(8) {
				leaves[1] = leaves[0]
			}
			steps := slices.Clone(r.steps)
			if chance(4) {
				at := r.rng.IntN(len(steps))
				steps[at] = r.step(routineLeaves + at)
			}
			if chance(3) {
				for i := range steps {
					steps[i].number *= 1.5
				}
			}
			if chance(6) {
				steps = steps[:1+r.rng.IntN(len(steps))]
			}
			var g *fusion.Group
			if seed%2 == 0 {
				g = r.s.NewGroup()
			}
			values := slices.Clone(leaves)
			for _, s := range steps {
				if chance(30) {
					r.fails(values[r.rng.IntN(len(values))], odd)
				}
				values = append(values, r.do(s, values, g))
				if chance(30) {
					r.check(what+", half-way", values[routineLeaves+r.rng.IntN(len(values)-routineLeaves)])
				}
			}
			results := values[routineLeaves:]
			last := results[len(results)-1]
			if chance(3) {
				r.check(what, last, results[r.rng.IntN(len(results))], results[r.rng.IntN(len(results))])
			} else {
				r.check(what, last)
			}
			if r.repeated() {
				repeated++
			}
			if chance(3) { // the next round goes on from here
				if err := last.v.Store(); err != nil {
					t.Fatal(err)
				}
				leaves[r.rng.IntN(routineLeaves)] = known{last.v, last.want}
				if g != nil {
					g.Remove(last.v)
				}
			}
			if g == nil {
				r.s.Flush()
			} else {
				g.End(true)
			}
		}
	}
	if repeated < programs*rounds/5 {
		t.Errorf("%d of %d rounds were repetitions", repeated, programs*rounds)
	}
}

// TestRepeats: parts that begin apart, in whatever number, and constants with other numbers
// do not keep a recording from being known for a repetition; other sizes, another operation
// and a result that is used another time do.
func TestRepeats(t *testing.T) {
	r := newRoutine(t, 1, 0)
	grads := []known{r.leaf(r.s, 5), r.leaf(r.s, 5), r.leaf(r.s, 5)}
	leaves := []known{r.leaf(r.s, 5), r.leaf(r.s, 5), r.leaf(r.s, 5)}
	// step is the step of an optimizer: three parts that nothing joins, of two each that a
	// sum does.
	step := func(rate float32, change func(i int, s []routineStep)) {
		g := r.s.NewGroup()
		for i := range leaves {
			values := []known{leaves[i], grads[i]}
			steps := []routineStep{{"mul", 0, -1, 0.5}, {"mul", 1, -1, rate}, {"add", 2, 3, 0}, {"neg", 4, 0, 0}, {"sub", 4, 5, 0}}
			if change != nil {
				change(i, steps)
			}
			for _, s := range steps {
				values = append(values, r.do(s, values, g))
			}
			leaves[i] = values[len(values)-1]
			g.Remove(leaves[i].v)
		}
		r.repeated()
		g.End(true)
		r.check("a step", leaves...)
	}
	for range 4 {
		step(0.25, nil)
	}
	for i := range 3 {
		if step(0.25, nil); !r.repeated() {
			t.Errorf("step %d was no repetition", i)
		}
	}
	if step(0.125, nil); !r.repeated() {
		t.Error("a step with another number was no repetition")
	}
	for name, change := range map[string]func(i int, s []routineStep){
		"operation": func(i int, s []routineStep) {
			if i == 1 {
				s[3].row, s[3].b = "maximum", 0
			}
		},
		"operand": func(i int, s []routineStep) {
			if i == 2 {
				s[4].b = 2
			}
		},
	} {
		if step(0.25, change); r.repeated() {
			t.Errorf("a step with another %s was taken for a repetition", name)
		}
		step(0.25, nil) // what comes after that is new
		step(0.25, nil) // and so is that it comes after itself
		if step(0.25, nil); !r.repeated() {
			t.Errorf("the step after that with another %s was no repetition", name)
		}
	}
	for i := range leaves {
		leaves[i], grads[i] = r.leaf(r.s, 6), r.leaf(r.s, 6)
	}
	if step(0.25, nil); r.repeated() {
		t.Error("a step on other sizes was taken for a repetition")
	}
	grads[1] = grads[0]
	if step(0.25, nil); r.repeated() {
		t.Error("a step on fewer tensors was taken for a repetition")
	}
}

// TestRepeatedSites: an operation that is recorded again has the line of the last time, but
// for one that may fail: it is asked for its line each time.
func TestRepeatedSites(t *testing.T) {
	r := newRoutine(t, 1, 0)
	x := r.floats(1, 2, 3)
	asked := map[string]int{}
	record := func(row string, in ...*fusion.Value) *fusion.Value {
		y := new(fusion.Value)
		err := r.s.Record(fusion.OpOf(ir.Lookup(row), nil), nil, in, nil, []*fusion.Value{y}, nil, func() ir.Site {
			asked[row]++
			return ir.Site{Text: row}
		})
		if err != nil {
			t.Fatal(err)
		}
		return y
	}
	one, err := r.s.Upload(ir.Type{DType: ir.I32, Shape: ir.Shape{1}}, []byte{1, 0, 0, 0})
	if err != nil {
		t.Fatal(err)
	}
	rounds := 12
	for range rounds {
		y := record("mul", record("add", x, x), x)
		z := record("fmod", record("neg", one), one)
		r.read(y, z)
		y.Release()
		z.Release()
	}
	if !r.repeated() {
		t.Error("the last round was no repetition")
	}
	if asked["add"] > 2 || asked["mul"] > 2 {
		t.Errorf("asked %v in %d rounds", asked, rounds)
	}
	if asked["fmod"] != rounds {
		t.Errorf("asked %d times in %d rounds for the line of what may fail", asked["fmod"], rounds)
	}
}

// TestRepeatAllocates: recording what was recorded before allocates nothing per operation
// but what the caller allocates.
func TestRepeatAllocates(t *testing.T) {
	const n = 100
	c := fusion.New(null{})
	s := c.Stream()
	typ := ir.Type{DType: ir.F32, Shape: ir.Shape{4}}
	x, err := s.Upload(typ, make([]byte, 16))
	if err != nil {
		t.Fatal(err)
	}
	add := fusion.OpOf(ir.Lookup("add"), nil)
	site := func() ir.Site { return ir.Site{} }
	step := func() {
		values := make([]fusion.Value, n)
		in, out := [2]*fusion.Value{x, x}, [1]*fusion.Value{}
		g := s.NewGroup()
		for i := range values {
			out[0] = &values[i]
			if err := s.Record(add, nil, in[:], nil, out[:], g, site); err != nil {
				t.Fatal(err)
			}
			in[0] = out[0]
		}
		g.End(true)
	}
	for range 5 {
		step()
	}
	if a := testing.AllocsPerRun(20, step); a > 16 {
		t.Errorf("%v allocations for %d operations", a, n)
	}
}

// TestRepeatGoroutines: goroutines that record the same on one stream get their own values.
func TestRepeatGoroutines(t *testing.T) {
	r := newRoutine(t, 3, 12)
	x := r.leaf(r.s, 4)
	var wg sync.WaitGroup
	for k := range 4 {
		q := *r
		q.rng = rand.New(rand.NewPCG(uint64(k), 2))
		q.constants = map[float32]*fusion.Value{}
		wg.Go(func() {
			for round := range 40 {
				g := q.s.NewGroup()
				own := q.leaf(q.s, 4)
				values := []known{own, x, own, x}
				for _, s := range q.steps {
					values = append(values, q.do(s, values, g))
				}
				q.check(fmt.Sprintf("goroutine %d, round %d", k, round), values[len(values)-1], values[len(values)-4])
				g.End(round%2 == 0)
				own.v.Release()
			}
		})
	}
	wg.Wait()
}
