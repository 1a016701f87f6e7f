package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// masked is the form of an elementwise kernel that chooses between what is there and something
// else, by a condition that is the same along the innermost axis: one position of a cache of
// keys, above all, of which a launch that works in place writes just what changes, and reads
// nothing of the rest. It does not touch bits of NaNs that stay, which a conversion might have.
type masked struct {
	cond   kernel.Ref
	stays  bool       // where the condition holds
	choice kernel.Ref // the selection
	value  kernel.Ref // what comes in place of what is there
	store  kernel.Ref
	old    int // argument that is kept
	out    int
}

// maskedOf returns the form of a kernel, or nil.
func maskedOf(k *kernel.Kernel) *masked {
	f := &masked{store: kernel.None}
	for i := range k.Body {
		if k.Body[i].Op == kernel.OpStore {
			if f.store != kernel.None {
				return nil
			}
			f.store = kernel.Ref(i)
		}
	}
	if f.store == kernel.None || k.HasFault() || len(k.Axes) == 0 {
		return nil
	}
	out := &k.Body[f.store]
	f.out, f.choice = int(out.Imm), out.A
	if in := &k.Body[f.choice]; in.Op == kernel.OpCvt {
		f.choice = in.A
	}
	s := &k.Body[f.choice]
	if s.Op != kernel.OpSelect {
		return nil
	}
	f.cond = s.A
	// kept is the argument whose elements a value is, in another type perhaps which has all of
	// them.
	kept := func(r kernel.Ref) int {
		in := &k.Body[r]
		if in.Op == kernel.OpCvt && in.Type.IsFloat() == out.Type.IsFloat() && in.Type != ir.Bool && in.Type.Size() > out.Type.Size() {
			in = &k.Body[in.A]
		}
		if in.Op != kernel.OpLoad || in.Type != out.Type {
			return -1
		}
		return int(in.Imm)
	}
	if f.old, f.value = kept(s.C), s.B; f.old < 0 {
		f.old, f.value, f.stays = kept(s.B), s.C, true
	}
	if f.old < 0 || varies(k, len(k.Axes)-1)[f.cond] {
		return nil
	}
	a, b := &k.Args[f.old], &k.Args[f.out]
	for axis := range k.Axes {
		if a.Access[axis] != b.Access[axis] || a.Access[axis] == kernel.Broadcast {
			return nil
		}
	}
	for _, r := range []kernel.Ref{f.cond, f.value} {
		for i, needed := range k.Closure(r) {
			if in := &k.Body[i]; needed && in.Op == kernel.OpLoad && int(in.Imm) == f.old {
				return nil
			}
		}
	}
	return f
}

// inItsPlace reports whether a launch has its result where the argument is that is kept. Of one
// whose memory is not known yet it does not.
func (m *Module) inItsPlace(l *kernel.Launch, base []uint64) bool {
	f := m.masked
	if f == nil || base[f.out] == 0 || m.first(l, base, f.old) != m.first(l, base, f.out) {
		return false
	}
	for axis, n := range l.Extents {
		if n > 1 && l.Args[f.old].Strides[axis] != l.Args[f.out].Strides[axis] {
			return false
		}
	}
	return true
}

// emitMasked writes the entry of one that works in place, see emitElementwise: vectors end with
// the innermost axis.
func emitMasked(k *kernel.Kernel, f *masked, width int) (*emitter, error) {
	e := newEmitter(k)
	e.setInnermostDepths()
	e.along = len(k.Axes) - 1
	item := e.threadItem(elementwiseThreads)
	done := e.label()
	e.opIf(e.to(pred, "setp.ge.u64", item, e.slotReg(slotItems, 0, 0)), "bra", done)
	first := e.locate(item, width)
	if err := e.evalOuter(0); err != nil {
		return nil, err
	}
	cond := e.outer[f.cond]
	if f.stays {
		e.opIf(cond, "bra", done)
	} else {
		e.opUnless(cond, "bra", done)
	}
	t := e.vectorAt(width, first, 0)
	var refs []kernel.Ref
	for i, needed := range k.Closure(f.value) {
		if needed && e.depth[i] >= elementDepth {
			refs = append(refs, kernel.Ref(i))
		}
	}
	if err := e.evalTile(refs, t); err != nil {
		return nil, err
	}
	for l := range width {
		t.vals[f.choice] = append(t.vals[f.choice], e.value(f.value, t, l))
	}
	last := []kernel.Ref{f.store}
	if r := k.Body[f.store].A; r != f.choice {
		last = []kernel.Ref{r, f.store}
	}
	if err := e.evalTile(last, t); err != nil {
		return nil, err
	}
	e.place(done)
	return e, nil
}

func (m *Module) maskedEntry(width int) (*Entry, error) {
	return m.entry(fmt.Sprintf("v%d_masked", width), elementwiseThreads, func() (*emitter, error) { return emitMasked(m.k, m.masked, width) })
}
