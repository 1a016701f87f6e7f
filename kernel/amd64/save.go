package amd64

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"runtime"
	"sync"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// codeVersion is the version of saved code: of its form, of the context block, and
// of what this package promises of code that it loads. It changes with any of them.
const codeVersion = 2

// Save appends the code of a kernel to b, so that [Load] makes it again in a
// process with the same [BuildID]. It is position-independent; what runs beside the
// main code, for long rows, for several reduced axes and for permuted arguments, is
// saved if it was made.
func (c *Code) Save(b []byte) []byte {
	b = c.program.append(b)
	for _, v := range []*Code{c.variants.stream.Load(), c.nestCode(), c.permutedCode()} {
		if v == nil {
			b = binary.AppendVarint(b, 0)
			continue
		}
		b = v.program.append(binary.AppendVarint(b, 1))
	}
	return b
}

func (c *Code) nestCode() *Code {
	if c.nest == nil {
		return nil
	}
	return c.nest.made.Load()
}

func (c *Code) permutedCode() *Code {
	if c.permuted == nil {
		return nil
	}
	return c.permuted.made.Load()
}

func (p *program) append(b []byte) []byte {
	u := func(v int) { b = binary.AppendVarint(b, int64(v)) }
	flag := func(v bool) {
		n := 0
		if v {
			n = 1
		}
		u(n)
	}
	for _, v := range []int{p.ctxSize, p.lanes, p.vAxis, p.uAxis, p.rAxis, p.rFrom, p.unroll, p.block, p.cost} {
		u(v)
	}
	flag(p.byRows)
	flag(p.faults)
	u(len(p.slots))
	for _, s := range p.slots {
		u(int(s.off))
		u(int(s.typ))
		u(s.index)
		flag(s.extent)
		flag(s.launch)
	}
	u(len(p.buffers))
	for _, w := range p.buffers {
		u(int(w))
	}
	u(len(p.arrays))
	for _, a := range p.arrays {
		u(int(a.word))
		u(a.size)
		u(a.chunk)
		flag(a.whole)
	}
	u(len(p.code))
	return append(b, p.code...)
}

// BuildID names what generates code of a level here: saved code is good where it is
// the same. It holds the architecture, the level, the layout of the context block
// and, since versions are easily forgotten, the code of a few kernels.
func BuildID(level Level) string {
	if level > AVX512 {
		return ""
	}
	return buildIDs[level]()
}

var buildIDs = [...]func() string{
	AVX2:   sync.OnceValue(func() string { return buildID(AVX2) }),
	AVX512: sync.OnceValue(func() string { return buildID(AVX512) }),
}

func buildID(level Level) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %d %d %d %d %d\n", kernel.WireVersion, kernel.MaxAxes, wFault, wIndex, wArgs, argSize)
	for _, k := range probes() {
		for _, stream := range []bool{false, true} {
			h.Write(k.AppendWire(nil))
			p, err := generate(k, level, stream)
			if err != nil {
				fmt.Fprintln(h, err)
				continue
			}
			h.Write(p.append(nil))
		}
	}
	return fmt.Sprintf("%s/%s/%d/%s", runtime.GOARCH, level, codeVersion, hex.EncodeToString(h.Sum(nil)[:16]))
}

// probes are kernels that between them use every part of the generator.
func probes() []*kernel.Kernel {
	const none = kernel.None
	par, red := []kernel.AxisKind{kernel.Parallel, kernel.Parallel}, []kernel.AxisKind{kernel.Parallel, kernel.Reduced}
	arg := func(t ir.DType, dir kernel.Direction, access ...kernel.Access) kernel.Arg {
		return kernel.Arg{Type: t, Dir: dir, Access: access}
	}
	in := func(op kernel.Op, t ir.DType, imm uint64, of ...kernel.Ref) kernel.Instr {
		refs := [3]kernel.Ref{none, none, none}
		copy(refs[:], of)
		return kernel.Instr{Op: op, Type: t, A: refs[0], B: refs[1], C: refs[2], Imm: imm}
	}
	s, u, b := kernel.Strided, kernel.Unit, kernel.Broadcast
	elementwise := &kernel.Kernel{Name: "probe1", Axes: par, Params: []ir.DType{ir.F32},
		Args: []kernel.Arg{arg(ir.F32, kernel.In, s, u), arg(ir.F16, kernel.In, b, u), arg(ir.F32, kernel.Out, s, u)},
		Body: []kernel.Instr{in(kernel.OpLoad, ir.F32, 0), in(kernel.OpLoad, ir.F16, 1), in(kernel.OpCvt, ir.F32, 0, 1), in(kernel.OpParam, ir.F32, 0),
			in(kernel.OpFma, ir.F32, 0, 0, 2, 3), in(kernel.OpDiv, ir.F32, 0, 4, 0), in(kernel.OpLt, ir.Bool, 0, 5, 3), in(kernel.OpMax, ir.F32, 0, 4, 2),
			in(kernel.OpCvt, ir.I32, 0, 7), in(kernel.OpCvt, ir.F32, 0, 8), in(kernel.OpSelect, ir.F32, 0, 6, 9, 5), in(kernel.OpSqrt, ir.F32, 0, 10),
			in(kernel.OpRint, ir.F32, 0, 11), in(kernel.OpStore, ir.F32, 2, 12)}}
	integers := &kernel.Kernel{Name: "probe2", Axes: par,
		Args: []kernel.Arg{arg(ir.I64, kernel.In, s, s), {Type: ir.F64, Access: []kernel.Access{s, u}, Gather: true}, arg(ir.F64, kernel.Out, s, u)},
		Body: []kernel.Instr{in(kernel.OpLoad, ir.I64, 0), in(kernel.OpGather, ir.F64, 1, 0), in(kernel.OpIndex, ir.I64, 1), in(kernel.OpMul, ir.I64, 0, 0, 2),
			in(kernel.OpCvt, ir.F64, 0, 3), in(kernel.OpAdd, ir.F64, 0, 1, 4), in(kernel.OpStore, ir.F64, 2, 5)}}
	rows := func(name string, t kernel.Tree, kind kernel.ReduceKind, x []kernel.Access) *kernel.Kernel {
		return &kernel.Kernel{Name: name, Axes: red, Reductions: []kernel.Reduction{{Kind: kind, Tree: t}},
			Args: []kernel.Arg{arg(ir.F32, kernel.In, x...), arg(ir.F32, kernel.In, x...), arg(ir.F32, kernel.Out, x...)},
			Body: []kernel.Instr{in(kernel.OpLoad, ir.F32, 0), in(kernel.OpLoad, ir.F32, 1), in(kernel.OpMul, ir.F32, 0, 0, 1),
				in(kernel.OpReduce, ir.F32, 0, 2), in(kernel.OpSub, ir.F32, 0, 0, 3), in(kernel.OpStore, ir.F32, 2, 4)}}
	}
	scan := rows("probe5", kernel.ScanTree, kernel.Sum, []kernel.Access{s, u})
	scan.Body[3].Op = kernel.OpScan
	return []*kernel.Kernel{elementwise, integers,
		rows("probe3", kernel.StripedTree, kernel.Sum, []kernel.Access{s, u}),
		rows("probe4", kernel.ColumnsTree, kernel.Sum, []kernel.Access{u, s}),
		rows("probe6", kernel.StripedTree, kernel.M2, []kernel.Access{s, u}),
		rows("probe7", kernel.StripedTree, kernel.Max, []kernel.Access{u, s}),
		scan}
}
