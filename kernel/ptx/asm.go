package ptx

import (
	"fmt"
	"strings"
)

// reg is the name of a virtual register; "" is none.
type reg string

// class is the kind of a virtual register.
type class uint8

const (
	b16 class = iota
	b32
	b64
	pred
	numClasses
)

// class is that of a register by its name.
func (r reg) class() class {
	for c, prefix := range classPrefix {
		if strings.HasPrefix(string(r), prefix) {
			return class(c)
		}
	}
	return b64
}

var classPrefix = [numClasses]string{b16: "%h", b32: "%r", b64: "%d", pred: "%p"}
var classType = [numClasses]string{b16: ".b16", b32: ".b32", b64: ".b64", pred: ".pred"}

// asm collects the text of one entry. The head runs before everything else:
// parameters and constants go there, so that they dominate all uses whatever
// loop the generator is in when it first needs them. It touches no memory but
// parameters: it runs while the kernel before may still be under way.
type asm struct {
	head, body strings.Builder
	early      string // of the body, what stands before the wait for the kernel before; see waitHere
	counts     [numClasses]int
	labels     int
	shared     int // bytes of static shared memory
	dynamic    int // bytes of shared memory that the launch gives
	maps       int // tensor maps, which come before the other parameters
	blocks     int // of a cluster; 0 without clusters
	perSM      int // blocks that a multiprocessor has registers for; 0 leaves it open
	slots      []slot
	slotRegs   map[slot]reg
	consts     map[string]reg
	// pairs are the words that hold two half registers, or were made of words, and bytes the
	// registers that hold a byte of one, as far as nothing branched since.
	pairs map[string]reg
	bytes map[reg]byteOf
}

func newAsm() *asm {
	return &asm{slotRegs: map[slot]reg{}, consts: map[string]reg{}, pairs: map[string]reg{}, bytes: map[reg]byteOf{}}
}

func (a *asm) reg(c class) reg {
	a.counts[c]++
	return reg(fmt.Sprintf("%s%d", classPrefix[c], a.counts[c]))
}

// op appends one instruction: the opcode, then comma-separated operands.
func (a *asm) op(opcode string, operands ...any) {
	emit(&a.body, "", opcode, operands)
}

// opIf appends an instruction guarded by a predicate; without one it is plain.
func (a *asm) opIf(p reg, opcode string, operands ...any) {
	guard := ""
	if p != "" {
		guard = "@" + string(p) + " "
	}
	emit(&a.body, guard, opcode, operands)
}

// opUnless is opIf with the predicate negated.
func (a *asm) opUnless(p reg, opcode string, operands ...any) {
	emit(&a.body, "@!"+string(p)+" ", opcode, operands)
}

func emit(b *strings.Builder, guard, opcode string, operands []any) {
	b.WriteByte('\t')
	b.WriteString(guard)
	b.WriteString(opcode)
	for i, o := range operands {
		if i == 0 {
			b.WriteByte(' ')
		} else {
			b.WriteString(", ")
		}
		fmt.Fprint(b, o)
	}
	b.WriteString(";\n")
}

// to appends an instruction whose result is a fresh register.
func (a *asm) to(c class, opcode string, operands ...any) reg {
	r := a.reg(c)
	a.op(opcode, append([]any{r}, operands...)...)
	return r
}

// def is to, in the head.
func (a *asm) def(c class, opcode string, operands ...any) reg {
	r := a.reg(c)
	emit(&a.head, "", opcode, append([]any{r}, operands...))
	return r
}

// once is what make defines in the head, by a name: it is made the first time.
func (a *asm) once(name string, make func() reg) reg {
	if r, ok := a.consts[name]; ok {
		return r
	}
	r := make()
	a.consts[name] = r
	return r
}

// constant returns a register that holds the bits, defined once in the head.
func (a *asm) constant(c class, bits uint64) reg {
	text := fmt.Sprintf("0x%x", bits)
	return a.once(classType[c]+text, func() reg { return a.def(c, "mov"+classType[c], text) })
}

func (a *asm) label() string {
	a.labels++
	return fmt.Sprintf("L%d", a.labels)
}

// forget is for where words may change.
func (a *asm) forget() {
	clear(a.pairs)
	clear(a.bytes)
}

func (a *asm) place(label string) {
	fmt.Fprintf(&a.body, "%s:\n", label)
	a.forget()
}

// note appends a comment; golden files are read by people.
func (a *asm) note(format string, args ...any) {
	fmt.Fprintf(&a.body, "\t// "+format+"\n", args...)
}

// mem is a memory operand.
func mem(base reg, offset int64) string {
	switch {
	case offset == 0:
		return fmt.Sprintf("[%s]", base)
	default:
		return fmt.Sprintf("[%s+%d]", base, offset)
	}
}

// group is a vector operand.
func group(rs []reg) string {
	s := make([]string, len(rs))
	for i, r := range rs {
		s[i] = string(r)
	}
	return "{" + strings.Join(s, ", ") + "}"
}

// finish puts the entry together.
func (a *asm) finish(t Target, name string, threads int) string {
	var b strings.Builder
	version, arch := isa, t.arch()
	if a.maps > 0 {
		version, arch = hopperISA, "sm_90a"
	}
	if a.blocks > 0 {
		version = clusterISA
	}
	fmt.Fprintf(&b, ".version %s\n.target %s\n.address_size 64\n\n", version, arch)
	if a.dynamic > 0 {
		b.WriteString(".extern .shared .align 16 .b8 dyn[];\n\n")
	}
	fmt.Fprintf(&b, ".visible .entry %s(\n", name)
	for i := range a.maps {
		fmt.Fprintf(&b, "\t.param .align 64 .b8 m%d[%d],\n", i, MapBytes)
	}
	for i, s := range a.slots {
		comma := ","
		if i == len(a.slots)-1 {
			comma = ""
		}
		fmt.Fprintf(&b, "\t.param .u64 a%d%s // %s\n", i, comma, s)
	}
	fmt.Fprintf(&b, ")\n.maxntid %d, 1, 1\n", threads)
	if n := max(a.perSM, min(a.maps, 1)); n > 0 {
		fmt.Fprintf(&b, ".minnctapersm %d\n", n)
	}
	if a.blocks > 0 {
		fmt.Fprintf(&b, ".explicitcluster\n.reqnctapercluster %d, 1, 1\n", a.blocks)
	}
	b.WriteString("{\n")
	for c := class(0); c < numClasses; c++ {
		if a.counts[c] > 0 {
			fmt.Fprintf(&b, "\t.reg %s %s<%d>;\n", classType[c], classPrefix[c], a.counts[c]+1)
		}
	}
	if a.shared > 0 {
		fmt.Fprintf(&b, "\t.shared .align 16 .b8 sm[%d];\n", a.shared)
	}
	b.WriteString(a.head.String())
	b.WriteString(a.early)
	if t.waits() {
		emit(&b, "", waitForGrids, nil)
		emit(&b, "", launchDependents, nil)
	}
	b.WriteString(a.body.String())
	b.WriteString("\tret;\n}\n")
	return b.String()
}
