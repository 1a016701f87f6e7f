package kernel

import "unsafe"

func constStep(f *frame, s *step, _ int) { putBits(f.ptr[s.dst], s.size, s.imm) }

func paramStep(f *frame, s *step, _ int) { putBits(f.ptr[s.dst], s.size, f.l.Params[s.arg]) }

func extentStep(f *frame, s *step, _ int) {
	full := f.l.Full
	if full == nil {
		full = f.l.Extents
	}
	*(*int64)(f.ptr[s.dst]) = full[s.arg]
}

func indexStep(f *frame, s *step, n int) {
	d := vec[int64](f, s.dst, n)
	start := int64(0)
	if f.l.Start != nil {
		start = f.l.Start[s.arg]
	}
	ln := f.ln
	if ln != &f.single {
		for dim := range f.lane.dims {
			if f.lane.axis[dim] != s.arg {
				continue
			}
			step := int64(0)
			if dim == f.lane.dims-1 {
				step = 1
			}
			for j := range ln.segs {
				g := &ln.segs[j]
				v := start + g.idx[dim]
				run := d[g.at : g.at+g.n]
				for i := range run {
					run[i] = v
					v += step
				}
			}
			return
		}
	}
	for dim := range f.loop.dims {
		if f.loop.axis[dim] == s.arg {
			start += f.loopIdx[dim]
		}
	}
	for i := range d {
		d[i] = start
	}
}

// run is where a segment of an argument begins.
func (f *frame) run(arg, seg int) unsafe.Pointer {
	return unsafe.Add(f.base[arg], f.loopOff[arg]+f.ln.off[seg*f.nargs+arg])
}

func loadStep[T raw](f *frame, s *step, n int) {
	ln, stride := f.ln, f.inner[s.arg]
	size := int64(unsafe.Sizeof(T(0)))
	if len(ln.segs) == 1 {
		p := f.run(s.arg, 0)
		if f.direct[s.arg] && (stride == size || n == 1) && !(s.fill && ln == &f.single) {
			f.ptr[s.dst] = p
			return
		}
		loadRun(vec[T](f, s.dst, n), p, stride)
		return
	}
	d := vec[T](f, s.dst, n)
	for j := range ln.segs {
		g := &ln.segs[j]
		loadRun(d[g.at:g.at+g.n], f.run(s.arg, j), stride)
	}
}

func loadRun[T raw](d []T, p unsafe.Pointer, stride int64) {
	switch {
	case stride == int64(unsafe.Sizeof(T(0))):
		copy(d, unsafe.Slice((*T)(p), len(d)))
	case stride == 0:
		v := *(*T)(p)
		for i := range d {
			d[i] = v
		}
	default:
		at := int64(0)
		for i := range d {
			d[i] = *(*T)(unsafe.Add(p, at))
			at += stride
		}
	}
}

func storeStep[T raw](f *frame, s *step, n int) {
	ln, stride := f.ln, f.inner[s.arg]
	a := vec[T](f, s.a, n)
	for j := range ln.segs {
		g := &ln.segs[j]
		x, p := a[g.at:g.at+g.n], f.run(s.arg, j)
		if stride == int64(unsafe.Sizeof(T(0))) {
			copy(unsafe.Slice((*T)(p), len(x)), x)
			continue
		}
		at := int64(0)
		for _, v := range x {
			*(*T)(unsafe.Add(p, at)) = v
			at += stride
		}
	}
}

func gatherStep[T raw](f *frame, s *step, n int) {
	d, a := vec[T](f, s.dst, n), vec[int64](f, s.a, n)
	ln, stride := f.ln, f.inner[s.arg]
	o := &f.l.Args[s.arg]
	pitch, extent := o.GatherStride*int64(unsafe.Sizeof(T(0))), o.GatherExtent
	faulty := false
	for j := range ln.segs {
		g := &ln.segs[j]
		p, at := f.run(s.arg, j), int64(0)
		for i := g.at; i < g.at+g.n; i++ {
			idx := a[i]
			if uint64(idx) >= uint64(extent) {
				if !faulty {
					faulty = true // lanes ascend, so the first is the lowest
					f.l.Fault.Note(IndexOutOfRange, f.linear(i))
				}
				idx = max(0, min(idx, extent-1))
			}
			d[i] = *(*T)(unsafe.Add(p, at+idx*pitch))
			at += stride
		}
	}
}

func selectStep[T raw](f *frame, s *step, n int) {
	d, m := vec[T](f, s.dst, n), vec[uint8](f, s.a, n)
	a, b := vec[T](f, s.b, n), vec[T](f, s.c, n)
	for i := range d {
		v, w := b[i], a[i]
		if m[i] != 0 {
			v = w
		}
		d[i] = v
	}
}

func copyStep[T raw](f *frame, s *step, n int) {
	copy(vec[T](f, s.dst, n), vec[T](f, s.a, n))
}

func reduceStep(f *frame, s *step, n int) {
	a := f.ptr[s.a]
	b := a
	if s.b != None {
		b = f.ptr[s.b]
	}
	f.accs[s.arg].push(a, b, n)
}

func scanStep(f *frame, s *step, n int) {
	f.scans[s.arg].step(f.ptr[s.dst], f.ptr[s.a], n)
}
