package ptx

import "fmt"

// slotKind says what a launch puts into a parameter.
type slotKind uint8

const (
	slotExtent        slotKind = iota // extent of axis i
	slotStart                         // first logical index of axis i
	slotFull                          // unsliced extent of axis i
	slotPointer                       // address of the first element of argument i
	slotStride                        // bytes from one element of argument i to the next along axis j
	slotGatherStride                  // bytes, along the gathered axis of argument i
	slotGatherExtent                  // extent of the gathered axis of argument i
	slotScalar                        // scalar parameter i
	slotItems                         // number of work items: threads, rows or columns
	slotGroup                         // number of elements of the reduced group
	slotChunks                        // number of chunks of the group
	slotScratch                       // address of scratch memory, 0 if none
	slotFault                         // address of the fault word, 0 if none
	slotInner                         // work items along the innermost axis
	slotRows                          // rows of a matrix of results
	slotColumns                       // and its columns
	slotNumber                        // number i of a native kernel, which says what it is
	slotOperand                       // address of operand i of a product, wherever it lies
	slotOperandStride                 // bytes from its lines or steps to the next, and between its matrices
)

// slot is one 8-byte kernel parameter.
type slot struct {
	kind slotKind
	i, j int
}

func (s slot) String() string {
	switch s.kind {
	case slotExtent:
		return fmt.Sprintf("extent of axis %d", s.i)
	case slotStart:
		return fmt.Sprintf("start of axis %d", s.i)
	case slotFull:
		return fmt.Sprintf("full extent of axis %d", s.i)
	case slotPointer:
		return fmt.Sprintf("arg%d", s.i)
	case slotStride:
		return fmt.Sprintf("arg%d stride along axis %d", s.i, s.j)
	case slotGatherStride:
		return fmt.Sprintf("arg%d gather stride", s.i)
	case slotGatherExtent:
		return fmt.Sprintf("arg%d gather extent", s.i)
	case slotScalar:
		return fmt.Sprintf("scalar %d", s.i)
	case slotItems:
		return "work items"
	case slotGroup:
		return "group elements"
	case slotChunks:
		return "chunks"
	case slotScratch:
		return "scratch"
	case slotFault:
		return "fault word"
	case slotRows:
		return "rows"
	case slotColumns:
		return "columns"
	case slotOperand:
		return fmt.Sprintf("operand %d", s.i)
	case slotOperandStride:
		return fmt.Sprintf("operand %d stride %d", s.i, s.j)
	case slotNumber:
		return fmt.Sprintf("number %d", s.i)
	default:
		return "items along the innermost axis"
	}
}

// slotReg returns a register with the value of a parameter, loaded in the head.
func (a *asm) slotReg(kind slotKind, i, j int) reg {
	s := slot{kind, i, j}
	if r, ok := a.slotRegs[s]; ok {
		return r
	}
	r := a.def(b64, "ld.param.u64", fmt.Sprintf("[a%d]", len(a.slots)))
	a.slots = append(a.slots, s)
	a.slotRegs[s] = r
	return r
}

// slotReg32 is the low half of a parameter.
func (a *asm) slotReg32(kind slotKind, i int) reg {
	return a.once(fmt.Sprintf("low of %d %d", kind, i), func() reg { return a.def(b32, "cvt.u32.u64", a.slotReg(kind, i, 0)) })
}
