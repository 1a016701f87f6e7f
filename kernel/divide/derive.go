package divide

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// argKind says what memory an argument of a derived kernel is bound to.
type argKind uint8

const (
	original argKind = iota // an argument of the kernel
	rowValue                // a value of each row: a reduction, folded
	record                  // results of the chunks of a reduction
	place                   // those of the place of an extreme
	scanned                 // a scan of each chunk alone
	carried                 // what the chunks before add to it
)

// source is what an argument of a derived kernel is.
type source struct {
	kind argKind
	arg  int        // of the kernel, if original
	at   kernel.Ref // the reduction or scan otherwise
	half bool       // of a record: the sums of squared deviations behind the means
}

// derived is a kernel over chunks, over elements, or over rows.
type derived struct {
	k       *kernel.Kernel
	args    []source
	params  []int // axis of the extent that each further parameter is
	chunked bool  // it has an axis of chunks before the axis of the shape
	rows    bool  // it has no reduced axes
}

// writer writes the body of a derived kernel.
type writer struct {
	f    *Form
	d    *derived
	ref  []kernel.Ref // of the kernel's instructions
	axes []int        // of the kernel's axes; -1 for those that are gone
}

func (f *Form) writer(kinds []kernel.AxisKind, chunked, rows bool, name string) *writer {
	w := &writer{f: f, ref: make([]kernel.Ref, len(f.k.Body)), axes: make([]int, len(f.k.Axes))}
	w.d = &derived{chunked: chunked, rows: rows, k: &kernel.Kernel{
		Name: f.k.Name + name, Axes: kinds, Params: append([]ir.DType(nil), f.k.Params...)}}
	n := 0
	for a := range f.k.Axes {
		if rows && a >= f.from && a < f.to {
			w.axes[a] = -1
			continue
		}
		if chunked && a == f.shape.Axis {
			n++ // the axis of chunks
		}
		w.axes[a] = n
		n++
	}
	return w
}

// derive makes the kernel of a pass: of the chunks, if it reduces or reads or
// makes a scan, else of the elements. alone is a scan that the kernel makes in each
// chunk, or None. It returns the number of the kernel.
func (f *Form) derive(roots []kernel.Ref, reduces bool, alone kernel.Ref) int {
	if alone != kernel.None {
		roots = []kernel.Ref{f.k.Body[alone].A}
	}
	need := f.closure(roots)
	chunked := reduces || alone != kernel.None
	for i, n := range need {
		chunked = chunked || n && f.k.Body[i].Op == kernel.OpScan
	}
	var kinds []kernel.AxisKind
	for a, kind := range f.k.Axes {
		inside := a >= f.shape.Axis && kind == kernel.Reduced && (reduces || alone != kernel.None)
		if chunked && a == f.shape.Axis {
			kinds = append(kinds, kernel.Parallel)
		}
		if kind == kernel.Reduced && !inside {
			kind = kernel.Parallel
		}
		kinds = append(kinds, kind)
	}
	w := f.writer(kinds, chunked, false, "/chunks")
	if alone != kernel.None {
		w.d.k.Name = f.k.Name + "/scan"
	}
	w.body(need, roots)
	if alone != kernel.None {
		in := f.k.Body[alone]
		v := w.over(kernel.OpScan, in.Type, f.k.Reductions[in.Imm], w.ref[in.A], kernel.None)
		w.store(w.scratch(source{kind: scanned, at: alone}, in.Type, kernel.Out), v)
	}
	return f.add(w)
}

// deriveRows makes the kernel of the row-level stores.
func (f *Form) deriveRows(roots []kernel.Ref) int {
	kinds := make([]kernel.AxisKind, len(f.k.Axes)-(f.to-f.from))
	w := f.writer(kinds, false, true, "/rows")
	w.body(f.closure(roots), roots)
	return f.add(w)
}

func (f *Form) add(w *writer) int {
	f.derived = append(f.derived, w.d)
	return len(f.derived) - 1
}

// body writes the instructions needed, in their order, so that rare ones stay
// together.
func (w *writer) body(need []bool, roots []kernel.Ref) {
	k := w.f.k
	begin := make([]kernel.Ref, len(k.Rares))
	for i := 0; i <= len(k.Body); i++ {
		for j, r := range k.Rares {
			if int(r.From) == i {
				begin[j] = kernel.Ref(len(w.d.k.Body))
			}
			if end := kernel.Ref(len(w.d.k.Body)); int(r.To) == i && end > begin[j] {
				w.d.k.Rares = append(w.d.k.Rares, kernel.Rare{Mask: w.ref[r.Mask], From: begin[j], To: end})
			}
		}
		if i < len(k.Body) && need[i] {
			w.ref[i] = w.instr(kernel.Ref(i), slices.Contains(roots, kernel.Ref(i)))
		}
	}
}

