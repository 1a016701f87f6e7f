package ptx

import (
	"fmt"
	"strings"
)

// addressClass is that of a memory operand: addresses in shared memory may be of 32 bits.
func addressClass(in *inst, i int) class {
	if strings.Contains(in.op, ".shared") && i < len(in.args) && strings.HasPrefix(in.args[i].name, classPrefix[b32]) {
		return b32
	}
	return b64
}

// hopper checks the instructions of kernels for the matrix units, whose bits are those of
// the kind of device: approximations, with the same bits on all devices of a kind, are
// part of their language. It reports whether it knows the instruction.
func (c *checker) hopper(in *inst) (known bool, err error) {
	sources := func(classes ...class) error {
		if len(in.args) < len(classes) {
			return fmt.Errorf("%d operands, expected %d", len(in.args), len(classes))
		}
		for i, want := range classes {
			if err := c.source(in.args[i], want); err != nil {
				return err
			}
		}
		return nil
	}
	// into checks an instruction with a result.
	into := func(result class, classes ...class) error {
		if len(in.args) != 1+len(classes) {
			return fmt.Errorf("%d operands, expected %d", len(in.args), 1+len(classes))
		}
		for i, want := range classes {
			if err := c.source(in.args[1+i], want); err != nil {
				return err
			}
		}
		return c.result(in.args[0], result)
	}
	switch op := in.op; {
	case strings.HasPrefix(op, "wgmma.mma_async"):
		return true, c.multiply(in)
	case strings.HasPrefix(op, "wgmma."), strings.HasPrefix(op, "fence."), strings.HasPrefix(op, "setmaxnreg."):
		return true, nil
	case op == "prefetch.tensormap":
		return true, sources(b64)
	case strings.HasPrefix(op, "mbarrier.init"):
		return true, sources(b32)
	case strings.HasPrefix(op, "mbarrier.arrive"):
		if len(in.args) < 2 || in.args[0].name != "_" {
			return true, fmt.Errorf("a barrier's state is not kept")
		}
		return true, c.source(in.args[1], b32)
	case strings.HasPrefix(op, "mbarrier.try_wait"):
		return true, into(pred, b32, b32)
	case strings.HasPrefix(op, "cp.async.bulk.tensor."):
		if err := sources(b32); err != nil {
			return true, err
		}
		box := in.args[1]
		if len(in.args) != 3 || box.kind != opndBox || !strings.Contains(op, fmt.Sprintf(".tensor.%dd.", len(box.group))) {
			return true, fmt.Errorf("operands do not fit")
		}
		if err := c.read(box.name, b64); err != nil {
			return true, err
		}
		for _, r := range box.group {
			if err := c.read(r, b32); err != nil {
				return true, err
			}
		}
		return true, c.source(in.args[2], b32)
	case strings.HasPrefix(op, "cp.async.bulk.shared"):
		return true, sources(b32, b64, b32, b32)
	case op == "bar.red.or.pred":
		return true, into(pred, b32, b32, pred)
	case op == "ex2.approx.ftz.f32" && c.p.maps > 0, op == "lg2.approx.f32" && c.p.maps > 0:
		return true, into(b32, b32)
	case op == "cvt.rn.bf16x2.f32", op == "cvt.rn.f16x2.f32":
		return true, into(b32, b32, b32)
	}
	return false, nil
}

// multiply checks a product on the matrix units: sums, both operands as descriptors or the
// first one as four registers, and whether the sums begin anew.
func (c *checker) multiply(in *inst) error {
	if len(in.args) < 4 || in.args[0].kind != opndGroup {
		return fmt.Errorf("%d operands", len(in.args))
	}
	var columns int
	if _, err := fmt.Sscanf(in.op, "wgmma.mma_async.sync.aligned.m64n%dk16.f32.", &columns); err != nil {
		return err
	}
	sums := in.args[0].group
	if 2*len(sums) != columns || columns%8 != 0 || columns > 256 {
		return fmt.Errorf("%d sums of %d columns", len(sums), columns)
	}
	left := b64
	if in.args[1].kind == opndGroup {
		if left = b32; len(in.args[1].group) != 4 {
			return fmt.Errorf("%d registers of an operand", len(in.args[1].group))
		}
	}
	for i, want := range []class{left, b64, pred} {
		if err := c.source(in.args[1+i], want); err != nil {
			return err
		}
	}
	for _, r := range sums { // which may begin anew
		if err := c.write(r, b32); err != nil {
			return err
		}
	}
	return nil
}
