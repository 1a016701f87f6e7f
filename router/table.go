package router

import "github.com/sinter-go/sinter/ir"

// entry is what an id of a client names. A plain entry, without a value, is a
// tensor that the home member knows under inner: the common case, which takes no
// allocation. Everything else has a value.
type entry struct {
	inner ir.ID
	v     *value
}

// pageBits makes pages of 64 ids: clients count ids upwards, so that neighbours
// share pages, and a single tensor that outlives its neighbours holds 1 KB.
const pageBits = 6

type page struct {
	used    uint64 // bit i: entry i is in use
	entries [1 << pageBits]entry
}

// table maps the ids of a client to entries. A map of single entries costs about
// three times as much per operation; pages go when their last entry does. The
// client's lock guards it.
type table struct {
	pages map[ir.ID]*page
	n     int
	spare *page // the last page that became empty

	lastKey ir.ID // of the page used last
	last    *page
}

func (t *table) page(id ir.ID) *page {
	key := id >> pageBits
	if t.last != nil && t.lastKey == key {
		return t.last
	}
	p := t.pages[key]
	if p != nil {
		t.last, t.lastKey = p, key
	}
	return p
}

// get returns the entry of an id.
func (t *table) get(id ir.ID) (*entry, bool) {
	p := t.page(id)
	i := id & (1<<pageBits - 1)
	if p == nil || p.used>>i&1 == 0 {
		return nil, false
	}
	return &p.entries[i], true
}

// put sets the entry of an id. It returns the one that the id had, which only a
// client that uses ids twice sees.
func (t *table) put(id ir.ID, e entry) (old entry, had bool) {
	p := t.page(id)
	if p == nil {
		if t.pages == nil {
			t.pages = map[ir.ID]*page{}
		}
		if p, t.spare = t.spare, nil; p == nil {
			p = new(page)
		}
		t.last, t.lastKey = p, id>>pageBits
		t.pages[t.lastKey] = p
	}
	i := id & (1<<pageBits - 1)
	if p.used>>i&1 == 0 {
		p.used |= 1 << i
		t.n++
	} else {
		old, had = p.entries[i], true
	}
	p.entries[i] = e
	return old, had
}

// drop forgets an id and returns its entry.
func (t *table) drop(id ir.ID) (entry, bool) {
	p := t.page(id)
	i := id & (1<<pageBits - 1)
	if p == nil || p.used>>i&1 == 0 {
		return entry{}, false
	}
	e := p.entries[i]
	p.entries[i] = entry{}
	p.used &^= 1 << i
	t.n--
	if p.used == 0 {
		delete(t.pages, id>>pageBits)
		t.last, t.spare = nil, p
	}
	return e, true
}

// each calls f for every entry.
func (t *table) each(f func(ir.ID, entry)) {
	for key, p := range t.pages {
		for i := range p.entries {
			if p.used>>i&1 != 0 {
				f(key<<pageBits|ir.ID(i), p.entries[i])
			}
		}
	}
}
