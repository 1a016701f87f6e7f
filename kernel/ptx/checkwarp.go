package ptx

import "fmt"

// warp checks the instructions by which a warp reads matrices from shared memory and
// multiplies them, and copies that come to shared memory asynchronously. It reports whether
// it knows the instruction.
func (c *checker) warp(in *inst) (known bool, err error) {
	switch in.op {
	case readMatrices, readTransposed:
		if len(in.args) != 2 || in.args[1].kind != opndMem {
			return true, fmt.Errorf("%d operands, expected registers and an address", len(in.args))
		}
		if err := c.source(in.args[1], addressClass(in, 1)); err != nil {
			return true, err
		}
		return true, c.words(in.args[0], 4, c.write)
	case multiplyBF16, multiplyF16, multiplyTF32:
		if len(in.args) != 4 {
			return true, fmt.Errorf("%d operands, expected 4", len(in.args))
		}
		for i, n := range []int{4, 2, 4} {
			if err := c.words(in.args[1+i], n, c.read); err != nil {
				return true, err
			}
		}
		return true, c.words(in.args[0], 4, c.write)
	case "cp.async.cg.shared.global", "cp.async.ca.shared.global":
		if len(in.args) != 4 || in.args[0].kind != opndMem || in.args[1].kind != opndMem || in.args[2].kind != opndImm {
			return true, fmt.Errorf("operands do not fit")
		}
		if n := in.args[2].value; n != 16 && (in.op == "cp.async.cg.shared.global" || n != 4 && n != 8) {
			return true, fmt.Errorf("copies of %d bytes", n)
		}
		for i, want := range []class{addressClass(in, 0), b64, b32, b32} {
			if err := c.source(in.args[i], want); err != nil {
				return true, err
			}
		}
		return true, nil
	case "cp.async.wait_group":
		if len(in.args) != 1 || in.args[0].kind != opndImm || in.args[0].value < 0 {
			return true, fmt.Errorf("waits for no number of groups")
		}
		return true, nil
	}
	return false, nil
}

// words checks a group of so many registers of 32 bits.
func (c *checker) words(o operand, n int, use func(name string, want class) error) error {
	if o.kind != opndGroup || len(o.group) != n {
		return fmt.Errorf("%d registers, expected %d", len(o.group), n)
	}
	for _, r := range o.group {
		if err := use(r, b32); err != nil {
			return err
		}
	}
	return nil
}
