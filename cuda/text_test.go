package cuda_test

import (
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/ptx"
)

// texts is an accelerator that has no GPU: it interprets kernels on the host, and makes
// the plans and the text that a GPU would run.
type texts struct {
	target ptx.Target

	mu      sync.Mutex
	entries map[string]*ptx.Entry
	idle    bool // nothing is computed
	runs    int
	noted   []cpu.Noted
	err     error
}

type textProgram struct {
	module *ptx.Module
	exe    kernel.Executable
}

func (x *texts) Describe(i *backend.Info) { i.Detail = "texts" }
func (x *texts) Map(n int64) ([]byte, error) {
	b := make([]byte, n+255)
	return b[-int(uintptr(unsafe.Pointer(&b[0])))&255:][:n], nil
}
func (x *texts) Unmap([]byte)                  {}
func (x *texts) CopyIn(dst, src []byte) error  { copy(dst, src); return nil }
func (x *texts) CopyOut(dst, src []byte) error { copy(dst, src); return nil }
func (x *texts) Flush() error                  { return nil }
func (x *texts) Sync() error                   { return x.err }
func (x *texts) Close() error                  { return nil }
func (x *texts) Clock(func(time.Duration)) func() {
	return func() {}
}

func (x *texts) Compile(k *kernel.Kernel) (cpu.Program, error) {
	m, err := ptx.Generate(k, x.target)
	if err != nil {
		return nil, err
	}
	exe, err := kernel.NewInterpreter(k)
	return &textProgram{m, exe}, err
}

func (x *texts) Tiles(k *kernel.Kernel, extents []int64) bool {
	return ptx.Tiles(k, x.target, extents)
}
func (x *texts) Apart(k *kernel.Kernel, results int64) bool { return ptx.Apart(k, x.target, results) }

func (x *texts) Run(parts []cpu.Bound) (run int, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, b := range parts {
		p := b.Program.(*textProgram)
		var base []uint64
		for i := range b.Launch.Args {
			base = append(base, uint64(uintptr(b.Launch.Args[i].Base)))
		}
		plan, err := p.module.Plan(b.Launch, base)
		if err != nil {
			return 0, err
		}
		for _, s := range plan.Steps {
			x.entries[s.Entry.Text] = s.Entry
		}
		if x.idle {
			continue
		}
		p.exe.Run(b.Launch)
		if b.Launch.Fault == nil {
			continue
		}
		if run == 0 {
			x.runs++
			run = x.runs
		}
		if code, at := b.Launch.Fault.First(); code != kernel.NoFault {
			x.noted = append(x.noted, cpu.Noted{Run: run, Code: code, At: at})
		}
	}
	return run, nil
}

func (x *texts) Faults() ([]cpu.Noted, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	noted := x.noted
	x.noted = nil
	return noted, nil
}

// maxLines bounds an entry: the driver's compiler takes more than a second for longer
// ones.
const maxLines = 20000

// TestTexts: what training makes for a GPU keeps the rules of the text,
// and is no longer than compilers like.
func TestTexts(t *testing.T) {
	x := &texts{target: ptx.Target{Major: 9}, entries: map[string]*ptx.Entry{}}
	d, err := cpu.New(cpu.Options{Accelerator: x, ID: "texts"})
	if err != nil {
		t.Fatal(err)
	}
	dev := sinter.NewRuntime().Adopt(d)
	defer dev.Close()
	if _, err := trainSmall(t, dev); err != nil {
		t.Fatal(err)
	}
	if err := dev.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	for text, e := range x.entries {
		if lines := strings.Count(text, "\n"); lines > maxLines {
			t.Errorf("%s has %d lines", e.Name, lines)
		}
		if err := ptx.Check(text); err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
}

// TestHeavyEpilogue: of a product on matrix units a bias stays with it, and a gelu only where
// there are few results. What does not stay is one kernel.
func TestHeavyEpilogue(t *testing.T) {
	x := &texts{target: ptx.Target{Major: 9}, entries: map[string]*ptx.Entry{}, idle: true}
	d, err := cpu.New(cpu.Options{Accelerator: x, ID: "texts"})
	if err != nil {
		t.Fatal(err)
	}
	dev := sinter.NewRuntime().Adopt(d)
	defer dev.Close()
	on := sinter.On(dev)
	w, b := on.Zeros(sinter.BF16, 256, 1024), on.Zeros(sinter.BF16, 1024)
	if err := dev.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	gated := func(y *sinter.Tensor) *sinter.Tensor { return y.Gelu().Mul(y.Sigmoid()).Mul(y) }
	for _, c := range []struct {
		rows, kernels int
		f             func(y *sinter.Tensor) *sinter.Tensor
	}{{4096, 1, (*sinter.Tensor).Relu}, {4096, 2, (*sinter.Tensor).Gelu}, {4096, 2, gated}, {1, 1, (*sinter.Tensor).Gelu}, {1, 1, gated}} {
		a := on.Zeros(sinter.BF16, c.rows, 256)
		if err := dev.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		plans, err := dev.Explain(func() error {
			s := sinter.NewScope("layer")
			defer s.End()
			_ = s.Keep(c.f(s.In(a).MatMul(w).Add(b)))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if plans[0].Kernels != c.kernels {
			t.Errorf("%d kernels, expected %d: %v", plans[0].Kernels, c.kernels, plans[0])
		}
	}
}

// TestNarrowProducts: products of bf16 and f16 run on matrix units of whatever device, and
// products of f32 that were cast from them do not.
func TestNarrowProducts(t *testing.T) {
	for _, target := range []ptx.Target{{Major: 8}, {Major: 9}, {Major: 9, NoHopper: true}, {Major: 12}} {
		for _, typ := range []sinter.DType{sinter.BF16, sinter.F16} {
			for _, cast := range []bool{false, true} {
				x := &texts{target: target, entries: map[string]*ptx.Entry{}}
				d, err := cpu.New(cpu.Options{Accelerator: x, ID: "texts"})
				if err != nil {
					t.Fatal(err)
				}
				dev := sinter.NewRuntime().Adopt(d)
				on := sinter.On(dev)
				a, w := on.Full(0.5, typ, 72, 40), on.Full(2, typ, 40, 80)
				if cast {
					a, w = a.Cast(sinter.F32), w.Cast(sinter.F32)
				}
				y := a.MatMul(w)
				if !cast {
					y = y.Cast(sinter.F32)
				}
				values, err := sinter.Data[float32](t.Context(), y)
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range values {
					if v != 40 {
						t.Fatalf("%v of %s: %v, expected 40", target, typ, v)
					}
				}
				units := 0
				for text := range x.entries {
					if strings.Contains(text, "mma.sync") || strings.Contains(text, "wgmma") {
						units++
						if hopper := target.Major == 9 && !target.NoHopper; strings.Contains(text, "wgmma") != hopper || !strings.Contains(text, ".f32."+typ.String()) {
							t.Errorf("%v of %s: another instruction", target, typ)
						}
					}
				}
				if (units == 1) == cast {
					t.Errorf("%v of %s, cast %v: %d products on matrix units", target, typ, cast, units)
				}
				if err := dev.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}
