package lower

// form is a coordinate as a function of the axes of an iteration space: its first
// entry is an offset, entry 1+a the coefficient of axis a.
type form []int64

// imap gives the coordinates of one element of a tensor, a form per dimension. A
// dimension of extent 1 has a constant.
type imap []form

// newMap returns a map of zeros over axes-many axes.
func newMap(dims, axes int) imap {
	width := axes + 1
	backing := make([]int64, dims*width)
	m := make(imap, dims)
	for i := range m {
		m[i] = backing[i*width : (i+1)*width : (i+1)*width]
	}
	return m
}

func (f form) zero() bool {
	for _, c := range f {
		if c != 0 {
			return false
		}
	}
	return true
}

func (m imap) equal(o imap) bool {
	for i := range m {
		if &m[i][0] == &o[i][0] {
			continue
		}
		for j, c := range m[i] {
			if o[i][j] != c {
				return false
			}
		}
	}
	return true
}

// add adds k·g to f.
func (f form) add(k int64, g form) {
	for i, c := range g {
		f[i] += k * c
	}
}

// span returns the least and the greatest value over axes of the given extents.
func (f form) span(extents []int64) (low, high int64) {
	low, high = f[0], f[0]
	for a, c := range f[1:] {
		if d := c * max(extents[a]-1, 0); d > 0 {
			high += d
		} else {
			low += d
		}
	}
	return low, high
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// splitAxis asks for an axis to be made two, the inner one of the given extent.
type splitAxis struct {
	axis  int
	inner int64
}

func (*splitAxis) Error() string { return "an axis has to be split" }

// cutAxis asks for an axis to be cut in two pieces, the first of the given extent.
type cutAxis struct {
	axis int
	at   int64
}

func (*cutAxis) Error() string { return "an axis has to be cut" }

// divide writes f as n·high + low with low in [0,n), forms both. Where that takes
// a finer axis, it asks for the split; where nothing helps it returns errNotAffine.
func (f form) divide(n int64, extents []int64) (high, low form, err error) {
	both := newMap(2, len(extents))
	high, low = both[0], both[1]
	for i, c := range f {
		high[i], low[i] = c/n, c%n
	}
	least, _ := low.span(extents)
	if k := floorDiv(least, n); k != 0 {
		high[0] += k
		low[0] -= k * n
	}
	if _, most := low.span(extents); most < n {
		return high, low, nil
	}
	best, axis, inner := int64(0), -1, int64(0)
	for a, c := range low[1:] {
		if c == 0 || extents[a] < 2 {
			continue
		}
		c = max(c, -c)
		q := n / gcd(c, n)
		if q < extents[a] && extents[a]%q == 0 && c*extents[a] > best {
			best, axis, inner = c*extents[a], a, q
		}
	}
	if axis < 0 {
		return nil, nil, errNotAffine
	}
	return nil, nil, &splitAxis{axis, inner}
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// regroup returns the coordinates in a tensor of shape to of the element that has
// coordinates m in one of shape from, both in row-major order. Merging dimensions
// is affine always; splitting one takes axes that are fine enough.
func regroup(m imap, from, to []int, extents []int64) (imap, error) {
	out := newMap(len(to), len(extents))
	if sizeOf(from) == 0 {
		return out, nil
	}
	i, o := 0, 0
	for i < len(from) || o < len(to) {
		if i < len(from) && from[i] == 1 {
			i++
			continue
		}
		if o < len(to) && to[o] == 1 {
			o++
			continue
		}
		if i == len(from) || o == len(to) {
			return nil, errNotAffine // another size
		}
		i0, o0 := i, o
		ni, no := from[i], to[o]
		i, o = i+1, o+1
		for ni != no {
			switch {
			case ni < no && i < len(from):
				ni *= from[i]
				i++
			case no < ni && o < len(to):
				no *= to[o]
				o++
			default:
				return nil, errNotAffine
			}
		}
		rest := append(form(nil), m[i-1]...)
		stride := int64(from[i-1])
		for j := i - 2; j >= i0; j-- {
			rest.add(stride, m[j])
			stride *= int64(from[j])
		}
		for j := o - 1; j > o0; j-- {
			if to[j] == 1 {
				continue
			}
			high, low, err := rest.divide(int64(to[j]), extents)
			if err != nil {
				return nil, err
			}
			copy(out[j], low)
			rest = high
		}
		copy(out[o0], rest)
	}
	return out, nil
}

func sizeOf(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
