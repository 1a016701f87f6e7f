package fusion

import "weak"

// weakStream lets a stream that its user dropped go, unless it has open work:
// then its values hold it.
type weakStream = weak.Pointer[Stream]

func (l *streams) add(s *Stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := l.list[:0]
	for _, w := range l.list {
		if w.Value() != nil {
			kept = append(kept, w)
		}
	}
	l.list = append(kept, weak.Make(s))
}

func (l *streams) all() []*Stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]*Stream, 0, len(l.list))
	for _, w := range l.list {
		if s := w.Value(); s != nil {
			out = append(out, s)
		}
	}
	return out
}