// instr writes what stands for an instruction of the kernel.
func (w *writer) instr(i kernel.Ref, root bool) kernel.Ref {
	k := w.f.k
	in := k.Body[i]
	switch in.Op {
	case kernel.OpReduce:
		if root {
			w.reduce(i)
			return kernel.None
		}
		return w.load(w.scratch(source{kind: rowValue, at: i}, in.Type, kernel.In))
	case kernel.OpScan:
		return w.scan(i)
	case kernel.OpIndex:
		a := int(in.Imm)
		at := w.emit(kernel.OpIndex, ir.I64, uint64(w.axes[a]))
		if !w.d.chunked || a != w.f.shape.Axis {
			return at
		}
		steps := w.emit(kernel.OpConst, ir.I64, uint64(w.f.shape.Steps))
		chunk := w.emit(kernel.OpIndex, ir.I64, uint64(w.axes[a]-1))
		return w.emit(kernel.OpAdd, ir.I64, 0, w.emit(kernel.OpMul, ir.I64, 0, chunk, steps), at)
	case kernel.OpExtent:
		for p, a := range w.d.params {
			if a == int(in.Imm) {
				return w.emit(kernel.OpParam, ir.I64, uint64(len(k.Params)+p))
			}
		}
		w.d.params = append(w.d.params, int(in.Imm))
		w.d.k.Params = append(w.d.k.Params, ir.I64)
		return w.emit(kernel.OpParam, ir.I64, uint64(len(w.d.k.Params)-1))
	case kernel.OpLoad, kernel.OpStore:
		in.Imm = uint64(w.argument(int(in.Imm)))
	}
	for _, r := range [...]*kernel.Ref{&in.A, &in.B, &in.C} {
		if *r != kernel.None {
			*r = w.ref[*r]
		}
	}
	return w.append(in)
}

// reduce writes a reduction of each chunk and the stores of its results.
func (w *writer) reduce(i kernel.Ref) {
	in := w.f.k.Body[i]
	red := w.f.k.Reductions[in.Imm]
	a, b := w.ref[in.A], kernel.None
	if in.B != kernel.None {
		b = w.ref[in.B]
	}
	v := w.over(kernel.OpReduce, in.Type, red, a, b)
	results := source{kind: record, at: i}
	switch red.Kind {
	case kernel.ArgMax, kernel.ArgMin:
		t := w.d.k.Body[a].Type
		extreme := kernel.Reduction{Kind: kernel.Max, Tree: red.Tree}
		if red.Kind == kernel.ArgMin {
			extreme.Kind = kernel.Min
		}
		w.store(w.scratch(results, t, kernel.Out), w.over(kernel.OpReduce, t, extreme, a, kernel.None))
		w.store(w.scratch(source{kind: place, at: i}, ir.I64, kernel.Out), v)
	case kernel.M2:
		count := kernel.None
		for axis := range w.d.k.Axes {
			if w.d.k.Axes[axis] != kernel.Reduced {
				continue
			}
			n := w.emit(kernel.OpExtent, ir.I64, uint64(axis))
			if count == kernel.None {
				count = n
			} else {
				count = w.emit(kernel.OpMul, ir.I64, 0, count, n)
			}
		}
		sum := w.over(kernel.OpReduce, in.Type, kernel.Reduction{Kind: kernel.Sum, Tree: red.Tree}, a, kernel.None)
		mean := w.emit(kernel.OpDiv, in.Type, 0, sum, w.emit(kernel.OpCvt, in.Type, 0, count))
		w.store(w.scratch(results, in.Type, kernel.Out), mean)
		results.half = true
		w.store(w.scratch(results, in.Type, kernel.Out), v)
	default:
		w.store(w.scratch(results, in.Type, kernel.Out), v)
	}
}

