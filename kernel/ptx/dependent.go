package ptx

import (
	"fmt"
	"strings"
)

// Kernels that depend on each other may overlap, where the driver was told so: a kernel is
// launched when all blocks of the one before it have begun and said that their dependents
// may come, and its blocks wait for that one to end. What a launch costs is then paid while
// the kernel before runs. Launched in any other way, both words do nothing.
//
// Every entry has them near its beginning, and waits before it touches global memory, to read or
// to write: the kernel before may still read what this one overwrites. Before, it may ask for what
// it will read to be brought to the cache of the device, where whoever writes it meets it. No
// block ends without having waited. So a kernel ends after all before it have, and one that waits for the
// kernel before it has waited for all of them. And since a kernel is launched only when
// no block of those before it is still to begin, blocks that wait take no room from blocks
// that are waited for. Dependents may come when a block has waited itself, so that one
// kernel waits while one runs: of several that wait, the later ones lie where room was left,
// many on one multiprocessor, and run there (softmax of 256 rows took twice as long).
const (
	launchDependents = "griddepcontrol.launch_dependents"
	waitForGrids     = "griddepcontrol.wait"
	prefetchLine     = "prefetch.global.L2"
)

// waitHere has the entry wait for the kernel before it behind what its body has so far, which
// is arithmetic alone.
func (a *asm) waitHere() {
	a.early = a.body.String()
	a.body.Reset()
}

// waits reports whether entries wait for the kernel before them; see [Entry].
func (t Target) waits() bool { return t.Major >= 9 }

// waitsFirst checks that an entry for devices that know how waits for the kernel before it,
// in all threads, before it does anything but arithmetic and reads of parameters.
func (p *parsed) waitsFirst() error {
	knows := strings.HasPrefix(p.arch, "sm_9")
	for i := range p.code {
		in := &p.code[i]
		if !knows {
			if strings.HasPrefix(in.op, "griddepcontrol.") {
				return fmt.Errorf("line %d: %s: unknown to %s", in.line, in.op, p.arch)
			}
			continue
		}
		if in.op == waitForGrids && in.guard == "" {
			return nil
		}
		if in.label != "" || !harmless(in) {
			return fmt.Errorf("line %d: %s%s before the kernel before has ended", in.line, in.label, in.op)
		}
	}
	if knows {
		return fmt.Errorf("the entry does not wait for the kernel before it")
	}
	return nil
}

// harmless reports whether an instruction may stand before the wait: it goes straight on, and
// touches no memory but parameters.
func harmless(in *inst) bool {
	switch name, _, _ := strings.Cut(in.op, "."); name {
	case "ld":
		return strings.HasPrefix(in.op, "ld.param.")
	case "mov", "cvt", "cvta", "mapa", "setp", "selp", "not", "neg", "and", "or", "xor", "shl", "shr", "bfe", "bfi", "popc", "bfind",
		"add", "sub", "mul", "mad", "div", "rem", "min", "max", "fma", "sqrt", "rcp":
		return true
	}
	return in.op == launchDependents || in.op == prefetchLine
}
