//go:build linux && (amd64 || arm64)

package cuda

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/cuda/cublaslt"
	"github.com/sinter-go/sinter/cuda/cublaslt/cublaslttest"
	"github.com/sinter-go/sinter/cuda/driver"
	"github.com/sinter-go/sinter/cuda/driver/drivertest"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
)

// standIns are a driver and a library that are none, and a device over them. Kernels of our
// own compute nothing there, so that what is right was computed by the library.
func standIns(t *testing.T, o Options) (*drivertest.Fake, *cublaslttest.Fake, *Device, *sinter.Device) {
	t.Helper()
	return standInsOf(t, o, nil)
}

// standInsOf are stand-ins of a driver that is set before it is opened.
func standInsOf(t *testing.T, o Options, set func(*drivertest.Fake)) (*drivertest.Fake, *cublaslttest.Fake, *Device, *sinter.Device) {
	t.Helper()
	gpu, lt := drivertest.New(), cublaslttest.New()
	if set != nil {
		set(gpu)
	}
	lt.Workspace = 1 << 20
	lt.Before = func() { gpu.Note("product") }
	lib, err := driver.New(gpu.Find)
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDevice(lib, func() (*cublaslt.Library, error) { return cublaslt.New("libcublasLt.so.0", lt.Find) }, o)
	if err != nil {
		t.Fatal(err)
	}
	dev := sinter.NewRuntime().Adopt(d)
	t.Cleanup(func() {
		dev.Close()
		if gpu.Live() != 0 || lt.Live() != 0 {
			t.Errorf("%d pieces of memory and %d objects are left", gpu.Live(), lt.Live())
		}
		if len(lt.Faults) > 0 {
			t.Errorf("%q", lt.Faults)
		}
		gpu.Close()
		lt.Close()
	})
	return gpu, lt, d, dev
}

// wholes are small whole numbers on the host and, as they are, on a device.
func wholes(t *testing.T, rng *rand.Rand, dev *sinter.Device, d sinter.DType, shape ...int) (host, there *sinter.Tensor) {
	t.Helper()
	n := 1
	for _, s := range shape {
		n *= s
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(rng.IntN(7) - 3)
	}
	host = sinter.FromSlice(v, shape...).Cast(d)
	there = host.To(dev)
	numbers(t, there) // what is on its way would cut segments
	return host, there
}

func numbers(t *testing.T, x *sinter.Tensor) []float32 {
	t.Helper()
	v, err := sinter.Data[float32](t.Context(), x.To(sinter.DefaultDevice()).Cast(sinter.F32))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestProducts: products on a device whose library multiplies are right, whatever lies
// turned, and are computed by it.
func TestProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, typ := range []sinter.DType{sinter.F32, sinter.BF16, sinter.F16} {
		_, lt, d, dev := standIns(t, Options{Products: CublasLtF32})
		for i := range 16 {
			shape := func(rows, cols int, turned bool) []int {
				if turned {
					return []int{2, cols, rows}
				}
				return []int{2, rows, cols}
			}
			a, onA := wholes(t, rng, dev, typ, shape(5, 6, i&1 != 0)...)
			b, onB := wholes(t, rng, dev, typ, shape(6, 7, i&2 != 0)...)
			bias, onBias := wholes(t, rng, dev, typ, 7)
			f := func(a, b, bias *sinter.Tensor) *sinter.Tensor {
				s := sinter.NewScope("product")
				defer s.End()
				a, b, bias = s.In(a), s.In(b), s.In(bias)
				if i&1 != 0 {
					a = a.Permute(0, 2, 1)
				}
				if i&2 != 0 {
					b = b.Permute(0, 2, 1)
				}
				y := a.MatMul(b)
				if i&4 != 0 {
					y = y.Add(bias)
				}
				if i&8 != 0 {
					y = y.Relu()
				}
				return s.Keep(y)
			}
			want, got := numbers(t, f(a, b, bias)), numbers(t, f(onA, onB, onBias))
			if !slices.Equal(got, want) {
				t.Errorf("%v, %04b: %v, want %v", typ, i, got, want)
			}
		}
		if n := d.Stats().Products; n != 16 || len(lt.Products) != 16 {
			t.Errorf("%v: %d products, the library has computed %d", typ, n, len(lt.Products))
		}
		for _, p := range lt.Products {
			if p.Stream != drivertest.Stream {
				t.Errorf("a product on stream %#x", p.Stream)
			}
		}
	}
}

// TestProductAlignment: algorithms are asked for anew where operands lie at other multiples.
func TestProductAlignment(t *testing.T) {
	_, lt, _, dev := standIns(t, Options{Products: CublasLt})
	rng := rand.New(rand.NewPCG(9, 9))
	_, a := wholes(t, rng, dev, sinter.BF16, 8, 8)
	_, b := wholes(t, rng, dev, sinter.BF16, 8, 8)
	_, bias := wholes(t, rng, dev, sinter.BF16, 16)
	for i, at := range []int{0, 1, 4, 0, 1} {
		s := sinter.NewScope("product")
		x, y, z := s.In(a), s.In(b), s.In(bias)
		s.Keep(x.MatMul(y).Add(z.Slice(sinter.Span(at, at+8))))
		s.End()
		if err := dev.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := min(i+1, 3); lt.Heuristics != want || len(lt.Products) != i+1 {
			t.Errorf("bias from %d: %d algorithms asked for, want %d, %d products", at, lt.Heuristics, want, len(lt.Products))
		}
	}
}

