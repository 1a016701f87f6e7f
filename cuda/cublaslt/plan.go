package cublaslt

import (
	"encoding/binary"
	"errors"
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel/gemm"
)

// Handle is the library in a context.
type Handle struct {
	l      *Library
	handle uintptr
}

// NewHandle makes a handle in the current context.
func (l *Library) NewHandle() (*Handle, error) {
	h := new(uintptr)
	if err := check("cublasLtCreate", nil, call(l.fn.create, uintptr(unsafe.Pointer(h)))); err != nil {
		return nil, err
	}
	return &Handle{l, *h}, nil
}

// Close frees the handle. Plans of it are closed before.
func (h *Handle) Close() error { return check("cublasLtDestroy", nil, call(h.l.fn.destroy, h.handle)) }

// Addresses are where the matrices and the bias of a problem begin on the device.
type Addresses struct{ A, B, D, Bias uint64 }

// Plan is how the library solves a problem. Work of it that is queued does not need it.
type Plan struct {
	h         *Handle
	problem   gemm.Problem
	desc      uintptr
	a, b, d   uintptr // layouts
	algorithm [algorithmWords]uint64
	made      []func() error // what frees the descriptors, in the order in which they were made
}

// algorithmWords is the size of a cublasLtMatmulAlgo_t.
const algorithmWords = 8

// heuristic is a cublasLtMatmulHeuristicResult_t.
type heuristic struct {
	algorithm [algorithmWords]uint64
	workspace uintptr
	state     int32
	waves     float32
	reserved  [4]int32
}

var types = map[ir.DType]uintptr{ir.F32: typeF32, ir.F16: typeF16, ir.BF16: typeBF16}

// Plan asks the library for its best way to solve a problem at addresses that are multiples
// of as many bytes as those given are, with at most so many bytes of workspace. The plan is
// nil if the library has none.
func (h *Handle) Plan(problem gemm.Problem, at Addresses, workspace uint64) (p *Plan, err error) {
	p = &Plan{h: h, problem: problem}
	r, err := p.prepare(at, workspace)
	if err == nil && r != nil {
		p.algorithm = r.algorithm
		return p, nil
	}
	return nil, errors.Join(err, p.Close())
}

// prepare makes the descriptors and asks for an algorithm; nil if there is none.
func (p *Plan) prepare(at Addresses, workspace uint64) (*heuristic, error) {
	fn, x := &p.h.l.fn, &p.problem
	var err error
	if p.desc, err = p.descriptor("cublasLtMatmulDescCreate", fn.matmulDescDestroy, func(out *uintptr) uintptr {
		return call(fn.matmulDescCreate, uintptr(unsafe.Pointer(out)), computeF32, typeF32)
	}); err != nil {
		return nil, err
	}
	set := p.attributes("cublasLtMatmulDescSetAttribute", fn.matmulDescSetAttribute, p.desc)
	set.word(descTransA, operation(x.A.Turned))
	set.word(descTransB, operation(x.B.Turned))
	set.word(descEpilogue, epilogue(x))
	if x.Bias >= 0 {
		set.long(descBiasPointer, at.Bias)
	}
	if set.err != nil {
		return nil, set.err
	}
	for _, m := range []struct {
		at *uintptr
		*gemm.Matrix
	}{{&p.a, &x.A}, {&p.b, &x.B}, {&p.d, &x.D}} {
		if *m.at, err = p.layout(m.Matrix); err != nil {
			return nil, err
		}
	}
	prefer, err := p.descriptor("cublasLtMatmulPreferenceCreate", fn.preferenceDestroy, func(out *uintptr) uintptr {
		return call(fn.preferenceCreate, uintptr(unsafe.Pointer(out)))
	})
	if err != nil {
		return nil, err
	}
	set = p.attributes("cublasLtMatmulPreferenceSetAttribute", fn.preferenceSetAttribute, prefer)
	set.long(preferWorkspace, workspace)
	set.word(preferReductions, reduceInF32)
	for i, address := range []uint64{at.A, at.B, at.D, at.D} { // what would be added to D is D, times 0
		set.word(uintptr(preferAlignA+i), Alignment(address))
	}
	if set.err != nil {
		return nil, set.err
	}
	r, n := new(heuristic), new(int32)
	status := call(fn.algoGetHeuristic, p.h.handle, p.desc, p.a, p.b, p.d, p.d, prefer, 1,
		uintptr(unsafe.Pointer(r)), uintptr(unsafe.Pointer(n)))
	if int32(status) == notSupported {
		return nil, nil
	}
	if err := check("cublasLtMatmulAlgoGetHeuristic", x, status); err != nil {
		return nil, err
	}
	if *n < 1 || r.state != success {
		return nil, nil
	}
	return r, nil
}