// scan writes the value of a scan that is ready chunk by chunk.
func (w *writer) scan(i kernel.Ref) kernel.Ref {
	in := w.f.k.Body[i]
	alone := w.load(w.scratch(source{kind: scanned, at: i}, in.Type, kernel.In))
	before := w.load(w.scratch(source{kind: carried, at: i}, in.Type, kernel.In))
	op := map[kernel.ReduceKind]kernel.Op{kernel.Sum: kernel.OpAdd, kernel.Prod: kernel.OpMul, kernel.Max: kernel.OpMax, kernel.Min: kernel.OpMin}[w.f.k.Reductions[in.Imm].Kind]
	chunk := w.emit(kernel.OpIndex, ir.I64, uint64(w.axes[w.f.shape.Axis]-1))
	first := w.emit(kernel.OpEq, ir.Bool, 0, chunk, w.emit(kernel.OpConst, ir.I64, 0))
	return w.emit(kernel.OpSelect, in.Type, 0, first, alone, w.emit(op, in.Type, 0, before, alone))
}

func (w *writer) append(in kernel.Instr) kernel.Ref {
	if in.Op != kernel.OpStore {
		for i, x := range w.d.k.Body {
			if x == in && !w.rare(kernel.Ref(i)) {
				return kernel.Ref(i)
			}
		}
	}
	w.d.k.Body = append(w.d.k.Body, in)
	return kernel.Ref(len(w.d.k.Body) - 1)
}

// rare reports whether an instruction is in a rare region that is complete, and
// may not be used outside it.
func (w *writer) rare(i kernel.Ref) bool {
	for _, r := range w.d.k.Rares {
		if i >= r.From && i < r.To {
			return true
		}
	}
	return false
}

func (w *writer) emit(op kernel.Op, t ir.DType, imm uint64, args ...kernel.Ref) kernel.Ref {
	in := kernel.Instr{Op: op, Type: t, A: kernel.None, B: kernel.None, C: kernel.None, Imm: imm}
	for i, r := range [...]*kernel.Ref{&in.A, &in.B, &in.C} {
		if i < len(args) {
			*r = args[i]
		}
	}
	return w.append(in)
}

func (w *writer) over(op kernel.Op, t ir.DType, red kernel.Reduction, a, b kernel.Ref) kernel.Ref {
	list := &w.d.k.Reductions
	n := 0
	for ; n < len(*list) && (*list)[n] != red; n++ {
	}
	if n == len(*list) {
		*list = append(*list, red)
	}
	return w.append(kernel.Instr{Op: op, Type: t, A: a, B: b, C: kernel.None, Imm: uint64(n)})
}

func (w *writer) load(arg int) kernel.Ref {
	return w.emit(kernel.OpLoad, w.d.k.Args[arg].Type, uint64(arg))
}

func (w *writer) store(arg int, v kernel.Ref) {
	w.emit(kernel.OpStore, w.d.k.Args[arg].Type, uint64(arg), v)
}

// argument returns the argument that stands for one of the kernel.
func (w *writer) argument(arg int) int {
	a := w.f.k.Args[arg]
	access := make([]kernel.Access, len(w.d.k.Axes))
	for axis, class := range a.Access {
		if w.axes[axis] < 0 {
			continue
		}
		access[w.axes[axis]] = class
		if w.d.chunked && axis == w.f.shape.Axis && class == kernel.Broadcast {
			access[w.axes[axis]-1] = kernel.Broadcast
		}
	}
	return w.arg(source{kind: original, arg: arg}, kernel.Arg{Type: a.Type, Dir: a.Dir, Access: access})
}

// scratch returns the argument for memory between the steps, which lies row-major.
func (w *writer) scratch(s source, t ir.DType, dir kernel.Direction) int {
	f := w.f
	access := make([]kernel.Access, len(w.d.k.Axes))
	for axis := range f.k.Axes {
		at := w.axes[axis]
		if at < 0 || axis < f.from || axis >= f.to {
			continue
		}
		switch s.kind {
		case rowValue:
			access[at] = kernel.Broadcast
			if w.d.chunked && axis == f.shape.Axis {
				access[at-1] = kernel.Broadcast
			}
		case record, place, carried:
			if axis >= f.shape.Axis {
				access[at] = kernel.Broadcast
			}
		}
	}
	if f.to < len(f.k.Axes) || s.kind == scanned {
		access[len(access)-1] = kernel.Unit
	}
	return w.arg(s, kernel.Arg{Type: t, Dir: dir, Access: access})
}

func (w *writer) arg(s source, a kernel.Arg) int {
	for i, x := range w.d.args {
		if x == s {
			return i
		}
	}
	w.d.args = append(w.d.args, s)
	w.d.k.Args = append(w.d.k.Args, a)
	return len(w.d.args) - 1
}
