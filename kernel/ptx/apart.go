package ptx

import "github.com/sinter-go/sinter/kernel"

// heavyEpilogue is the number of instructions after a product on matrix units from which
// on they are better a kernel of their own. The units rest while a tile is finished: an
// instruction takes 0.3 ps of the device for each result, and a result of bf16 that
// passes through memory 1 ps (measured on an H200 in Hopper's form: 185 µs for 4096³, 466
// with a gelu). The form of a warp, which has not been measured, keeps to it.
const heavyEpilogue = 16

// Apart reports whether what a kernel does takes less time in parts, each of which is a
// kernel: bits do not depend on it.
func (m *Module) Apart() bool {
	if m.shape != matrix {
		return false
	}
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
	return n > heavyEpilogue
}
