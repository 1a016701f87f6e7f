//go:build linux && (amd64 || arm64)

package cublaslttest

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Fake is the library.
type Fake struct {
	functions map[string]uintptr // by name

	mu      sync.Mutex
	objects map[uintptr]*object
	last    uintptr

	Fail      map[string]int // statuses of calls, by name
	None      bool           // no algorithm is found
	Workspace uint64         // bytes that algorithms need

	Faults     []string // rules that were broken
	Heuristics int      // algorithms asked for
	Products   []Product
	Before     func() // called before each product is computed
}

// Product is one that was computed.
type Product struct {
	Type    ir.DType
	M, N, K uint64
	Batch   int32
	TransA  bool
	TransB  bool
	Stream  uintptr
}

// object is a handle or a descriptor.
type object struct {
	kind       string
	attributes map[uint32][]byte
	typ        uint32
	rows, cols uint64
	lead       int64
	biasAlign  uint64 // of the address of the bias when an algorithm was asked for
}

// Version is what the library says.
const Version = 120903

// Live is the number of objects that are not freed.
func (f *Fake) Live() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.objects)
}

func (f *Fake) fault(format string, args ...any) uintptr {
	f.Faults = append(f.Faults, fmt.Sprintf(format, args...))
	return 7 // CUBLAS_STATUS_INVALID_VALUE
}

