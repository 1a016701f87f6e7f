package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// elementwiseText makes a kernel of a text over f32, along one axis: the first arguments
// are what it takes, the others what it gives. A text that makes no kernel is a fault of
// this package.
func elementwiseText(block *ir.Block, takes, gives []string) *kernel.Kernel {
	b := kernel.NewBuilder("text", []kernel.AxisKind{kernel.Parallel})
	arg := func(d kernel.Direction) int {
		return b.AddArg(kernel.Arg{Type: ir.F32, Dir: d, Access: []kernel.Access{kernel.Unit}})
	}
	values := map[string]kernel.Ref{}
	for _, name := range takes {
		values[name] = b.Load(arg(kernel.In))
	}
	values, err := b.Expand(block, kernel.Env{T: ir.F32, Names: values})
	if err != nil {
		panic(fmt.Sprintf("sinter/kernel/ptx: BUG: %v", err))
	}
	for _, name := range gives {
		b.Store(arg(kernel.Out), values[name])
	}
	return b.K
}

// inline evaluates a kernel of [elementwiseText] in the midst of another text: in is the
// values of what it takes, for all lanes, and the results are those of what it gives.
func (a *asm) inline(k *kernel.Kernel, in ...[]reg) (out [][]reg) {
	e := &emitter{asm: a, k: k, stage: k.Stages(), outer: map[kernel.Ref]reg{}, ptr: make([]reg, len(k.Args)), along: -1, rares: k.Rares}
	e.depth = make([]int, len(k.Body))
	var refs []kernel.Ref
	for i, l := range k.Levels() {
		if l != kernel.UniformLevel {
			e.depth[i] = elementDepth
			refs = append(refs, kernel.Ref(i))
		}
	}
	t := &tile{n: len(in[0]), vals: map[kernel.Ref][]reg{}}
	t.load = func(load *kernel.Instr) []reg { return in[load.Imm] }
	t.store = func(_ *kernel.Instr, vals []reg) { out = append(out, vals) }
	err := e.evalOuter(0)
	if err == nil {
		err = e.evalTile(refs, t)
	}
	if err != nil {
		panic(fmt.Sprintf("sinter/kernel/ptx: BUG: %v", err))
	}
	return out
}
