package ptx

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// What an epilogue costs inside of a product on matrix units, which rest while a tile is
// finished: an instruction takes 0.3 ps of the device for each result, of which the first
// few are hidden, and a result of bf16 that passes through memory 1 ps (measured on an
// H200 in Hopper's form: 175 µs for 4096³, 443 with a gelu; 190 where no value takes the
// rarer way of erf). A kernel of its own costs a launch. The form of a warp keeps to it.
const (
	lightEpilogue = 16 // instructions that always stay
	epiloguePicos = 0.3
	launchPicos   = 2e6
)

// Apart reports whether the product of a kernel, which has so many results, is better apart
// from the rest: what follows is long, or something is stored that matrix units do not give.
// Bits do not depend on it.
func Apart(k *kernel.Kernel, target Target, results int64) bool {
	m, err := newModule(k, target)
	if err != nil {
		return m.unit != ir.Invalid
	}
	if m.shape != matrix {
		return false
	}
	n := m.epilogue()
	return n > lightEpilogue && float64(n)*float64(results)*epiloguePicos > launchPicos
}

// epilogue counts the instructions between the product and what is stored.
func (m *Module) epilogue() int {
	need := make([]bool, len(m.k.Body))
	n := 0
	for i := len(need) - 1; i >= 0; i-- {
		in := &m.k.Body[i]
		need[i] = need[i] || in.Op == kernel.OpStore
		if !need[i] || kernel.Ref(i) == m.form.dot {
			continue
		}
		switch in.Op {
		case kernel.OpLoad, kernel.OpStore, kernel.OpConst, kernel.OpParam, kernel.OpCvt:
		default:
			n++
		}
		in.Operands(func(r kernel.Ref) { need[r] = true })
	}
	return n
}
