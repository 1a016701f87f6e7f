package ptx

import "github.com/sinter-go/sinter/ir"

// exactForm is what the variants of kernels on ordinary units for a node have in common;
// false if they do not take it. keys says that its tiles are of keys.
func (a *attention) exactForm(keys bool) (f exactForm, v numbers, ok bool) {
	f = exactForm{t: a.tensors[0].Type.DType, d: a.d, e: a.e, causal: a.causal, window: a.window > 0, folded: a.folded}
	if f.t == ir.F64 || a.d > exactWidth || a.e > exactWidth {
		return f, nil, false
	}
	if len(a.In) > 3 {
		if !a.biasStrides(3) {
			return f, nil, false
		}
		f.bias = flashFullBias
		if a.numbers[flashBiasAt+2] == 0 && a.numbers[flashBiasAt+3] == 0 {
			f.bias = flashHeadBias
		}
	}
	if keys {
		a.numbers[flashHeads] = uint64(a.heads / a.group)
		a.tiles(a.source, exactTile, a.heads/a.group)
	} else {
		a.tiles(a.length, exactTile, a.heads)
	}
	v = append(numbers(nil), a.numbers[:]...)
	for i, tensor := range []int{0, 1, 2, exactDy} {
		if tensor >= len(a.In) {
			break
		}
		s, ok := a.linesOf(tensor, i == 0 || i == 3)
		if !ok {
			return f, nil, false
		}
		for _, stride := range s {
			v.add(stride * int64(f.t.Size()))
		}
	}
	f.vector = f.t == ir.F32
	for i := len(a.In); i < len(a.tensors); i++ {
		shape := a.tensors[i].Type.Shape
		if i == len(a.In)+1 && len(a.In) <= 4 { // the statistic
			continue
		}
		f.vector = f.vector && shape[len(shape)-1]%4 == 0 && a.plan.first[i]%16 == 0
	}
	return f, v, true
}

// addExact appends the launch of a kernel, a block for each tile; nil if a block has no room
// for it.
func (a *attention) addExact(name string, f exactForm, v numbers, l exactLayout, write func(*asm, exactForm)) *Plan {
	if l.bytes+16 > a.target.shared() {
		return nil
	}
	a.add(name+f.String(), exactThreads, func(w *asm) { write(w, f) }, int64(v[flashAll]), 1, 0, v...)
	return a.plan
}

// planExact plans a node for ordinary units; nil if they do not take it.
func (a *attention) planExact() *Plan {
	f, v, ok := a.exactForm(false)
	if !ok {
		return nil
	}
	return a.addExact("attention_exact_", f, v, f.layoutForward(), writeExact)
}

// planExactGradient plans a gradient for ordinary units; nil if they do not take it.
func (c *nativeCall) planExactGradient(keys bool) *Plan {
	a := newAttention(c, !keys) // the sums over heads that share keys are one for each
	if a == nil || !a.statistics() {
		return nil
	}
	f, v, ok := a.exactForm(keys)
	if !ok {
		return nil
	}
	if keys {
		return a.addExact("attention_exact_grad_kv_", f, v, f.layoutGradKV(), writeExactGradKV)
	}
	return a.addExact("attention_exact_grad_q_", f, v, f.layoutGradQ(), writeExactGradQ)
}