func address[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

// idle are fakes whose functions others may have: a process makes only so many.
var idle struct {
	mu   sync.Mutex
	list []*Fake
}

// New makes a library.
func New() *Fake {
	idle.mu.Lock()
	defer idle.mu.Unlock()
	n := len(idle.list) - 1
	if n < 0 {
		return &Fake{functions: map[string]uintptr{}}
	}
	f := idle.list[n]
	idle.list = idle.list[:n]
	*f = Fake{functions: f.functions}
	return f
}

// Close gives the functions back. Nobody calls them any more.
func (f *Fake) Close() {
	idle.mu.Lock()
	defer idle.mu.Unlock()
	idle.list = append(idle.list, f)
}

// Find gives the functions of the library.
func (f *Fake) Find(name string) (uintptr, error) {
	if f.functions[name] == 0 {
		p, err := f.function(name)
		if err != nil {
			return 0, err
		}
		f.functions[name] = p
	}
	return f.functions[name], nil
}

// function makes one.
func (f *Fake) function(name string) (uintptr, error) {
	create := func(kind string) uintptr {
		return purego.NewCallback(func(out uintptr) uintptr {
			return f.enter(name, func() uintptr { return f.create(out, &object{kind: kind}) })
		})
	}
	destroy := func(kind string) uintptr {
		return purego.NewCallback(func(p uintptr) uintptr {
			return f.enter(name, func() uintptr {
				if f.get(p, kind) == nil {
					return 7
				}
				delete(f.objects, p)
				return 0
			})
		})
	}
	set := func(kind string, sizes map[uint32]int) uintptr {
		return purego.NewCallback(func(p uintptr, which uint32, at, n uintptr) uintptr {
			return f.enter(name, func() uintptr { return f.set(p, kind, sizes, which, at, n) })
		})
	}
	switch name {
	case "cublasLtGetVersion":
		return purego.NewCallback(func() uintptr { return Version }), nil
	case "cublasLtCreate":
		return create("handle"), nil
	case "cublasLtDestroy":
		return destroy("handle"), nil
	case "cublasLtMatmulDescCreate":
		return purego.NewCallback(func(out uintptr, compute, scale uint32) uintptr {
			return f.enter(name, func() uintptr {
				if compute != 68 || scale != 0 {
					return f.fault("sums of type %d, scales of %d", compute, scale)
				}
				return f.create(out, &object{kind: "product"})
			})
		}), nil
	case "cublasLtMatmulDescSetAttribute":
		return set("product", map[uint32]int{3: 4, 4: 4, 7: 4, 8: 8}), nil
	case "cublasLtMatmulDescDestroy":
		return destroy("product"), nil
	case "cublasLtMatrixLayoutCreate":
		return purego.NewCallback(func(out uintptr, typ uint32, rows, cols, lead uintptr) uintptr {
			return f.enter(name, func() uintptr {
				if typ != 0 && typ != 2 && typ != 14 || rows == 0 || cols == 0 || int64(lead) < int64(rows) {
					return f.fault("a matrix of type %d of %d by %d, columns %d apart", typ, rows, cols, int64(lead))
				}
				return f.create(out, &object{kind: "layout", typ: typ, rows: uint64(rows), cols: uint64(cols), lead: int64(lead)})
			})
		}), nil
	case "cublasLtMatrixLayoutSetAttribute":
		return set("layout", map[uint32]int{5: 4, 6: 8}), nil
	case "cublasLtMatrixLayoutDestroy":
		return destroy("layout"), nil
	case "cublasLtMatmulPreferenceCreate":
		return create("preference"), nil
	case "cublasLtMatmulPreferenceSetAttribute":
		return set("preference", map[uint32]int{1: 8, 3: 4, 5: 4, 6: 4, 7: 4, 8: 4}), nil
	case "cublasLtMatmulPreferenceDestroy":
		return destroy("preference"), nil
	case "cublasLtMatmulAlgoGetHeuristic":
		return purego.NewCallback(func(handle, product, a, b, c, d, prefer uintptr, most int32, out, n uintptr) uintptr {
			return f.enter(name, func() uintptr { return f.heuristic(handle, product, [4]uintptr{a, b, c, d}, prefer, most, out, n) })
		}), nil
	case "cublasLtMatmul":
		return purego.NewCallback(func(handle, product, alpha, a, layoutA, b, layoutB, beta, c, layoutC, d, layoutD, algorithm, workspace, bytes, stream uintptr) uintptr {
			return f.enter(name, func() uintptr {
				if *address[float32](alpha) != 1 || *address[float32](beta) != 0 || c != d || layoutC != layoutD {
					return f.fault("a product is scaled by %v, D by %v", *address[float32](alpha), *address[float32](beta))
				}
				return f.matmul(handle, product, [3]uintptr{a, b, d}, [4]uintptr{layoutA, layoutB, layoutC, layoutD}, algorithm, workspace, bytes, stream)
			})
		}), nil
	}
	return 0, fmt.Errorf("there is no %s", name)
}

// enter runs a call, unless it is to fail.
func (f *Fake) enter(name string, run func() uintptr) uintptr {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.Fail[name]; s != 0 {
		return uintptr(s)
	}
	return run()
}

func (f *Fake) create(out uintptr, o *object) uintptr {
	if f.objects == nil {
		f.objects = map[uintptr]*object{}
	}
	o.attributes = map[uint32][]byte{}
	f.last += 16
	f.objects[f.last] = o
	*address[uintptr](out) = f.last
	return 0
}

func (f *Fake) get(p uintptr, kind string) *object {
	o := f.objects[p]
	if o == nil || o.kind != kind {
		f.fault("%#x is no %s", p, kind)
		return nil
	}
	return o
}

func (f *Fake) set(p uintptr, kind string, sizes map[uint32]int, which uint32, at, n uintptr) uintptr {
	o := f.get(p, kind)
	if o == nil {
		return 7
	}
	if sizes[which] != int(n) {
		return f.fault("attribute %d of a %s has %d bytes", which, kind, n)
	}
	o.attributes[which] = append([]byte(nil), unsafe.Slice(address[byte](at), n)...)
	return 0
}

func (o *object) number(which uint32, without uint64) uint64 {
	switch b := o.attributes[which]; len(b) {
	case 4:
		return uint64(binary.NativeEndian.Uint32(b))
	case 8:
		return binary.NativeEndian.Uint64(b)
	}
	return without
}

// algorithm is what tells the library how to compute the product that was asked about.
type algorithm struct {
	magic, workspace uint64
	product          uint64
	layouts          [4]uint64
	align            uint64 // of A, B, C and D, two bytes each
}

func (f *Fake) heuristic(handle, product uintptr, layouts [4]uintptr, prefer uintptr, most int32, out, n uintptr) uintptr {
	f.Heuristics++
	p, o := f.get(product, "product"), f.get(prefer, "preference")
	if f.get(handle, "handle") == nil || p == nil || o == nil || most != 1 {
		return 7
	}
	for _, l := range layouts {
		if f.get(l, "layout") == nil {
			return 7
		}
	}
	if o.number(3, 7) != 2 {
		return f.fault("parts of sums by schemes %d", o.number(3, 7))
	}
	if p.number(7, 1)&4 != 0 && p.number(8, 0) == 0 {
		return f.fault("a bias, and no address")
	}
	p.biasAlign = 64
	for p.number(8, 0)%p.biasAlign != 0 {
		p.biasAlign /= 2
	}
	*address[int32](n) = 0
	if f.None || f.Workspace > o.number(1, 0) {
		return 0
	}
	r := address[struct {
		algorithm algorithm
		workspace uintptr
		state     int32
		waves     float32
		reserved  [4]int32
	}](out)
	if unsafe.Sizeof(*r) != 96 {
		return f.fault("a result has %d bytes", unsafe.Sizeof(*r))
	}
	r.algorithm = algorithm{magic: 0xa190, workspace: f.Workspace, product: uint64(product)}
	for i, l := range layouts {
		r.algorithm.layouts[i] = uint64(l)
		r.algorithm.align |= o.number(uint32(5+i), 256) << (16 * i)
	}
	r.workspace, r.state = uintptr(f.Workspace), 0
	*address[int32](n) = 1
	return 0
}

func (f *Fake) matmul(handle, product uintptr, at [3]uintptr, layouts [4]uintptr, algo, workspace, bytes, stream uintptr) uintptr {
	p, a, b, d := f.get(product, "product"), f.get(layouts[0], "layout"), f.get(layouts[1], "layout"), f.get(layouts[3], "layout")
	if f.get(handle, "handle") == nil || p == nil || a == nil || b == nil || d == nil {
		return 7
	}
	x := address[algorithm](algo)
	if x.magic != 0xa190 || x.product != uint64(product) || x.workspace > uint64(bytes) || bytes > 0 && workspace == 0 {
		return f.fault("an algorithm %+v for product %d, with %d bytes at %#x", *x, product, bytes, workspace)
	}
	for i, l := range layouts {
		where := at[min(i, 2)]
		if align := x.align >> (16 * i) & 0xffff; x.layouts[i] != uint64(l) || uint64(where)%align != 0 {
			return f.fault("matrix %d at %#x, promised at a multiple of %d", i, where, align)
		}
	}
	if p.number(7, 1)&4 != 0 && p.number(8, 0)%p.biasAlign != 0 {
		return f.fault("a bias at %#x, it was at a multiple of %d", p.number(8, 0), p.biasAlign)
	}
	turnA, turnB, epilogue := p.number(3, 0) == 1, p.number(4, 0) == 1, p.number(7, 1)
	rowsA, colsA, rowsB, colsB := a.rows, a.cols, b.rows, b.cols
	if turnA {
		rowsA, colsA = colsA, rowsA
	}
	if turnB {
		rowsB, colsB = colsB, rowsB
	}
	batch := a.number(5, 1)
	if colsA != rowsB || d.rows != rowsA || d.cols != colsB || a.typ != b.typ || a.typ != d.typ ||
		b.number(5, 1) != batch || d.number(5, 1) != batch || epilogue != 1 && epilogue&^6 != 0 {
		return f.fault("%d by %d times %d by %d gives %d by %d", rowsA, colsA, rowsB, colsB, d.rows, d.cols)
	}
	if f.Before != nil {
		f.Before()
	}
	typ := map[uint32]ir.DType{0: ir.F32, 2: ir.F16, 14: ir.BF16}[a.typ]
	f.Products = append(f.Products, Product{typ, d.rows, d.cols, colsA, int32(batch), turnA, turnB, stream})
	element := func(m *object, base uintptr, n uint64, row, col uint64, turned bool) uintptr {
		if turned {
			row, col = col, row
		}
		return base + uintptr(typ.Size())*uintptr(n*m.number(6, 0)+row+col*uint64(m.lead))
	}
	for n := range batch {
		for i := range d.rows {
			for j := range d.cols {
				sum := 0.0
				for k := range colsA {
					sum += load(typ, element(a, at[0], n, i, k, turnA)) * load(typ, element(b, at[1], n, k, j, turnB))
				}
				if epilogue&4 != 0 {
					sum += load(typ, uintptr(p.number(8, 0))+uintptr(i)*uintptr(typ.Size()))
				}
				if epilogue&2 != 0 {
					sum = max(sum, 0)
				}
				store(typ, element(d, at[2], n, i, j, false), sum)
			}
		}
	}
	return 0
}

func load(t ir.DType, at uintptr) float64 {
	switch t {
	case ir.F32:
		return float64(*address[float32](at))
	case ir.F16:
		return float64(kernel.F16ToF32(*address[uint16](at)))
	}
	return float64(kernel.BF16ToF32(*address[uint16](at)))
}

func store(t ir.DType, at uintptr, v float64) {
	switch t {
	case ir.F32:
		*address[uint32](at) = math.Float32bits(float32(v))
	case ir.F16:
		*address[uint16](at) = kernel.F16FromF64(v)
	default:
		*address[uint16](at) = kernel.BF16FromF64(v)
	}
}
