package contract

import (
	"math/rand"
	"testing"

	"github.com/sinter-go/sinter/ir"
)

// TestSaved: saved code gives the same bits, and generates nothing that was saved;
// truncated code is an error.
func TestSaved(t *testing.T) {
	r := rand.New(rand.NewSource(4))
	for _, level := range levels(t) {
		for range 10 {
			s := randomShape(r)
			k := randomKernel(r, s)
			c, err := Compile(k, level)
			if err != nil {
				continue
			}
			agree(t, r, c, launch(values{r, false}, k, randomExtents(r, s)))
			data := c.Save(nil)
			again, err := Load(k, level, data)
			if err != nil {
				t.Fatal(err)
			}
			for i, p := range []*part{c.pack[0], c.pack[1], c.epilogue} {
				if was, is := p.made.Load() != nil, []*part{again.pack[0], again.pack[1], again.epilogue}[i].made.Load() != nil; was != is {
					t.Errorf("part %d: made %v, loaded %v", i, was, is)
				}
			}
			agree(t, r, again, launch(values{r, false}, k, randomExtents(r, s)))
			for n := range len(data) {
				if n%97 == 0 {
					if _, err := Load(k, level, data[:n]); err == nil || ir.AsError(err).Kind != ir.ErrFormat {
						t.Fatalf("%d of %d bytes: %v", n, len(data), err)
					}
				}
			}
		}
	}
}
