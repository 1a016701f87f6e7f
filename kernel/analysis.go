package kernel

// Level says over which axes a value varies.
type Level uint8

// The levels, in order: an instruction has the highest level of its operands.
const (
	UniformLevel Level = iota
	RowLevel
	ElementLevel
)

// Levels returns the level of every value. A load is at element level if its
// argument varies over a reduced axis, at row level if it varies over a parallel
// one only; a reduce result is at row level; a scan result at element level. In
// a kernel without reduced axes nothing is above row level.
func (k *Kernel) Levels() []Level {
	levels := make([]Level, len(k.Body))
	for i, in := range k.Body {
		switch in.Op {
		case OpConst, OpParam, OpExtent:
			levels[i] = UniformLevel
		case OpIndex:
			levels[i] = RowLevel
			if k.Axes[in.Imm] == Reduced {
				levels[i] = ElementLevel
			}
		case OpReduce:
			levels[i] = RowLevel
		case OpScan:
			levels[i] = ElementLevel
		default:
			level := UniformLevel
			if in.Op == OpLoad || in.Op == OpGather || in.Op == OpStore {
				level = k.ArgLevel(int(in.Imm))
			}
			for _, r := range [...]Ref{in.A, in.B, in.C} {
				if r != None {
					level = max(level, levels[r])
				}
			}
			levels[i] = level
		}
	}
	return levels
}

// ArgLevel returns the level at which an argument is read or written.
func (k *Kernel) ArgLevel(arg int) Level {
	level := UniformLevel
	for axis, access := range k.Args[arg].Access {
		if access == Broadcast {
			continue
		}
		if k.Axes[axis] == Reduced {
			return ElementLevel
		}
		level = RowLevel
	}
	return level
}

// Stages returns, for every instruction, the pass over the reduced axes in which
// it is evaluated: 0 for what depends on no reduction, and for the result of a
// reduction or scan one more than the stage of its operand. A reduce instruction
// of stage s accumulates during pass s-1. Element-level values may be needed
// again in a later pass; they are then evaluated again.
func (k *Kernel) Stages() []int {
	stages := make([]int, len(k.Body))
	for i, in := range k.Body {
		s := 0
		for _, r := range [...]Ref{in.A, in.B, in.C} {
			if r != None {
				s = max(s, stages[r])
			}
		}
		if in.Op == OpReduce || in.Op == OpScan {
			s++
		}
		stages[i] = s
	}
	return stages
}

// ReducedAxes returns the half-open range of reduced axes, empty if there are none.
func (k *Kernel) ReducedAxes() (from, to int) {
	for i, a := range k.Axes {
		if a == Reduced {
			if to == 0 {
				from = i
			}
			to = i + 1
		}
	}
	return from, to
}

// Operands calls f for every value operand of an instruction.
func (in *Instr) Operands(f func(Ref)) {
	for _, r := range [...]Ref{in.A, in.B, in.C} {
		if r != None {
			f(r)
		}
	}
}

// hasFault reports whether an instruction can note a fault.
func (in *Instr) hasFault() bool {
	switch in.Op {
	case OpGather:
		return true
	case OpDiv, OpRem:
		return !in.Type.IsFloat()
	}
	return false
}

// HasFault reports whether running the kernel can note a fault.
func (k *Kernel) HasFault() bool {
	for i := range k.Body {
		if k.Body[i].hasFault() {
			return true
		}
	}
	return false
}

// FaultArgs reports which arguments decide whether running the kernel notes a fault, and
// where: those of which the operands of instructions are made that may note one. What a
// gather looks up is none, unless another fault depends on it. It returns nil if the
// kernel notes no fault.
func (k *Kernel) FaultArgs() []bool {
	if !k.HasFault() {
		return nil
	}
	needed, args := make([]bool, len(k.Body)), make([]bool, len(k.Args))
	for i := len(k.Body) - 1; i >= 0; i-- {
		in := &k.Body[i]
		if needed[i] && (in.Op == OpLoad || in.Op == OpGather) {
			args[in.Imm] = true
		}
		if needed[i] || in.hasFault() {
			in.Operands(func(r Ref) { needed[r] = true })
		}
	}
	return args
}
