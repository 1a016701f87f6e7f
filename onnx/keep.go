package onnx

import "github.com/sinter-go/sinter"

// keeper moves values from a scope that ends to the one around it.
type keeper struct {
	run      *run
	from, to *sinter.Scope
	kept     map[*sinter.Tensor]*sinter.Tensor
}

// keep returns the value to use after the scope has ended. Tensors of the scope
// move and are counted for the value; those of scopes around it are only
// counted if they are tensors of this run.
func (k *keeper) keep(v *Value) *Value {
	if v == nil || k.from == k.to {
		return v
	}
	if v.isSeq {
		out := &Value{isSeq: true, Elem: v.Elem, seq: make([]*Value, len(v.seq))}
		for i, e := range v.seq {
			out.seq[i] = k.keep(e)
		}
		return out
	}
	if v.host != nil && v.home == k.from && k.from != nil { // its mirror goes with the scope
		return &Value{Elem: v.Elem, host: v.host, home: k.to}
	}
	if v.tensor == nil || v.fixed != nil {
		return v
	}
	if t := k.kept[v.tensor]; t != nil {
		if r := k.run.refs[t]; r != nil {
			r.n++
		}
		return &Value{Elem: v.Elem, tensor: t, host: v.host}
	}
	if v.tensor.Scope() == k.from {
		t := k.from.Keep(v.tensor)
		delete(k.run.refs, v.tensor)
		k.kept[v.tensor] = t
		k.run.refs[t] = &tensorRef{n: 1, scope: k.to}
		return &Value{Elem: v.Elem, tensor: t, host: v.host}
	}
	if r := k.run.refs[v.tensor]; r != nil {
		r.n++
	}
	return v
}

// drop takes back the claim of a value on its tensors.
func (r *run) drop(v *Value) {
	if v == nil {
		return
	}
	for _, e := range v.seq {
		r.drop(e)
	}
	if v.tensor == nil || v.fixed != nil {
		return
	}
	if ref := r.refs[v.tensor]; ref != nil {
		if ref.n--; ref.n <= 0 {
			delete(r.refs, v.tensor)
			v.tensor.Release()
		}
	}
}
