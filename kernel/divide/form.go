package divide

import (
	"github.com/sinter-go/sinter/kernel"
)

// freeChunk is the number of elements in a chunk where any order gives the same
// value.
const freeChunk = 16384

// Form is a kernel divided along one of its reduced axes, in chunks of so many
// steps along it. It serves launches for which [Find] gives it.
type Form struct {
	Kernels []*kernel.Kernel // derived ones, in the order in which passes need them

	k        *kernel.Kernel
	shape    Shape
	from, to int // reduced axes
	derived  []*derived
	passes   []pass
	rows     int // derived kernel of row-level stores, -1 for none
}

// Shape says how a launch is divided: along an axis, in chunks of Steps steps.
// What lies inside the axis belongs to the chunk whole.
type Shape struct {
	Axis  int
	Steps int64
}

// pass is one walk over the reduced axes.
type pass struct {
	scans  []scan // that the kernel of the pass reads, ready before it
	kernel int    // derived kernel
	folds  []fold // of what it writes
}

// fold is a reduction whose chunks the kernel of a pass writes.
type fold struct {
	at  kernel.Ref // the instruction
	red kernel.Reduction
}

// scan is computed chunk by chunk into scratch memory by a derived kernel.
type scan struct {
	at     kernel.Ref
	red    kernel.Reduction
	kernel int
}

// Find returns the shape in which a launch of the kernel can be divided, and
// whether there is one of at least two chunks.
func Find(k *kernel.Kernel, l *kernel.Launch) (Shape, bool) {
	from, to := k.ReducedAxes()
	if from == to || len(k.Axes) == kernel.MaxAxes || k.HasFault() {
		return Shape{}, false
	}
	for a := from; a < to; a++ {
		if l.Start != nil && l.Start[a] != 0 || l.Full != nil && l.Full[a] != l.Extents[a] {
			return Shape{}, false
		}
	}
	chunk, ok := chunkOf(k)
	switch {
	case !ok:
		return Shape{}, false
	case chunk == 0:
		return free(l, from, to)
	}
	for a := to - 1; a >= from; a-- {
		n := l.Extents[a]
		if n > chunk {
			outermost := true
			for b := from; b < a; b++ {
				outermost = outermost && l.Extents[b] == 1
			}
			return Shape{a, chunk}, outermost || n%chunk == 0
		}
		if n < 1 || chunk%n != 0 {
			return Shape{}, false
		}
		chunk /= n
	}
	return Shape{}, false
}

// free returns the shape of a launch whose chunks may have any length.
func free(l *kernel.Launch, from, to int) (Shape, bool) {
	for from < to-1 && l.Extents[from] == 1 {
		from++
	}
	best, inner := Shape{}, int64(1)
	for a := to - 1; a >= from; a-- {
		n := l.Extents[a]
		for steps := int64(freeChunk); steps >= 1; steps /= 2 {
			if steps*inner <= freeChunk && steps < n && (a == from || n%steps == 0) {
				if best.Steps*l.Extents[best.Axis] < steps*n {
					best = Shape{a, steps}
				}
				break
			}
		}
		inner *= max(n, 1)
	}
	return best, best.Steps > 0
}

// chunkOf returns the chunk that the trees of a kernel have in common, 0 if any
// will do.
func chunkOf(k *kernel.Kernel) (chunk int64, ok bool) {
	for i := range k.Body {
		in := &k.Body[i]
		if in.Op != kernel.OpReduce && in.Op != kernel.OpScan {
			continue
		}
		r := k.Reductions[in.Imm]
		if in.Op == kernel.OpReduce && anyOrder(r.Kind) {
			continue
		}
		c := int64(r.Tree.Chunk)
		if chunk != 0 && c != chunk || c < 2 {
			return 0, false
		}
		chunk = c
	}
	return chunk, true
}

func anyOrder(k kernel.ReduceKind) bool {
	switch k {
	case kernel.Max, kernel.Min, kernel.ArgMax, kernel.ArgMin:
		return true
	}
	return false
}

// New derives the kernels of a form, or returns nil where the kernel cannot be
// divided so.
func New(k *kernel.Kernel, s Shape) *Form {
	f := &Form{k: k, shape: s, rows: -1}
	f.from, f.to = k.ReducedAxes()
	levels, stages := k.Levels(), k.Stages()
	scanned := map[kernel.Ref]bool{}
	last := 0
	for _, s := range stages {
		last = max(last, s)
	}
	for stage := 0; stage <= last; stage++ {
		p := pass{}
		var roots []kernel.Ref
		for i := range k.Body {
			in := &k.Body[i]
			switch {
			case in.Op == kernel.OpReduce && stages[i] == stage+1:
				roots = append(roots, kernel.Ref(i))
				p.folds = append(p.folds, fold{kernel.Ref(i), k.Reductions[in.Imm]})
			case in.Op == kernel.OpStore && levels[i] == kernel.ElementLevel && stages[i] == stage:
				roots = append(roots, kernel.Ref(i))
			}
		}
		if len(roots) == 0 {
			continue
		}
		if !f.prepare(&p, roots, scanned) {
			return nil
		}
		p.kernel = f.derive(roots, len(p.folds) > 0, kernel.None)
		f.passes = append(f.passes, p)
	}
	var rows []kernel.Ref
	for i := range k.Body {
		if k.Body[i].Op == kernel.OpStore && levels[i] < kernel.ElementLevel {
			rows = append(rows, kernel.Ref(i))
		}
	}
	if len(rows) > 0 {
		f.rows = f.deriveRows(rows)
	}
	if len(f.passes) == 0 {
		return nil
	}
	for _, d := range f.derived {
		if d.k.Verify() != nil {
			return nil
		}
		f.Kernels = append(f.Kernels, d.k)
	}
	return f
}

// prepare derives the kernels of the scans that a pass reads and none before did,
// in their order. A scan needs the whole of what is reduced to be one axis.
func (f *Form) prepare(p *pass, roots []kernel.Ref, scanned map[kernel.Ref]bool) bool {
	need := f.closure(roots)
	for i := range need {
		at := kernel.Ref(i)
		if !need[i] || f.k.Body[i].Op != kernel.OpScan || scanned[at] {
			continue
		}
		operand := f.k.Body[i].A
		if f.to-f.from != 1 || f.k.Body[operand].Op == kernel.OpReduce || !f.prepare(p, []kernel.Ref{operand}, scanned) {
			return false
		}
		scanned[at] = true
		p.scans = append(p.scans, scan{at, f.k.Reductions[f.k.Body[i].Imm], f.derive(nil, false, at)})
	}
	return true
}

// closure returns the instructions that roots need. Reductions and scans beyond
// the roots are given; what they need is not followed.
func (f *Form) closure(roots []kernel.Ref) []bool {
	need := make([]bool, len(f.k.Body))
	follow := make([]bool, len(f.k.Body))
	for _, r := range roots {
		need[r] = true
		follow[r] = f.k.Body[r].Op != kernel.OpScan
	}
	for i := len(need) - 1; i >= 0; i-- {
		if !need[i] || !follow[i] {
			continue
		}
		f.k.Body[i].Operands(func(r kernel.Ref) {
			op := f.k.Body[r].Op
			if !need[r] {
				follow[r] = op != kernel.OpReduce && op != kernel.OpScan
			}
			need[r] = true
		})
	}
	return need
}