// TestProductOrder: a product stands between what is launched before it and after it, also
// when those have become graphs; its algorithm is asked for once.
func TestProductOrder(t *testing.T) {
	gpu, lt, d, dev := standIns(t, Options{Products: CublasLt})
	rng := rand.New(rand.NewPCG(5, 5))
	_, a := wholes(t, rng, dev, sinter.BF16, 64, 64)
	_, b := wholes(t, rng, dev, sinter.BF16, 64, 64)
	round := func() []string {
		s := sinter.NewScope("round")
		x, y := s.In(a), s.In(b)
		for i := range 5 { // each a kernel of its own
			x = x.CumSum(i & 1)
		}
		x = x.MatMul(y)
		for i := range 5 {
			x = x.CumSum(i & 1)
		}
		s.Keep(x)
		s.End()
		if err := dev.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		return gpu.Log()
	}
	graphs := 0
	for i := range 6 {
		log := round()
		at := slices.Index(log, "product")
		if at < 1 || at == len(log)-1 || slices.Contains(log[at+1:], "product") || strings.Contains(strings.Join(log, " "), "matmul") {
			t.Fatalf("round %d: %q", i, log)
		}
		count := func(l []string) int { return len(strings.Fields(strings.Join(l, " "))) }
		if before, after := count(log[:at]), count(log[at+1:]); before < 5 || before != after {
			t.Errorf("round %d: %d kernels before the product, %d after", i, before, after)
		}
		if len(log) == 3 && strings.HasPrefix(log[0], "[") && strings.HasPrefix(log[2], "[") {
			graphs++
		}
	}
	if graphs < 2 { // memory that is taken within a segment cuts it
		t.Errorf("%d rounds of graphs", graphs)
	}
	if lt.Heuristics != 1 || d.Stats().Products != 6 {
		t.Errorf("%d algorithms asked for, %d products", lt.Heuristics, d.Stats().Products)
	}
}

