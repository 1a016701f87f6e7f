package cpu

import (
	"slices"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// takeOver returns an entry of the result type in the memory of the tensor that
// a result may overwrite, or nil where the memory cannot be taken: somebody else
// owns it too, it has another size, or a piece may still read what another place
// of the kernel has written.
func (d *Device) takeOver(l *backend.Launch, result ir.Tensor, over ir.ID) *entry {
	o := d.store[over]
	if over == 0 || o == nil || o.err != nil || !slices.Contains(l.Consumes, over) {
		return nil
	}
	b := o.buf
	n := max(result.Bytes(), 1)
	_, size := classOf(n)
	if b.refs != 1 || b.release != nil || int64(cap(b.data)) != size || o.layout.Offset != 0 || !o.contiguous() {
		return nil
	}
	for i := range l.Pieces {
		if !l.Pieces[i].Kernel.(*compiledKernel).mayTake(&l.Pieces[i], result.ID, over, len(l.Pieces) > 1) {
			return nil
		}
	}
	e := &entry{typ: result.Type, layout: ir.Layout{Strides: result.Shape.Strides()}, buf: b}
	d.pool.forget(b) // its contents change
	b.refs++         // until the launch consumes the operand
	if n > int64(len(b.data)) {
		b.data = b.data[:n]
	}
	return e
}

// mayTake reports whether a piece computes the same if the result lies where the
// operand does: it must touch both alike. One of several pieces that reads the
// operand must also be the one that writes there.
func (c *compiledKernel) mayTake(p *backend.Piece, result, over ir.ID, several bool) bool {
	if c.fault { // the nodes might have to run again, over the operand
		return false
	}
	for i := range p.Args {
		if p.Args[i].Tensor.ID != over || c.k.Args[i].Dir != kernel.In {
			continue
		}
		writes := false
		for j := range p.Args {
			if p.Args[j].Tensor.ID != result || c.k.Args[j].Dir != kernel.Out {
				continue
			}
			a, b := &p.Args[i], &p.Args[j]
			if a.Offset != b.Offset || !slices.Equal(a.Strides, b.Strides) || !c.mayOverwrite(i, j) {
				return false
			}
			writes = true
		}
		if several && !writes {
			return false
		}
	}
	return true
}

// mayOverwrite caches what [mayOverwrite] says of a kernel. Only the device
// goroutine calls it.
func (c *compiledKernel) mayOverwrite(in, out int) bool {
	key := [2]int{in, out}
	ok, known := c.overwrite[key]
	if !known {
		if c.overwrite == nil {
			c.overwrite = map[[2]int]bool{}
		}
		ok = mayOverwrite(c.k, in, out)
		c.overwrite[key] = ok
	}
	return ok
}

// mayOverwrite reports whether a kernel may store to argument out where argument
// in lies, given that both have one walk: an element must be read for the last
// time before it is stored. In the body the store follows every use of the loaded
// value, so no generator that keeps the order of instructions loads it again; and
// since element-level values may be computed again in each pass over the reduced
// axes, none is needed in a later pass than that of the store.
func mayOverwrite(k *kernel.Kernel, in, out int) bool {
	a, b := &k.Args[in], &k.Args[out]
	if a.Gather || a.Type.Size() != b.Type.Size() || !slices.Equal(a.Access, b.Access) {
		return false
	}
	levels, stages := k.Levels(), k.Stages()
	from, to := k.ReducedAxes()
	loaded := make([]bool, len(k.Body))  // loads of in
	depends := make([]bool, len(k.Body)) // values that a pass computes from them
	lastUse, lastPass, lastElement := -1, 0, -1
	for i := range k.Body {
		x := &k.Body[i]
		if x.Op == kernel.OpLoad && int(x.Imm) == in {
			loaded[i], depends[i] = true, true
			continue
		}
		x.Operands(func(r kernel.Ref) {
			if loaded[r] {
				lastUse = i
			}
			depends[i] = depends[i] || depends[r]
		})
		if !depends[i] {
			continue
		}
		pass, level := stages[i], levels[i]
		if x.Op == kernel.OpReduce || x.Op == kernel.OpScan { // takes its operand in the pass before
			if !readsTwice(k, x) {
				pass--
			}
			level = kernel.ElementLevel
		}
		lastPass = max(lastPass, pass)
		if level == kernel.ElementLevel {
			lastElement = max(lastElement, pass)
		}
		if x.Op == kernel.OpReduce { // a value of the row: nothing is loaded for it again
			depends[i] = false
		}
	}
	for i := range k.Body {
		x := &k.Body[i]
		if x.Op != kernel.OpStore || int(x.Imm) != out {
			continue
		}
		if lastUse > i || lastPass > stages[i] {
			return false
		}
		// Row-level stores of a pass come before its elements.
		if from < to && k.ArgLevel(out) < kernel.ElementLevel && lastElement >= stages[i] {
			return false
		}
	}
	return true
}

// readsTwice reports whether a reduction may walk its operand a second time before
// its value is there: to find the place of the extreme, or the deviations from the
// mean.
func readsTwice(k *kernel.Kernel, x *kernel.Instr) bool {
	if x.Op != kernel.OpReduce {
		return false
	}
	kind := k.Reductions[x.Imm].Kind
	return kind == kernel.ArgMax || kind == kernel.ArgMin || kind == kernel.M2
}
