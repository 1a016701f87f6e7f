package cuda

import (
	"errors"
	"fmt"

	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/cuda/cublaslt"
	"github.com/sinter-go/sinter/cuda/driver"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/gemm"
)

// Products says who multiplies matrices on a device.
//
// With cuBLASLt, a vendor's library that must be installed, products have its bits: sums are
// f32 in an order that depends on the shape, the layout, the version of the library and the
// GPU, and a bias is added before a result is rounded. So a request alone may differ in the
// last bits from one in a batch, and what is fused from what is not; and whether relu gives
// NaN or 0 for a NaN is the library's matter. That runs of one program on one kind of GPU give
// equal bits is the library's promise.
//
// The library takes products of two matrices of bf16 or f16, also in batches, with at most a
// bias along the columns and a relu behind them, as far as their rows or columns lie side by
// side. All others, such as those with a vector or with gelu, run as without it. Its calls are no part
// of CUDA graphs: what a segment launches before and after each of them is.
//
// With OwnTF32 kernels of the project's own multiply f32 on matrix units: operands are rounded
// to tf32 (the exponents of f32, 10 bits behind the point, ties away from 0) and sums are f32, 8
// products at a time. An element of a result is off by about 2^-10 of the sum of the absolute values
// of its products at most. Fused or not, and in any form, bits are the same; they are not those of
// the processors. Attention, LinearDynamic and linear algebra stay as they are; quantized weights of
// products of f32 are decoded into memory first.
type Products uint8

// Who multiplies matrices.
const (
	OwnProducts Products = iota // kernels of the project's own, always with the same bits
	CublasLt                    // cuBLASLt those of bf16 and f16
	CublasLtF32                 // cuBLASLt those of bf16, f16 and f32, the latter as sums of f32
	OwnTF32                     // kernels of the project's own, those of f32 rounded to tf32
)

var productNames = [...]string{OwnProducts: "own", CublasLt: "cublaslt", CublasLtF32: "cublaslt-f32", OwnTF32: "own-tf32"}

// String is own, own-tf32, cublaslt or cublaslt-f32.
func (p Products) String() string {
	if int(p) < len(productNames) {
		return productNames[p]
	}
	return fmt.Sprintf("products(%d)", uint8(p))
}

// ParseProducts reads what String writes.
func ParseProducts(s string) (Products, error) {
	for p, name := range productNames {
		if s == name {
			return Products(p), nil
		}
	}
	return 0, ir.Errorf(ir.ErrArgument, "products by %q, expected own, own-tf32, cublaslt or cublaslt-f32", s)
}

// library is cuBLASLt as it multiplies on a device. The lock of the gpu guards it.
type library struct {
	lt        *cublaslt.Library
	handle    *cublaslt.Handle
	f32       bool
	workspace driver.Ptr // products follow each other on the stream, so one serves all
	plans     map[asked]*cublaslt.Plan
	calls     []product // of one run
	others    []cpu.Bound
}

// asked is what a plan depends on: the problem, and of the addresses of its matrices and its
// bias what they are multiples of.
type asked struct {
	problem gemm.Problem
	align   [4]uint32
}

// product is one that a library is about to compute.
type product struct {
	name string
	plan *cublaslt.Plan
	at   cublaslt.Addresses
}

// workspaceBytes is what algorithms may use beside operands, and maxProducts bounds the
// plans of a device: all are dropped when there would be more.
const (
	workspaceBytes = 32 << 20
	maxProducts    = 1024
)

// openLibrary opens a library for a device. The context is current.
func (g *gpu) openLibrary(open func() (*cublaslt.Library, error), f32 bool) error {
	lt, err := open()
	if err != nil {
		return err
	}
	x := &library{lt: lt, f32: f32, plans: map[asked]*cublaslt.Plan{}}
	if x.handle, err = lt.NewHandle(); err != nil {
		return err
	}
	if x.workspace, err = g.stream.Alloc(workspaceBytes); err != nil {
		return errors.Join(err, x.handle.Close())
	}
	g.library = x
	return nil
}

// library reports whether a library multiplies.
func (p Products) library() bool { return p == CublasLt || p == CublasLtF32 }

