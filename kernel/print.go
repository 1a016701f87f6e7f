package kernel

import (
	"fmt"
	"math"
	"strings"

	"github.com/sinter-go/sinter/ir"
)

// String returns the text form of the kernel: one line per argument and
// instruction, with each value's level and stage, as the golden tests use it.
func (k *Kernel) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "kernel %s axes(", k.Name)
	for i, a := range k.Axes {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString([...]string{"p", "r"}[a])
	}
	b.WriteString(")\n")
	for i, a := range k.Args {
		fmt.Fprintf(&b, "  arg%d %s %s [", i, [...]string{"in", "out"}[a.Dir], a.Type)
		for j, c := range a.Access {
			if j > 0 {
				b.WriteByte(' ')
			}
			b.WriteByte("*1."[c])
		}
		b.WriteByte(']')
		if a.Gather {
			b.WriteString(" gather")
		}
		b.WriteByte('\n')
	}
	levels, stages := k.Levels(), k.Stages()
	for i := range k.Body {
		in := &k.Body[i]
		b.WriteString("  ")
		if in.Op != OpStore {
			fmt.Fprintf(&b, "%%%d %s = ", i, in.Type)
		}
		b.WriteString(in.Op.String())
		switch in.Op {
		case OpConst:
			b.WriteByte(' ')
			b.WriteString(formatBits(in.Type, in.Imm))
		case OpParam:
			fmt.Fprintf(&b, " p%d", in.Imm)
		case OpIndex, OpExtent:
			fmt.Fprintf(&b, " axis%d", in.Imm)
		case OpLoad, OpGather, OpStore:
			fmt.Fprintf(&b, " arg%d", in.Imm)
		case OpReduce, OpScan:
			r := k.Reductions[in.Imm]
			fmt.Fprintf(&b, ".%s %s", r.Kind, r.Tree)
		}
		in.Operands(func(r Ref) { fmt.Fprintf(&b, " %%%d", r) })
		fmt.Fprintf(&b, "  ; %s %d\n", [...]string{"uniform", "row", "element"}[levels[i]], stages[i])
	}
	for _, r := range k.Rares {
		fmt.Fprintf(&b, "  rare %%%d: %%%d..%%%d\n", r.Mask, r.From, r.To-1)
	}
	return b.String()
}

var reduceNames = [...]string{Sum: "sum", Prod: "prod", Max: "max", Min: "min", ArgMax: "argmax", ArgMin: "argmin", Dot: "dot", M2: "m2", PairDot: "pairdot", HalfDot: "halfdot"}

// String returns the name of the reduction, such as "sum".
func (k ReduceKind) String() string {
	if int(k) < len(reduceNames) {
		return reduceNames[k]
	}
	return "invalid"
}

func formatBits(t ir.DType, bits uint64) string {
	switch t {
	case ir.F32:
		return fmt.Sprintf("%x", math.Float32frombits(uint32(bits)))
	case ir.F64:
		return fmt.Sprintf("%x", math.Float64frombits(bits))
	case ir.I32:
		return fmt.Sprint(int32(bits))
	case ir.I64:
		return fmt.Sprint(int64(bits))
	}
	return fmt.Sprint(bits)
}
