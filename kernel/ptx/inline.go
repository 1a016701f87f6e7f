package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// elementwiseText makes a kernel of a text over f32, along one axis: argument i is name i,
// the last one is y. A text that does not parse to a kernel is a fault of this package.
func elementwiseText(block *ir.Block, names ...string) *kernel.Kernel {
	b := kernel.NewBuilder("text", []kernel.AxisKind{kernel.Parallel})
	unit := []kernel.Access{kernel.Unit}
	values := map[string]kernel.Ref{}
	for _, name := range names {
		values[name] = b.Load(b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.In, Access: unit}))
	}
	values, err := b.Expand(block, kernel.Env{T: ir.F32, Names: values})
	if err != nil {
		panic(fmt.Sprintf("sinter/kernel/ptx: BUG: %v", err))
	}
	b.Store(b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.Out, Access: unit}), values["y"])
	return b.K
}

// inline evaluates a kernel of [elementwiseText] in the midst of another text: in is the
// values of each argument, for all lanes, and the results are those of the lanes.
func (a *asm) inline(k *kernel.Kernel, in ...[]reg) (out []reg) {
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
	t.store = func(_ *kernel.Instr, vals []reg) { out = vals }
	err := e.evalOuter(0)
	if err == nil {
		err = e.evalTile(refs, t)
	}
	if err != nil {
		panic(fmt.Sprintf("sinter/kernel/ptx: BUG: %v", err))
	}
	return out
}
