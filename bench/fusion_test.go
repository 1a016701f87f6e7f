package main

import (
	"context"
	"testing"
)

// TestFusedNetworks: networks that learn and infer have the same bits fused and
// unfused, and take fewer launches and bytes, and no more memory at once than one
// operation per kernel would.
func TestFusedNetworks(t *testing.T) {
	ctx := context.Background()
	for _, n := range networks {
		t.Run(n.name, func(t *testing.T) {
			p, err := newPair(n)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.train(ctx, 4); err != nil {
				t.Fatal(err)
			}
			for _, train := range []bool{true, false} {
				var figs [2]figures
				for i, r := range []*digitsRun{p.fused, p.single} {
					f := r.infer
					if train {
						f = r.train
					}
					if figs[i], err = r.figuresOf(ctx, f); err != nil {
						t.Fatal(err)
					}
				}
				f, u := figs[0], figs[1]
				if f.launches >= u.launches || f.bytes >= u.bytes || f.peak > f.baseline {
					t.Errorf("train %v: fused %+v, unfused %+v", train, f, u)
				}
				t.Logf("train %v: fused %+v, unfused %+v", train, f, u)
			}
		})
	}
}
