package ptx

import (
	"fmt"
	"strings"
)

// Check reads the text of an entry and reports the first thing that is wrong
// with it: a register undeclared, of the wrong class or read before it is
// written, a label missing, an instruction outside the language of this
// package, a form whose bits the hardware is free to choose (flushing to
// zero, approximations, contraction, rounding left open), or memory that is
// touched before the kernel before has ended.
func Check(text string) error {
	p, err := parse(text)
	if err != nil {
		return err
	}
	c := checker{p: p, written: map[string]bool{}, labels: map[string]bool{}}
	for _, in := range p.code {
		if in.label != "" {
			if c.labels[in.label] {
				return fmt.Errorf("line %d: label %s is there twice", in.line, in.label)
			}
			c.labels[in.label] = true
		}
	}
	for i := range p.code {
		in := &p.code[i]
		if in.label != "" {
			continue
		}
		if err := c.inst(in); err != nil {
			return fmt.Errorf("line %d: %s: %w", in.line, in.op, err)
		}
	}
	return p.waitsFirst()
}

type checker struct {
	p       *parsed
	written map[string]bool
	labels  map[string]bool
}

// classOfType is the register class of a PTX type in an instruction; narrow
// memory types use 32-bit registers.
func classOfType(t string) (class, bool) {
	switch t {
	case "b16", "f16", "bf16":
		return b16, true
	case "b32", "u32", "s32", "f32", "u8", "s8", "u16", "s16", "f16x2", "bf16x2", "tf32":
		return b32, true
	case "b64", "u64", "s64", "f64":
		return b64, true
	case "pred":
		return pred, true
	}
	return 0, false
}

// signature gives the class of the result, if there is one, and of the other
// register operands.
func signature(in *inst) (dst class, hasDst bool, src []class, err error) {
	parts := strings.Split(in.op, ".")
	last := parts[len(parts)-1]
	t, ok := classOfType(last)
	need := func(n int, cs ...class) (class, bool, []class, error) {
		if len(in.args) != n {
			return 0, false, nil, fmt.Errorf("%d operands, expected %d", len(in.args), n)
		}
		return cs[0], true, cs[1:], nil
	}
	if err := exact(parts, last); err != nil {
		return 0, false, nil, err
	}
	switch parts[0] {
	case "bra", "bar", "barrier", "ret":
		return 0, false, nil, nil
	case "prefetch":
		if in.op != prefetchLine {
			break
		}
		return 0, false, []class{addressClass(in, 0)}, nil
	case "griddepcontrol":
		if in.op != launchDependents && in.op != waitForGrids {
			break
		}
		return 0, false, nil, nil
	case "vote":
		return need(3, b32, pred, b32)
	case "cp":
		if in.op == "cp.async.commit_group" {
			return 0, false, nil, nil
		}
	}
	if !ok {
		return 0, false, nil, fmt.Errorf("unknown type .%s", last)
	}
	switch parts[0] {
	case "ld":
		return need(2, t, addressClass(in, 1))
	case "st", "red":
		if parts[1] == "async" { // the last is a barrier
			return 0, false, []class{b32, t, b32}, nil
		}
		return 0, false, []class{addressClass(in, 0), t}, nil
	case "atom":
		return need(3, t, b64, t)
	case "cvta":
		return need(2, b64, b64)
	case "mapa":
		return need(3, t, t, b32)
	case "mov", "not", "sqrt", "neg", "rcp":
		return need(2, t, t)
	case "bfind", "popc":
		return need(2, b32, t)
	case "cvt":
		to, ok := classOfType(parts[len(parts)-2])
		if !ok {
			return 0, false, nil, fmt.Errorf("unknown type .%s", parts[len(parts)-2])
		}
		// A 16-bit integer source stands in a half register.
		if last == "u16" {
			t = b16
		}
		if parts[len(parts)-2] == "u16" {
			to = b16
		}
		return need(2, to, t)
	case "setp":
		return need(3, pred, t, t)
	case "selp":
		return need(4, t, t, t, pred)
	case "shl", "shr":
		return need(3, t, t, b32)
	case "bfe", "prmt":
		return need(4, t, t, b32, b32)
	case "bfi":
		return need(5, t, t, t, b32, b32)
	case "mul", "mad":
		if parts[1] == "wide" && parts[0] == "mad" {
			return need(4, b64, b32, b32, b64)
		}
		if parts[1] == "wide" {
			return need(3, b64, b32, b32)
		}
		if parts[0] == "mad" {
			return need(4, t, t, t, t)
		}
		return need(3, t, t, t)
	case "fma":
		return need(4, t, t, t, t)
	case "add", "sub", "div", "rem", "min", "max", "and", "or", "xor":
		return need(3, t, t, t)
	case "shfl":
		return need(5, b32, b32, b32, b32, b32)
	case "dp4a":
		return need(4, b32, b32, b32, b32)
	}
	return 0, false, nil, fmt.Errorf("outside the language of this package")
}

