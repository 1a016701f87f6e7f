package cpu

// keep makes memory for what somebody derived from the contents of a buffer, such
// as the same numbers in another order, and keeps it with the buffer under a key.
// It counts as memory in use, goes when the contents change or the buffer is freed,
// and before a tensor fails for want of memory: whoever looks for it with
// [buffer.derived] must be able to do without, and gets the same bits. nil if there
// is no room. Only the device goroutine calls it.
func (p *pool) keep(b *buffer, key any, n int64) *buffer {
	side, err := p.get(max(n, 1))
	if err != nil {
		return nil
	}
	if old := b.kept[key]; old != nil {
		p.put(old)
	}
	if b.kept == nil {
		b.kept = map[any]*buffer{}
	}
	b.kept[key] = side
	if p.keepers == nil {
		p.keepers = map[*buffer]struct{}{}
	}
	p.keepers[b] = struct{}{}
	return side
}

// derived returns what is kept under a key, nil if it is not there.
func (b *buffer) derived(key any) *buffer { return b.kept[key] }

// forget drops what was derived from a buffer: its contents are about to change.
func (p *pool) forget(b *buffer) {
	b.products = 0
	if b.kept == nil {
		return
	}
	kept := b.kept
	b.kept = nil
	delete(p.keepers, b)
	for _, side := range kept {
		p.put(side)
	}
}

// forgetAll makes room when memory is short.
func (p *pool) forgetAll() {
	for b := range p.keepers {
		p.forget(b)
	}
}
