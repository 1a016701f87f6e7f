package contract

import (
	"math/rand"
	"testing"
)

// TestBlockings: random contractions give the same bits with any blocking.
func TestBlockings(t *testing.T) {
	n := 60
	if *long {
		n = 10000
	}
	r := rand.New(rand.NewSource(5))
	for range n {
		s := randomShape(r)
		k := randomKernel(r, s)
		for _, level := range levels(t) {
			c, err := Compile(k, level)
			if err != nil {
				continue
			}
			b := Blocking{PackFrom: []int64{0, 1, 20, 256, 5000}[r.Intn(5)], Tiles: 1 + r.Int63n(30), Strips: 1 + r.Int63n(20), PackBytes: 1 << (12 + r.Intn(16))}
			if err := b.Check(); err != nil {
				t.Fatal(err)
			}
			c.SetBlocking(func(p Problem) Blocking {
				if p.Rows < 1 || p.Cols < 1 || p.K < 1 || p.Trips < 1 {
					t.Errorf("%+v", p)
				}
				return b
			})
			agree(t, r, c, launch(values{r, false}, k, randomExtents(r, s)))
		}
	}
	for _, bad := range []Blocking{{}, {PackFrom: -1, Tiles: 1, Strips: 1, PackBytes: 1 << 20}, {Tiles: 1, Strips: 0, PackBytes: 1 << 20}, {Tiles: 1, Strips: 1}} {
		if bad.Check() == nil {
			t.Errorf("%+v is taken for a blocking", bad)
		}
	}
}
