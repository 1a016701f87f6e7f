package workload

import (
	"context"
	"errors"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// TestNames: every workload has a name of its own, by which it is found, and a cost.
func TestNames(t *testing.T) {
	for _, k := range []Kind{CPU, GPU} {
		seen, quick := map[string]bool{}, map[string]bool{}
		for _, w := range k.All() {
			if seen[w.Name()] {
				t.Errorf("two workloads are %s", w.Name())
			}
			seen[w.Name()] = true
			quick[w.Op] = quick[w.Op] || w.Quick
			found, err := k.Select([]string{w.Name()})
			if err != nil || len(found) != 1 {
				t.Errorf("%s: found %d, %v", w.Name(), len(found), err)
			}
			if w.Cost.Bytes <= 0 || w.Cost.Moves == "" || (w.Cost.Work > 0) != (w.Cost.Unit != "") {
				t.Errorf("%s costs %+v", w.Name(), w.Cost)
			}
		}
		for op, has := range quick {
			if !has && k == GPU {
				t.Errorf("%s has no quick workload", op)
			}
		}
	}
	for _, op := range []string{"softmax", "rows", "matmul*", "conv2d/8x*"} {
		if found, err := Select([]string{op}); err != nil || len(found) == 0 {
			t.Errorf("%s: found %d, %v", op, len(found), err)
		}
	}
	for _, op := range []string{"no-such", "[", "", "linear_gelu"} {
		if _, err := Select([]string{op}); !errors.Is(err, ir.ErrArgument) {
			t.Errorf("%q: %v, expected an error of an argument", op, err)
		}
	}
	for _, op := range []string{"no-such", "conv2d"} {
		if _, err := GPU.Select([]string{op}); !errors.Is(err, ir.ErrArgument) {
			t.Errorf("%q on a GPU: %v, expected an error of an argument", op, err)
		}
	}
	if c := Copy(1 << 20).Cost; c.Bytes != 1<<20 {
		t.Errorf("a copy of 1 MiB moves %d bytes", c.Bytes)
	}
}

// TestGPUSteps runs the workloads of a GPU in miniature: their operations take the
// dtypes and the forms of shapes.
func TestGPUSteps(t *testing.T) {
	d, err := sinter.NewRuntime().Device("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, w := range append(GPU.All(), Copy(1<<10)) {
		t.Run(w.Name(), func(t *testing.T) {
			small := *w
			small.Sizes = nil
			for _, n := range w.Sizes {
				small.Sizes = append(small.Sizes, min(n, 32))
			}
			if w.of.tiny != nil {
				small.Sizes = w.of.tiny
			}
			r := small.Prepare(d)
			defer r.Release()
			if err := errors.Join(r.Step(), r.Step(), d.Sync(context.Background())); err != nil {
				t.Fatal(err)
			}
			for range 5 {
				if err := r.Again(); err != nil {
					t.Fatal(err)
				}
			}
			if st := r.captured.Stats(); !st.Captured {
				t.Errorf("a step is not replayed: %+v", st)
			}
		})
	}
}

// TestSteps runs the quick ones twice.
func TestSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	d, err := sinter.NewRuntime().Device("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ctx := context.Background()
	for _, w := range All() {
		if !w.Quick || w.Cost.Work > 1e9 {
			continue
		}
		t.Run(w.Name(), func(t *testing.T) {
			r := w.Prepare(d)
			defer r.Release()
			for range 2 {
				if err := r.Step(); err != nil {
					t.Fatal(err)
				}
			}
			if err := d.Sync(ctx); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestModels: what is a function becomes a model, with the inputs that it takes.
func TestModels(t *testing.T) {
	for _, w := range All() {
		if !w.Quick || w.of.call == nil || w.Cost.Bytes > 64<<20 {
			continue
		}
		b, inputs, err := w.Model(context.Background())
		if err != nil || len(b) == 0 || len(inputs) == 0 {
			t.Errorf("%s: %d bytes, %d inputs, %v", w.Name(), len(b), len(inputs), err)
		}
	}
}

// TestStepsRun: a step computes its results although it gives them up, and the same
// number of kernels each time.
func TestStepsRun(t *testing.T) {
	d, err := sinter.NewRuntime().Device("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	counting, ok := backend.As[backend.Counting](d.Backend())
	if !ok {
		t.Fatal("the device does not count")
	}
	ctx := context.Background()
	found, err := Select([]string{"sigmoid/4k", "adam/4k", "softmax/1024x1024", "chain10", "train_mlp", "matvec_q4"})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range found {
		r := w.Prepare(d)
		kernels := func() int64 {
			before := counting.Counters()
			if err := errors.Join(r.Step(), d.Sync(ctx)); err != nil {
				t.Fatal(err)
			}
			after := counting.Counters()
			return after.Kernels - before.Kernels + after.Routines - before.Routines
		}
		for range 4 { // plans settle once values are known to be needed
			kernels()
		}
		if a, b := kernels(), kernels(); a == 0 || a != b {
			t.Errorf("%s: %d kernels in one step, %d in the next", w.Name(), a, b)
		}
		r.Release()
	}
}
