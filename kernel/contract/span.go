package contract

// span is a list of axes walked as one index: the last of them fastest.
type span struct {
	axes    []int
	extents []int64
}

func newSpan(axes []int, extents []int64) span {
	s := span{}
	for _, a := range axes {
		if extents[a] != 1 {
			s.axes = append(s.axes, a)
			s.extents = append(s.extents, extents[a])
		}
	}
	return s
}

// size is the number of indices.
func (s span) size() int64 {
	n := int64(1)
	for _, e := range s.extents {
		n *= e
	}
	return n
}

// step returns the stride that the whole index has, given those of the axes; ok is
// false if there is no such one.
func (s span) step(strides []int64) (step int64, ok bool) {
	for i := len(s.axes) - 1; i >= 0; i-- {
		st := strides[s.axes[i]]
		if i == len(s.axes)-1 {
			step = st
		} else if inner := s.axes[i+1]; st != strides[inner]*s.extents[i+1] {
			return 0, false
		}
	}
	return step, true
}

// at returns the offset of an index.
func (s span) at(index int64, strides []int64) (offset int64) {
	for i := len(s.axes) - 1; i >= 0; i-- {
		offset += index % s.extents[i] * strides[s.axes[i]]
		index /= s.extents[i]
	}
	return offset
}

// linear writes, to the axes of the span, the strides by which it is linear with a
// step.
func (s span) linear(step int64, strides []int64) {
	for i := len(s.axes) - 1; i >= 0; i-- {
		strides[s.axes[i]] = step
		step *= s.extents[i]
	}
}

// boxes cuts the range [from, to) of indices into boxes, at most two for each axis
// but the first, and one. f sees for every axis of the span where a box starts and
// how far it extends; it must not keep the slices.
func (s span) boxes(from, to int64, f func(start, extents []int64)) {
	var buf [16]int64
	n := len(s.axes)
	start, extents := buf[:n], buf[8:8+n]
	if n == 0 {
		f(start, extents)
		return
	}
	s.cut(0, from, to, start, extents, f)
}

func (s span) cut(axis int, from, to int64, start, extents []int64, f func(start, extents []int64)) {
	if axis == len(s.axes)-1 {
		start[axis], extents[axis] = from, to-from
		f(start, extents)
		return
	}
	inner := int64(1)
	for _, e := range s.extents[axis+1:] {
		inner *= e
	}
	part := func(row, from, to int64) { // of one row
		start[axis], extents[axis] = row, 1
		s.cut(axis+1, from, to, start, extents, f)
	}
	first, last := from/inner, to/inner
	if first == (to-1)/inner && to-from < inner {
		part(first, from-first*inner, to-first*inner)
		return
	}
	if rest := from % inner; rest > 0 {
		part(first, rest, inner)
		first++
	}
	if first < last {
		start[axis], extents[axis] = first, last-first
		for i := axis + 1; i < len(s.axes); i++ {
			start[i], extents[i] = 0, s.extents[i]
		}
		f(start, extents)
	}
	if rest := to % inner; rest > 0 {
		part(last, 0, rest)
	}
}
