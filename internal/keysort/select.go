package keysort

// Selector keeps the k least of the items that it is shown, which come with
// ascending places. It gathers those below the k-th so far, and sorts when there is
// no more room, so its time is linear in their number whatever their order.
type Selector struct {
	k     int
	kept  []uint64
	tmp   []uint64
	limit uint64 // items from here on are not among the k least
}

// room is how many candidates a selector of k out of n gathers.
func room(k, n int) int { return min(n, max(4*k, 512)) }

// NewSelector makes a selector for the k least of n items, k at least 1.
func NewSelector(k, n int) *Selector {
	s := &Selector{k: k, kept: make([]uint64, 0, room(k, n)), tmp: make([]uint64, room(k, n))}
	s.Reset()
	return s
}

// Reset forgets all items.
func (s *Selector) Reset() { s.kept, s.limit = s.kept[:0], ^uint64(0) }

// Add shows items.
func (s *Selector) Add(items []uint64) {
	for _, v := range items {
		if v > s.limit {
			continue
		}
		if len(s.kept) == cap(s.kept) {
			s.shrink()
			if v > s.limit {
				continue
			}
		}
		s.kept = append(s.kept, v)
	}
}

func (s *Selector) shrink() {
	sorted := Sort(Serial{}, s.kept, s.tmp[:len(s.kept)])
	sorted = sorted[:min(s.k, len(sorted))]
	s.kept = s.kept[:copy(s.kept[:len(sorted)], sorted)]
	if len(s.kept) == s.k {
		s.limit = s.kept[s.k-1]
	}
}

// Least returns the k least items, or all if there were fewer, sorted. They are
// valid until the next Reset.
func (s *Selector) Least() []uint64 {
	s.shrink()
	return s.kept
}

// Selector64 is a selector for keys of 64 bits.
type Selector64 struct {
	k          int
	keys       []uint64
	places     []uint32
	limit      uint64 // keys from here on are not among the k least
	full       bool   // there is a limit
	items, tmp []uint64
	work, from []uint32
}

// NewSelector64 makes a selector for the k least of n keys, k at least 1.
func NewSelector64(k, n int) *Selector64 {
	m := room(k, n)
	return &Selector64{k: k, keys: make([]uint64, 0, m), places: make([]uint32, 0, m),
		items: make([]uint64, m), tmp: make([]uint64, m), work: make([]uint32, m), from: make([]uint32, m)}
}

// Reset forgets all keys.
func (s *Selector64) Reset() { s.keys, s.places, s.full = s.keys[:0], s.places[:0], false }

// Add shows keys, the first of which has the place from.
func (s *Selector64) Add(keys []uint64, from int) {
	for i, v := range keys {
		s.add(v, uint32(from+i))
	}
}

// Join shows the keys that another selector has.
func (s *Selector64) Join(o *Selector64) {
	for i, v := range o.keys {
		s.add(v, o.places[i])
	}
}

func (s *Selector64) add(key uint64, place uint32) {
	if s.full && key >= s.limit {
		return
	}
	if len(s.keys) == cap(s.keys) {
		s.shrink()
		if s.full && key >= s.limit {
			return
		}
	}
	s.keys, s.places = append(s.keys, key), append(s.places, place)
}

func (s *Selector64) shrink() {
	n := len(s.keys)
	if n == 0 {
		return
	}
	sorted := Sort64(Serial{}, s.keys, s.items[:n], s.tmp[:n], s.work[:n])
	k := min(s.k, n)
	copy(s.from, s.places)
	for i, v := range sorted[:k] { // what is moved is not needed later: keys are read through a copy
		s.places[i] = s.from[uint32(v)]
		sorted[i] = s.keys[uint32(v)]
	}
	s.keys, s.places = s.keys[:copy(s.keys, sorted[:k])], s.places[:k]
	if k == s.k {
		s.limit, s.full = s.keys[k-1], true
	}
}

// Least returns the places of the k least keys, or of all if there were fewer,
// sorted. They are valid until the next Reset.
func (s *Selector64) Least() []uint32 {
	s.shrink()
	return s.places
}