// takes reports whether the library computes products of a form.
func (x *library) takes(f *gemm.Form) bool {
	return x != nil && f != nil && (f.Type != ir.F32 || x.f32)
}

// problem is what a library would be asked for a launch, and where; ok is false if none would.
func (p *program) problem(l *kernel.Launch) (problem gemm.Problem, at cublaslt.Addresses, ok bool) {
	if p.form == nil {
		return problem, at, false
	}
	if problem, ok = p.form.Problem(l); !ok {
		return problem, at, false
	}
	first := func(arg int) uint64 {
		o := &l.Args[arg]
		return uint64(uintptr(o.Base)) + uint64(o.Offset*int64(problem.Type.Size()))
	}
	at = cublaslt.Addresses{A: first(problem.A.Arg), B: first(problem.B.Arg), D: first(problem.D.Arg)}
	if problem.Bias >= 0 {
		at.Bias = first(problem.Bias)
	}
	return problem, at, true
}

// divide tells the parts that the library computes from the others. It has put nothing on
// the stream. mu is held and the context current.
func (g *gpu) divide(parts []cpu.Bound) (others []cpu.Bound, calls []product, err error) {
	x := g.library
	if x == nil {
		return parts, nil, nil
	}
	if len(x.plans)+len(parts) > maxProducts { // none of those below is dropped before it runs
		if err := x.drop(); err != nil {
			return nil, nil, g.productFailed(err)
		}
	}
	x.others, x.calls = x.others[:0], x.calls[:0]
	for i := range parts {
		p := parts[i].Program.(*program)
		problem, at, ok := p.problem(parts[i].Launch)
		if ok {
			plan, err := x.plan(problem, at)
			if err != nil {
				return nil, nil, g.productFailed(err)
			}
			if plan != nil {
				x.calls = append(x.calls, product{parts[i].Kernel.Name, plan, at})
				continue
			}
		}
		x.others = append(x.others, parts[i])
	}
	return x.others, x.calls, nil
}

// plan is the library's way to solve a problem, nil if it has none.
func (x *library) plan(problem gemm.Problem, at cublaslt.Addresses) (*cublaslt.Plan, error) {
	key := asked{problem, [4]uint32{cublaslt.Alignment(at.A), cublaslt.Alignment(at.B), cublaslt.Alignment(at.D), cublaslt.Alignment(at.Bias)}}
	if p, known := x.plans[key]; known {
		return p, nil
	}
	p, err := x.handle.Plan(problem, at, workspaceBytes)
	if err == nil {
		x.plans[key] = p
	}
	return p, err
}

// multiply puts products on the stream. mu is held and the context current.
func (g *gpu) multiply(calls []product) error {
	for i := range calls {
		if err := g.multiplyOne(&calls[i]); err != nil {
			return err
		}
	}
	return nil
}

func (g *gpu) multiplyOne(c *product) error {
	if g.ranges != nil {
		g.ranges.Push(byLibrary(c.name))
		defer g.ranges.Pop()
	}
	if err := c.plan.Run(c.at, uint64(g.library.workspace), workspaceBytes, g.stream.Handle()); err != nil {
		return g.productFailed(err)
	}
	g.stats.Products++
	return nil
}

// productFailed is the error of results that the library did not compute. It is not one
// after which the host, or another attempt, computes them.
func (g *gpu) productFailed(err error) error {
	return &ir.Error{Kind: ir.ErrDevice, Device: g.id, Msg: g.library.lt.Name() + " failed: " + err.Error(), Cause: err}
}

// engine is the name of the library where kernels and plans are shown.
const engine = "cublaslt"

// Engine says who computes a program that is not computed by kernels of our own.
func (p *program) Engine() string {
	if p.form != nil {
		return engine
	}
	return ""
}

func byLibrary(kernel string) string { return kernel + " by " + engine }

// drop frees all plans.
func (x *library) drop() error {
	var errs []error
	for key, p := range x.plans {
		if p != nil {
			errs = append(errs, p.Close())
		}
		delete(x.plans, key)
	}
	return errors.Join(errs...)
}

// close frees everything, once nothing runs. x may be nil.
func (x *library) close(s driver.Stream) error {
	if x == nil {
		return nil
	}
	return errors.Join(x.drop(), x.handle.Close(), s.Free(x.workspace))
}
