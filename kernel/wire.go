package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/sinter-go/sinter/internal/wire"
	"github.com/sinter-go/sinter/ir"
)

// WireVersion is the version of the wire form of kernels, and of the meaning of
// their instructions: it changes with either.
const WireVersion = 1

// Limits of a kernel in wire form.
const (
	maxWireName  = 4096
	maxWireParts = 1 << 16 // arguments, parameters, reductions, rares
	maxWireBody  = 1 << 20 // instructions
	maxWireTree  = 1 << 24 // elements of a chunk
)

// AppendWire appends the binary form of the kernel to b: numbers as unsigned
// varints of the least length, references plus one, immediates as they are.
//
//	version name axes:{kind} args:{type dir gather access...} params:{type}
//	body:{op type a b c imm} reductions:{kind tree-kind chunk lanes}
//	rares:{mask from to}
//
// Kernels with equal fields have equal bytes, and no others do.
func (k *Kernel) AppendWire(b []byte) []byte {
	u := func(v uint64) { b = binary.AppendUvarint(b, v) }
	u(WireVersion)
	u(uint64(len(k.Name)))
	b = append(b, k.Name...)
	u(uint64(len(k.Axes)))
	for _, a := range k.Axes {
		u(uint64(a))
	}
	u(uint64(len(k.Args)))
	for _, a := range k.Args {
		u(uint64(a.Type))
		u(uint64(a.Dir))
		gather := uint64(0)
		if a.Gather {
			gather = 1
		}
		u(gather)
		for _, c := range a.Access {
			u(uint64(c))
		}
	}
	u(uint64(len(k.Params)))
	for _, t := range k.Params {
		u(uint64(t))
	}
	u(uint64(len(k.Body)))
	for i := range k.Body {
		in := &k.Body[i]
		u(uint64(in.Op))
		u(uint64(in.Type))
		u(uint64(in.A + 1))
		u(uint64(in.B + 1))
		u(uint64(in.C + 1))
		u(in.Imm)
	}
	u(uint64(len(k.Reductions)))
	for _, r := range k.Reductions {
		u(uint64(r.Kind))
		u(uint64(r.Tree.Kind))
		u(uint64(r.Tree.Chunk))
		u(uint64(r.Tree.Lanes))
	}
	u(uint64(len(k.Rares)))
	for _, r := range k.Rares {
		u(uint64(r.Mask))
		u(uint64(r.From))
		u(uint64(r.To))
	}
	return b
}

// DecodeWire reads a kernel, which verifies and has no other encoding. Bytes that
// no kernel encodes to are refused with an error of kind [ir.ErrFormat]; hostile
// bytes cost time and memory in proportion to their number.
func DecodeWire(b []byte) (*Kernel, error) {
	r := wireReader{wire.Reader{B: b}}
	if v := r.Uint("version", 1<<32); r.Err == nil && v != WireVersion {
		r.Fail("kernel version is %d, expected %d", v, WireVersion)
	}
	k := &Kernel{}
	n := r.Count("bytes of the name", maxWireName, 1)
	k.Name = string(r.B[:n])
	r.B = r.B[n:]
	if !utf8.ValidString(k.Name) {
		r.Fail("the name is not UTF-8")
	}
	for n := r.Count("axes", MaxAxes, 1); n > 0 && r.Err == nil; n-- {
		k.Axes = append(k.Axes, AxisKind(r.Uint("kind of axis", uint64(Reduced))))
	}
	for n := r.Count("arguments", maxWireParts, 3+len(k.Axes)); n > 0 && r.Err == nil; n-- {
		a := Arg{Type: r.dtype(), Dir: Direction(r.Uint("direction", uint64(Out)))}
		a.Gather = r.Uint("gather flag", 1) == 1
		a.Access = make([]Access, len(k.Axes))
		for i := range a.Access {
			a.Access[i] = Access(r.Uint("access class", uint64(Broadcast)))
		}
		k.Args = append(k.Args, a)
	}
	for n := r.Count("parameters", maxWireParts, 1); n > 0 && r.Err == nil; n-- {
		k.Params = append(k.Params, r.dtype())
	}
	for n := r.Count("instructions", maxWireBody, 6); n > 0 && r.Err == nil; n-- {
		in := Instr{Op: Op(r.Uint("instruction", uint64(numOps)-1)), Type: r.dtype()}
		in.A, in.B, in.C = r.ref(), r.ref(), r.ref()
		in.Imm = r.Uint("immediate", 1<<64-1)
		k.Body = append(k.Body, in)
	}
	for n := r.Count("reductions", maxWireParts, 4); n > 0 && r.Err == nil; n-- {
		k.Reductions = append(k.Reductions, r.reduction())
	}
	for n := r.Count("rare blocks", maxWireParts, 3); n > 0 && r.Err == nil; n-- {
		most := uint64(len(k.Body))
		k.Rares = append(k.Rares, Rare{Mask: Ref(r.Uint("mask", most)), From: Ref(r.Uint("start of a block", most)), To: Ref(r.Uint("end of a block", most))})
	}
	r.End()
	if r.Err == nil {
		r.Err = k.verifyWire()
	}
	if r.Err != nil {
		return nil, &ir.Error{Kind: ir.ErrFormat, Msg: "kernel in wire form", Cause: r.Err}
	}
	return k, nil
}

// verifyWire checks what a kernel of this program cannot have wrong.
func (k *Kernel) verifyWire() error {
	reads := make([]bool, len(k.Reductions))
	for i := range k.Body {
		if op := k.Body[i].Op; (op == OpReduce || op == OpScan) && k.Body[i].Imm < uint64(len(reads)) {
			reads[k.Body[i].Imm] = true
		}
	}
	for i, used := range reads {
		if !used {
			return fmt.Errorf("reduction %d is not used", i)
		}
	}
	for i, r := range k.Rares {
		switch {
		case r.From > r.To || int(r.Mask) >= len(k.Body) || r.Mask >= r.From && r.From < r.To:
			return fmt.Errorf("rare block %d is [%d,%d) under %%%d", i, r.From, r.To, r.Mask)
		case k.Body[r.Mask].Type != ir.Bool:
			return fmt.Errorf("the mask of rare block %d is %s", i, k.Body[r.Mask].Type)
		}
	}
	return k.Verify()
}

// wireReader reads the parts of a kernel.
type wireReader struct{ wire.Reader }

func (r *wireReader) dtype() ir.DType {
	d := ir.DType(r.Uint("dtype", 255))
	if r.Err == nil && !d.Valid() {
		r.Fail("dtype %d is unknown", uint8(d))
	}
	return d
}

func (r *wireReader) ref() Ref { return Ref(r.Uint("operand", maxWireBody)) - 1 }

var errTree = errors.New("a summation tree of another form")

func (r *wireReader) reduction() Reduction {
	out := Reduction{Kind: ReduceKind(r.Uint("kind of reduction", uint64(HalfDot)))}
	t := &out.Tree
	t.Kind = TreeKind(r.Uint("kind of tree", uint64(Sequential)))
	t.Chunk, t.Lanes = int(r.Uint("chunk", maxWireTree)), int(r.Uint("lanes", maxWireTree))
	if r.Err == nil && *t != (Tree{}) && (t.Chunk < 1 || t.Lanes < 1 || t.Lanes&(t.Lanes-1) != 0 || t.Lanes > t.Chunk) {
		r.Err = errTree
	}
	return out
}
