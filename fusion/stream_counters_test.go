package fusion_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/irtest"
)

// TestNeverWorse: over random programs, what plans say is within what one operation
// per kernel takes, and what the device counts is what the plans say: as many
// launches, as many bytes written, and no more launches or bytes than when the same
// program runs unfused.
func TestNeverWorse(t *testing.T) {
	programs := 1500
	if testing.Short() {
		programs = 150
	}
	fused := newRecorder(t, fusion.Options{})
	single := newRecorder(t, fusion.Options{Plan: fusion.PlanOptions{Unfused: true}})
	var rows []*ir.Row // those that become kernels on every device
	for _, x := range ir.Rows() {
		switch x.Access {
		case ir.Elementwise, ir.View, ir.Join, ir.Reduce, ir.Random:
			if x.Decompose == nil && x.Effects == 0 {
				rows = append(rows, x)
			}
		}
	}
	type sums struct{ launches, read, written, nodes int64 }
	run := func(r *recorder, seed uint64) (planned, done sums) {
		p := irtest.Random(rand.New(rand.NewPCG(seed, 31)), irtest.Options{Nodes: 20, MaxElements: []int{300, 20000}[seed%2], Rows: rows})
		inputs := irtest.InputData(rand.New(rand.NewPCG(seed, 32)), p, 0)
		count, _ := backend.As[backend.Counting](r.c)
		stop := r.c.Inspect(func(x fusion.Run) {
			f, u := x.Plan.Fused, x.Plan.Unfused
			if f.Launches > u.Launches || f.Read+f.Written > u.Read+u.Written || f.Peak > u.Peak {
				t.Errorf("seed %d: planned %+v, unfused %+v", seed, f, u)
			}
			for i := range x.Plan.Blocks {
				if b := &x.Plan.Blocks[i]; b.Kind == fusion.KernelBlock {
					planned.launches += int64(b.Launches)
					planned.read += b.Read
					planned.written += b.Written
				}
			}
		})
		before := count.Counters()
		values := r.record(p, inputs, nil)
		if err := r.c.Sync(context.Background()); err != nil { // a read would copy what is a view
			t.Fatal(err)
		}
		stop()
		after := count.Counters()
		done = sums{after.Launches - before.Launches, after.BytesRead - before.BytesRead, after.BytesWritten - before.BytesWritten, after.Nodes - before.Nodes}
		if after.Reruns != before.Reruns {
			t.Errorf("seed %d: launches ran again as nodes", seed)
		}
		for _, v := range values {
			v.Release()
		}
		return planned, done
	}
	var all, allSingle sums
	exact := 0
	for seed := range uint64(programs) {
		planned, done := run(fused, seed)
		if done.nodes == 0 {
			exact++
		}
		// What the device runs as nodes, routines and views that are read, counts bytes too.
		if planned.launches != done.launches || done.nodes == 0 && planned.written != done.written {
			t.Errorf("seed %d: planned %+v, done %+v", seed, planned, done)
		}
		_, alone := run(single, seed)
		// The device counts each argument, plans each base: two arguments of one kernel
		// that show one base are one read of it. So reads are compared over all programs.
		if done.launches > alone.launches || done.written > alone.written {
			t.Errorf("seed %d: done %+v, unfused %+v", seed, done, alone)
		}
		all = sums{all.launches + done.launches, all.read + done.read, all.written + done.written, all.nodes + done.nodes}
		allSingle = sums{allSingle.launches + alone.launches, allSingle.read + alone.read, allSingle.written + alone.written, allSingle.nodes + alone.nodes}
	}
	if all.read > allSingle.read {
		t.Errorf("%d bytes are read, unfused %d", all.read, allSingle.read)
	}
	if exact < programs/20 {
		t.Errorf("only %d of %d programs compare bytes exactly", exact, programs)
	}
	t.Logf("%d programs, %d without nodes: %+v, unfused %+v", programs, exact, all, allSingle)
}
