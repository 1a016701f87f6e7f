package fusion

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// check runs a segment a second time, one operation per kernel and nothing in
// place, and compares the bits of every result that the fused run kept. A result
// that differs becomes an error of kind internal that names the operation, the
// first element, and what it was fused with; results that agree stay.
//
// It is the oracle mode of a client: slow, it waits for the device. It proves that
// fusion changed nothing, not that the operations themselves are right.
func (s *Stream) check(in *instance, b *bound, places []*stored) error {
	keep := make([]bool, len(places))
	for i, st := range places {
		keep[i] = st != nil
	}
	plain := *s.c.planner
	plain.Options.Unfused, plain.Options.NoInPlace = true, true
	s.c.planning.Lock()
	p, err := try(func() (*Plan, error) { return plain.Plan(in.segment(nil, keep, b.plan.Segment.Cut)) })
	s.c.planning.Unlock()
	if err != nil {
		return err
	}
	again, err := s.execute(in, bind(p, s.key.dims), keep, make([]*stored, len(in.types)))
	if err != nil {
		return err
	}
	defer func() {
		for _, st := range again {
			if st != nil {
				st.base.release()
			}
		}
	}()
	fused, fusedErrs, err := s.fetch(in, places)
	if err != nil {
		return err
	}
	single, singleErrs, err := s.fetch(in, again)
	if err != nil {
		return err
	}
	for i := range places {
		if places[i] == nil {
			continue
		}
		if fusedErrs[i] != nil { // not yet seen by anybody but this check
			s.c.noteOnce(fusedErrs[i])
		}
		what := differs(in.types[i].DType, fused[i].Bytes, single[i].Bytes)
		switch f, u := fusedErrs[i], singleErrs[i]; {
		case f != nil && u != nil:
			what = ""
			if a, b := ir.AsError(f), ir.AsError(u); a.Op != b.Op || a.Kind != b.Kind {
				what = fmt.Sprintf("fused gives the error %q, one by one %q", a, b)
			}
		case f != nil || u != nil:
			what = fmt.Sprintf("fused gives %v, one by one %v", f, u)
		}
		if what == "" {
			continue
		}
		e := s.mismatch(in, b, i, what)
		places[i].base.release()
		places[i] = &stored{err: s.c.note(e)}
		s.c.capsule(in, b, e)
	}
	return nil
}

// fetch reads the kept results.
func (s *Stream) fetch(in *instance, places []*stored) ([]backend.Data, []error, error) {
	var views []ir.Node
	var ids []ir.ID
	var at []int
	for i, st := range places {
		if st == nil {
			continue
		}
		id := st.base.id
		if !st.whole(in.types[i].Shape) {
			t := ir.Tensor{ID: s.c.newID(), Type: in.types[i]}
			views = append(views, stridedNode(st.base, st.layout, t))
			id = t.ID
			defer s.c.inner.Free(id)
		}
		ids, at = append(ids, id), append(at, i)
	}
	if len(views) > 0 {
		if err := s.c.inner.Submit(s.ctx, views); err != nil {
			return nil, nil, err
		}
	}
	data, errs := make([]backend.Data, len(places)), make([]error, len(places))
	got, failed, err := s.c.inner.Read(s.ctx, ids...)
	if err != nil {
		return nil, nil, err
	}
	for k, i := range at {
		data[i], errs[i] = got[k], failed[k]
	}
	return data, errs, nil
}

// mismatch is the error of a result that fusion changed.
func (s *Stream) mismatch(in *instance, b *bound, result int, what string) *ir.Error {
	e := &ir.Error{Kind: ir.ErrInternal, Device: s.c.info.ID, Msg: "fusion changed the result: " + what}
	id := ir.ID(len(in.leaves) + 1 + result)
	for i := range b.plan.Blocks {
		block := &b.plan.Blocks[i]
		holds := false
		var with []string
		for _, n := range block.Nodes {
			r := &in.recs[n]
			with = append(with, strings.TrimSuffix(r.op.Row.Name+" "+r.site.String(), " "))
			if first := ir.ID(len(in.leaves)+1) + ir.ID(r.out); first <= id && id < first+ir.ID(r.op.Row.NumResults()) {
				holds = true
				n := r.node(in.tensor)
				e.Op, e.Operands, e.Site = n.Row.Name, n.InTypes(), n.Site
			}
		}
		if holds {
			e.Detail = "fused with " + strings.Join(with, ", ")
		}
	}
	return e
}

// differs describes the first element that differs, "" if none does. One NaN is
// as good as another.
func differs(d ir.DType, a, b []byte) string {
	size := d.Size()
	for i := 0; i+size <= len(a) && i+size <= len(b); i += size {
		x, y := bitsAt(a[i:i+size]), bitsAt(b[i:i+size])
		if x != y && !(isNaN(d, x) && isNaN(d, y)) {
			return fmt.Sprintf("element %d is %#x, one by one %#x", i/size, x, y)
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("%d bytes, one by one %d", len(a), len(b))
	}
	return ""
}

func bitsAt(b []byte) uint64 {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.NativeEndian.Uint16(b))
	case 4:
		return uint64(binary.NativeEndian.Uint32(b))
	}
	return binary.NativeEndian.Uint64(b)
}

func isNaN(d ir.DType, bits uint64) bool {
	switch d {
	case ir.F16:
		return bits&0x7fff > 0x7c00
	case ir.BF16:
		return bits&0x7fff > 0x7f80
	case ir.F32:
		return math.IsNaN(float64(math.Float32frombits(uint32(bits))))
	case ir.F64:
		return math.IsNaN(math.Float64frombits(bits))
	}
	return false
}