// exact refuses forms that leave bits open.
func exact(parts []string, last string) error {
	has := func(s string) bool {
		for _, p := range parts {
			if p == s {
				return true
			}
		}
		return false
	}
	float := func(t string) bool {
		return strings.HasSuffix(strings.TrimSuffix(t, "x2"), "f16") || t == "f32" || t == "f64"
	}
	for _, bad := range []string{"ftz", "approx", "full", "sat", "relu"} {
		if has(bad) {
			return fmt.Errorf(".%s changes bits", bad)
		}
	}
	switch parts[0] {
	case "add", "sub", "mul", "div", "sqrt", "rcp", "fma", "mad":
		if float(last) && !has("rn") {
			return fmt.Errorf("float arithmetic without .rn")
		}
		if float(last) && parts[0] == "mad" {
			return fmt.Errorf("float mad may be contracted or not")
		}
	case "min", "max":
		if float(last) && !has("NaN") {
			return fmt.Errorf("drops NaN")
		}
	case "cvt":
		to := parts[len(parts)-2]
		switch {
		case strings.Join(parts, ".") == roundTF32: // what matrix units take
		case float(last) && !float(to) && !has("rzi"):
			return fmt.Errorf("float to integer without .rzi")
		case float(to) && !float(last) && !has("rn") && !has("rz"):
			return fmt.Errorf("integer to float without a rounding")
		}
	}
	return nil
}

func (c *checker) inst(in *inst) error {
	if in.guard != "" {
		if err := c.read(in.guard, pred); err != nil {
			return err
		}
	}
	if strings.HasPrefix(in.op, "bra") {
		if len(in.args) != 1 || !c.labels[in.args[0].name] {
			return fmt.Errorf("no such label")
		}
		return nil
	}
	for _, known := range []func(*inst) (bool, error){c.hopper, c.warp} {
		if done, err := known(in); done || err != nil {
			return err
		}
	}
	dst, hasDst, src, err := signature(in)
	if err != nil {
		return err
	}
	args := in.args
	if hasDst {
		args = args[1:]
	}
	for i, a := range args {
		if i >= len(src) {
			break
		}
		if err := c.source(a, src[i]); err != nil {
			return err
		}
	}
	if hasDst {
		return c.result(in.args[0], dst)
	}
	return nil
}

func (c *checker) source(a operand, want class) error {
	switch a.kind {
	case opndReg:
		return c.read(a.name, want)
	case opndMem:
		if strings.HasPrefix(a.name, "%") {
			return c.read(a.name, want)
		}
		if a.name == manyName && a.value >= 0 && int(a.value) < c.p.many {
			return nil
		}
		var n int
		if _, err := fmt.Sscanf(a.name, "a%d", &n); err != nil || n >= c.p.params {
			return fmt.Errorf("no parameter %s", a.name)
		}
	case opndGroup:
		for _, r := range a.group {
			if err := c.read(r, part16(a, want)); err != nil {
				return err
			}
		}
	case opndSymbol:
		if a.name == manyName && c.p.many > 0 {
			return nil
		}
		var n int
		if _, err := fmt.Sscanf(a.name, "m%d", &n); err == nil && n < c.p.maps {
			return nil
		}
		if (a.name != "sm" || c.p.shared == 0) && (a.name != "dyn" || !c.p.dynamic) {
			return fmt.Errorf("unknown symbol %s", a.name)
		}
	}
	return nil
}

// part16 is the class of the members of a group: vector accesses have members
// of the instruction's type, two-member moves of half its size.
func part16(a operand, want class) class {
	if len(a.group) == 2 {
		if r := a.group[0]; strings.HasPrefix(r, "%h") && want == b32 {
			return b16
		} else if strings.HasPrefix(r, "%r") && want == b64 {
			return b32
		}
	}
	return want
}

func (c *checker) result(a operand, want class) error {
	switch a.kind {
	case opndReg:
		return c.write(a.name, want)
	case opndGroup:
		for _, r := range a.group {
			if err := c.write(r, part16(a, want)); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("the result is no register")
}

func (c *checker) declared(name string, want class) error {
	prefix := classPrefix[want]
	var n int
	if _, err := fmt.Sscanf(strings.TrimPrefix(name, prefix), "%d", &n); err != nil || !strings.HasPrefix(name, prefix) {
		return fmt.Errorf("register %s, expected class %s", name, classType[want])
	}
	if n >= c.p.regs[prefix] {
		return fmt.Errorf("register %s is not declared", name)
	}
	return nil
}

func (c *checker) read(name string, want class) error {
	if err := c.declared(name, want); err != nil {
		return err
	}
	if !c.written[name] {
		return fmt.Errorf("register %s is read before it is written", name)
	}
	return nil
}

func (c *checker) write(name string, want class) error {
	if err := c.declared(name, want); err != nil {
		return err
	}
	c.written[name] = true
	return nil
}
