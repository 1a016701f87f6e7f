package ptx

import (
	"strings"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
)

// TestLookedUp runs activations with tables, of one vector and of several turns, with rows
// whose last vector is not whole.
func TestLookedUp(t *testing.T) {
	var specs []ptxtest.Spec
	specs = append(specs, ptxtest.Activations(20021)...)
	specs = append(specs, ptxtest.Activations(7, 2504)[:2]...)
	specs = append(specs, ptxtest.Activations(1200, 24)[0])
	for _, s := range specs {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			c := s.Make()
			want, err := c.Reference(1)
			if err != nil {
				t.Fatal(err)
			}
			m, err := Generate(c.Kernel, Target{Major: 9, Multiprocessors: 2})
			if err != nil {
				t.Fatal(err)
			}
			m.lookupFrom = 0
			names := simulate(t, c, m, want, map[string]bool{})
			if !strings.Contains(names, "looked_up") {
				t.Errorf("not looked up: %s", names)
			}
		})
	}
}

// TestLookupOf: what has a table is the whole of what depends on one number, rounded.
func TestLookupOf(t *testing.T) {
	gelu := ptxtest.Activations(100)[0].Shape().Kernel
	e := newEmitter(gelu)
	e.setInnermostDepths()
	l := lookupOf(gelu, e.depth)
	if l == nil || gelu.Body[l.in].Type != ir.BF16 || gelu.Body[l.out].Type != ir.BF16 {
		t.Fatalf("%+v\n%s", l, gelu)
	}
	if in := gelu.Body[gelu.Body[l.in].A]; in.Op != kernel.OpAdd {
		t.Errorf("a function of %s", in.Op)
	}
	for _, s := range ptxtest.Elementwise(100) {
		if strings.HasPrefix(s.Name, "chain") || strings.HasPrefix(s.Name, "long chain") {
			k := s.Shape().Kernel
			e := newEmitter(k)
			e.setInnermostDepths()
			if l := lookupOf(k, e.depth); l != nil {
				t.Errorf("%s: a table for %+v", s.Name, l)
			}
		}
	}
}
