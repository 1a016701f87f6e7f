package metamorphic

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
)

// recorder runs a program as values on several streams of a fusing client: values
// hop between streams, are read, shared, released and forgotten at any moment.
type recorder struct {
	Way
	c       *fusion.Client
	p       *ir.Program
	rng     *rand.Rand
	truth   Truth
	streams []*fusion.Stream
	at      int // the stream that records now
	values  map[ir.ID]*fusion.Value
	uses    map[ir.ID]int
}

func (r *recorder) run(inputs [][]byte) (Outcome, error) {
	r.values, r.uses = map[ir.ID]*fusion.Value{}, map[ir.ID]int{}
	for range r.Streams {
		r.streams = append(r.streams, r.c.NewStream(context.Background()))
	}
	for i := range r.p.Nodes {
		for _, t := range r.p.Nodes[i].In {
			r.uses[t.ID]++
		}
	}
	for _, id := range r.p.Outputs {
		r.uses[id]++
	}
	if r.Disturb {
		defer r.disturb()()
	}
	for i, t := range r.p.Inputs {
		v, err := r.input(t, inputs[i])
		if err != nil {
			return Outcome{}, err
		}
		r.values[t.ID] = v
		r.drop(t.ID)
	}
	for i := range r.p.Nodes {
		if err := r.record(&r.p.Nodes[i]); err != nil {
			return Outcome{}, err
		}
		if err := r.odd(); err != nil {
			return Outcome{}, err
		}
	}
	out, err := r.read()
	for _, v := range r.values {
		if !r.Forget {
			v.Release()
		}
	}
	r.values = nil
	return out, err
}

// disturb flushes from another goroutine, until stop is called.
func (r *recorder) disturb() (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				_ = r.c.Flush() // what it fails with, the reads find
				runtime.Gosched()
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}

// input makes a value of given contents: uploaded, or on its way for a while.
func (r *recorder) input(t ir.Tensor, data []byte) (*fusion.Value, error) {
	s := r.stream()
	if r.rng.IntN(8) > 0 {
		return s.Upload(t.Type, data)
	}
	late := time.Duration(r.rng.IntN(200)) * time.Microsecond
	return s.Arriving(t.Type, func(to ir.ID) error {
		time.Sleep(late)
		return r.c.Upload(ir.Tensor{ID: to, Type: t.Type}, data)
	}), nil
}

// stream returns the one to record on: mostly the last one.
func (r *recorder) stream() *fusion.Stream {
	if r.rng.IntN(5) == 0 {
		r.at = r.rng.IntN(len(r.streams))
	}
	return r.streams[r.at]
}

func (r *recorder) record(n *ir.Node) error {
	in := make([]*fusion.Value, len(n.In))
	for j, t := range n.In {
		if r.Alias && r.rng.IntN(6) == 0 {
			if err := r.again(t.ID); err != nil {
				return err
			}
		}
		in[j] = r.values[t.ID]
	}
	for j, t := range n.In { // an alias may have replaced one
		in[j] = r.values[t.ID]
	}
	s := r.stream()
	op := fusion.OpOf(n.Row, n.Attrs)
	types, err := s.Infer(op, n.Attrs, n.InTypes())
	if err != nil {
		return err
	}
	out := make([]*fusion.Value, len(n.Out))
	for j := range out {
		out[j] = new(fusion.Value)
	}
	site := n.Site
	if err := s.Record(op, n.Attrs, in, types, out, nil, func() ir.Site { return site }); err != nil {
		return fmt.Errorf("recording %s: %w", n.Row.Name, err)
	}
	for j, t := range n.Out {
		r.values[t.ID] = out[j]
	}
	for _, t := range n.In {
		r.uses[t.ID]--
		r.drop(t.ID)
	}
	for _, t := range n.Out {
		r.drop(t.ID)
	}
	return nil
}

// again replaces a value by another one of the same contents.
func (r *recorder) again(id ir.ID) error {
	v := r.values[id]
	shared, err := r.c.Share(context.Background(), v)
	if err != nil {
		if r.truth != nil && r.truth[id].Err == nil {
			return fmt.Errorf("sharing %%%d: %w", id, err)
		}
		return nil
	}
	w, err := r.stream().Take(shared)
	if err != nil {
		return fmt.Errorf("taking %%%d: %w", id, err)
	}
	if !r.Forget {
		v.Release()
	}
	r.values[id] = w
	return nil
}

// drop releases or forgets a value that nobody will use.
func (r *recorder) drop(id ir.ID) {
	v := r.values[id]
	if v == nil || r.uses[id] > 0 || !r.Free && !r.Forget {
		return
	}
	if r.Free && (!r.Forget || r.rng.IntN(2) == 0) {
		v.Release()
	}
	delete(r.values, id)
}

// odd does something at an odd moment.
func (r *recorder) odd() error {
	switch s := r.streams[r.rng.IntN(len(r.streams))]; r.rng.IntN(24) {
	case 0:
		s.Flush()
	case 1:
		s.NewGroup().End(true)
	case 2:
		return r.c.Flush()
	case 3:
		s.SetFusion(r.rng.IntN(3) > 0)
	case 4:
		if r.Forget && r.rng.IntN(4) == 0 {
			runtime.GC()
		}
	case 5, 6:
		if r.Peek {
			return r.peek()
		}
	}
	return nil
}

// peek reads some values.
func (r *recorder) peek() error {
	ids := slices.Sorted(maps.Keys(r.values))
	r.rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	ids = ids[:min(len(ids), 1+r.rng.IntN(3))]
	values := make([]*fusion.Value, len(ids))
	for i, id := range ids {
		values[i] = r.values[id]
	}
	data, errs, err := r.c.ReadValues(context.Background(), values)
	if err != nil || r.truth == nil {
		return err
	}
	for i, id := range ids {
		if d := r.truth.compare(id, Value{data[i], errs[i]}); d != "" {
			return fmt.Errorf("read before the end: %s", d)
		}
	}
	return nil
}

func (r *recorder) read() (Outcome, error) {
	values := make([]*fusion.Value, len(r.p.Outputs))
	for i, id := range r.p.Outputs {
		values[i] = r.values[id]
	}
	data, errs, err := r.c.ReadValues(context.Background(), values)
	return Outcome{data, errs}, err
}
