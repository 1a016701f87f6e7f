// Package kernel is the loop-level intermediate representation of one kernel,
// with its text form, its verifier, the language of scalar programs, and the
// reference interpreter.
//
// A [Kernel] is a loop nest over an iteration space of axes, each parallel or
// reduced, and a body: a list of machine-neutral scalar instructions in static
// single assignment form. Values live at one of three levels: uniform, row (they
// vary over parallel axes only) and element (they vary over the reduced axes
// too). A reduce instruction takes an element-level value to a row-level one
// along a fixed summation [Tree]; an element-level value that uses a reduced one
// begins a later stage, and [Kernel.Stages] says which loops that makes.
//
// Invariants between packages: the interpreter in this package defines the bits.
// Packages kernel/amd64 and kernel/ptx translate instructions one by one and may
// refuse a kernel, never approximate it. Extents and strides are launch
// parameters: a kernel depends only on the access class of each axis, so one
// compiled kernel serves every size. No instruction is ever contracted,
// reassociated or flushed to zero.
package kernel