// TestProductsOfOthers: what the library was not asked to compute, cannot, or has no way
// for runs on kernels of our own.
func TestProductsOfOthers(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for _, c := range []struct {
		name     string
		products Products
		typ      sinter.DType
		none     bool
	}{
		{"own", OwnProducts, sinter.BF16, false},
		{"f32 stays exact", CublasLt, sinter.F32, false},
		{"no algorithm", CublasLt, sinter.BF16, true},
	} {
		gpu, lt, d, dev := standIns(t, Options{Products: c.products})
		lt.None = c.none
		_, a := wholes(t, rng, dev, c.typ, 64, 64)
		for range 2 {
			a.MatMul(a)
			if err := dev.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if log := gpu.Log(); len(log) == 0 || slices.Contains(log, "product") || d.Stats().Products != 0 {
			t.Errorf("%s: %q", c.name, log)
		}
		if want := map[bool]int{true: 1}[c.none]; lt.Heuristics != want {
			t.Errorf("%s: %d algorithms asked for, want %d", c.name, lt.Heuristics, want)
		}
	}
}

// TestProductFails: a failure of the library is the error of the result, and of nothing
// else.
func TestProductFails(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, call := range []string{"cublasLtMatmul", "cublasLtMatmulAlgoGetHeuristic"} {
		_, lt, _, dev := standIns(t, Options{Products: CublasLt})
		_, a := wholes(t, rng, dev, sinter.BF16, 5, 6)
		_, b := wholes(t, rng, dev, sinter.BF16, 6, 7)
		lt.Fail = map[string]int{call: 13}
		_, err := sinter.Data[float32](t.Context(), a.MatMul(b).To(sinter.DefaultDevice()).Cast(sinter.F32))
		if err == nil || ir.AsError(err).Kind != ir.ErrDevice || !strings.Contains(err.Error(), "libcublasLt.so.0 failed: "+call+": CUBLAS_STATUS_EXECUTION_FAILED (13): bf16[7,6]·[6,5]") ||
			!strings.Contains(err.Error(), "matmul") || !strings.Contains(err.Error(), "products_linux_test.go:") {
			t.Errorf("%s: %v", call, err)
		}
		lt.Fail = nil
		if v := numbers(t, a.MatMul(b)); len(v) != 35 {
			t.Errorf("%d numbers", len(v))
		}
	}
}

// TestProductsShown: plans, profiles and the description of the device say who multiplies.
func TestProductsShown(t *testing.T) {
	_, _, d, dev := standIns(t, Options{Products: CublasLt})
	on := sinter.On(dev) // so many results that exp is a kernel of its own
	a, b := on.Zeros(sinter.BF16, 1024, 16), on.Zeros(sinter.BF16, 16, 512)
	step := func() error {
		s := sinter.NewScope("step")
		defer s.End()
		s.Keep(s.In(a).MatMul(b).Exp())
		return nil
	}
	if err := dev.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	plans, err := dev.Explain(step)
	if err != nil {
		t.Fatal(err)
	}
	if s := plans[0].String(); strings.Count(s, "on cublaslt") != 1 || !strings.Contains(s, "matmul") {
		t.Error(s)
	}
	profile, err := dev.Profile(t.Context(), step)
	if err != nil {
		t.Fatal(err)
	}
	names := ""
	for _, k := range profile.Kernels {
		names += k.Name + "\n"
	}
	if !strings.Contains(names, "matmul by cublaslt\n") {
		t.Error(names)
	}
	if i := d.Info(); i.Kind != "cuda 9.0 cublaslt" || i.Extra["products"] != "by libcublasLt.so.0, version 120903" {
		t.Errorf("%q, %q", i.Kind, i.Extra["products"])
	}
}

// TestTF32Kernels: where it is asked for, products of f32 are of matrix units, and the device
// says so.
func TestTF32Kernels(t *testing.T) {
	for _, products := range []Products{OwnProducts, OwnTF32} {
		_, _, d, dev := standIns(t, Options{Products: products})
		x := sinter.On(dev).Ones(sinter.F32, 70, 90)
		y := x.MatMul(x.Transpose()).Relu()
		if err := dev.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		y.Release()
		units := false
		for text := range d.gpu.loaded {
			units = units || strings.Contains(text, ".tf32.")
		}
		asked := products == OwnTF32
		if units != asked || strings.HasSuffix(d.Info().Kind, " tf32") != asked {
			t.Errorf("%v: %v, %q", products, units, d.Info().Kind)
		}
	}
}

func TestParseProducts(t *testing.T) {
	for _, p := range []Products{OwnProducts, CublasLt, CublasLtF32, OwnTF32} {
		if got, err := ParseProducts(p.String()); got != p || err != nil {
			t.Errorf("%v, %v", got, err)
		}
	}
	if _, err := ParseProducts("blas"); err == nil || !strings.Contains(err.Error(), "expected own, own-tf32, cublaslt or cublaslt-f32") {
		t.Error(err)
	}
	gpu := drivertest.New()
	defer gpu.Close()
	lib, err := driver.New(gpu.Find)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newDevice(lib, cublaslt.Open, Options{Products: 9}); err == nil || !strings.Contains(err.Error(), "products(9)") {
		t.Error(err)
	}
	none := &cublaslt.Unavailable{Reason: "none"}
	if _, err := newDevice(lib, func() (*cublaslt.Library, error) { return nil, none }, Options{Products: CublasLt}); err == nil || ir.AsError(err).Kind != ir.ErrDevice || !strings.Contains(err.Error(), "no cuBLASLt: none") {
		t.Error(err)
	}
}

// TestProductBesideOthers: of a launch of several parts the library computes products at
// once, and the rest is held back; if the library fails, nothing of the launch runs.
func TestProductBesideOthers(t *testing.T) {
	gpu, lt, d, _ := standIns(t, Options{Products: CublasLt})
	g := d.gpu
	mem, err := g.Map(1 << 16)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Unmap(mem)
	part := func(s ptxtest.Spec, at []byte) cpu.Bound {
		c := s.Shape()
		p, err := g.Compile(c.Kernel)
		if err != nil {
			t.Fatal(err)
		}
		return cpu.Bound{Program: p, Kernel: c.Kernel, Launch: rebound(c.Launch, at)}
	}
	var product cpu.Bound
	for _, s := range ptxtest.Matrices(16, 16, 16) {
		if p := part(s, mem); product.Program == nil && p.Program.(*program).Engine() == "cublaslt" {
			product = p
		}
	}
	if product.Program == nil {
		t.Fatal("there is no product that the library takes")
	}
	other := part(ptxtest.Elementwise(600)[0], mem[1<<15:])
	run := func(parts ...cpu.Bound) ([]string, error) {
		_, err := g.Run(parts)
		if err := g.Flush(); err != nil {
			t.Fatal(err)
		}
		return gpu.Log(), err
	}
	lt.Fail = map[string]int{"cublasLtMatmul": 13}
	if log, err := run(other, product, other); err == nil || ir.AsError(err).Kind != ir.ErrDevice || len(log) != 0 {
		t.Errorf("%q, %v", log, err)
	}
	lt.Fail = nil
	log, err := run(other, product, other)
	if err != nil || len(log) != 2 || log[0] != "product" || !strings.HasSuffix(log[1], "_many2") {
		t.Errorf("%q, %v", log, err)
	}
	if log, err := run(product); err != nil || len(log) != 1 {
		t.Errorf("%q, %v", log, err)
	}
	if _, err := g.Run([]cpu.Bound{other}); err != nil { // is held back, and comes before a product
		t.Fatal(err)
	}
	if log, err := run(product, other); err != nil || len(log) != 3 || log[1] != "product" {
		t.Errorf("%q, %v", log, err)
	}
}