// descriptor makes one by a call, and notes how it is freed.
func (p *Plan) descriptor(name string, free uintptr, create func(out *uintptr) uintptr) (uintptr, error) {
	out := new(uintptr)
	if err := check(name, &p.problem, create(out)); err != nil {
		return 0, err
	}
	p.made = append(p.made, func() error { return check("free what "+name+" made", &p.problem, call(free, *out)) })
	return *out, nil
}

// layout describes a matrix.
func (p *Plan) layout(m *gemm.Matrix) (uintptr, error) {
	fn := &p.h.l.fn
	made, err := p.descriptor("cublasLtMatrixLayoutCreate", fn.layoutDestroy, func(out *uintptr) uintptr {
		return call(fn.layoutCreate, uintptr(unsafe.Pointer(out)), types[p.problem.Type], uintptr(m.Rows), uintptr(m.Cols), uintptr(m.Lead))
	})
	if err != nil || p.problem.Batch == 1 {
		return made, err
	}
	set := p.attributes("cublasLtMatrixLayoutSetAttribute", fn.layoutSetAttribute, made)
	set.word(layoutBatchCount, uint32(p.problem.Batch))
	set.long(layoutBatchStep, uint64(m.Step))
	return made, set.err
}

// operation is a cublasOperation_t.
func operation(turned bool) uint32 {
	if turned {
		return 1
	}
	return 0
}

// epilogue is a cublasLtEpilogue_t.
func epilogue(p *gemm.Problem) uint32 {
	e := uint32(0)
	if p.Relu {
		e |= epilogueRelu
	}
	if p.Bias >= 0 {
		e |= epilogueBias
	}
	if e == 0 {
		return epilogueDefault
	}
	return e
}

// Alignment is the greatest power of two, up to 64, that an address is a multiple of: what
// the library's choice of an algorithm depends on. Every tensor begins at a multiple of 64,
// so no choice depends on which memory it happened to get.
func Alignment(address uint64) uint32 {
	a := uint64(64)
	for address%a != 0 {
		a /= 2
	}
	return uint32(a)
}

// attributes set those of one descriptor. The first error sticks.
type attributes struct {
	name       string
	fn, object uintptr
	problem    *gemm.Problem
	err        error
}

func (p *Plan) attributes(name string, fn, object uintptr) *attributes {
	return &attributes{name: name, fn: fn, object: object, problem: &p.problem}
}

func (a *attributes) word(which uintptr, v uint32) {
	a.set(which, binary.NativeEndian.AppendUint32(nil, v))
}

func (a *attributes) long(which uintptr, v uint64) {
	a.set(which, binary.NativeEndian.AppendUint64(nil, v))
}

func (a *attributes) set(which uintptr, v []byte) {
	if a.err == nil {
		a.err = check(a.name, a.problem, call(a.fn, a.object, which, uintptr(unsafe.Pointer(&v[0])), uintptr(len(v))))
	}
}

// Run puts the product on a stream. The workspace has as many bytes as the plan was made
// for; what follows on the stream may use it for something else.
func (p *Plan) Run(at Addresses, workspace, bytes uint64, stream uintptr) error {
	fn := &p.h.l.fn
	if p.problem.Bias >= 0 {
		set := p.attributes("cublasLtMatmulDescSetAttribute", fn.matmulDescSetAttribute, p.desc)
		if set.long(descBiasPointer, at.Bias); set.err != nil {
			return set.err
		}
	}
	one, zero := new(float32), new(float32)
	*one = 1
	return check("cublasLtMatmul", &p.problem, call(fn.matmul, p.h.handle, p.desc,
		uintptr(unsafe.Pointer(one)), uintptr(at.A), p.a, uintptr(at.B), p.b,
		uintptr(unsafe.Pointer(zero)), uintptr(at.D), p.d, uintptr(at.D), p.d,
		uintptr(unsafe.Pointer(&p.algorithm)), uintptr(workspace), uintptr(bytes), stream))
}

// Close frees the descriptors.
func (p *Plan) Close() error {
	var errs []error
	for _, free := range slices.Backward(p.made) {
		errs = append(errs, free())
	}
	p.made = nil
	return errors.Join(errs...)
}
