package cuda

import (
	"encoding/binary"
	"strings"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/cuda/driver"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/ptx"
	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
)

// bound is a program bound to a part of memory, its functions being there already.
func bound(t *testing.T, g *gpu, s ptxtest.Spec, at []byte) cpu.Bound {
	t.Helper()
	c := s.Shape()
	made, err := g.Compile(c.Kernel)
	if err != nil {
		t.Fatal(err)
	}
	l := rebound(c.Launch, at)
	plan, err := made.(*program).module.Plan(l, made.(*program).bases(l))
	if err != nil {
		t.Fatal(err)
	}
	for i := range plan.Steps {
		g.loaded[plan.Steps[i].Entry.Text] = &function{}
	}
	return cpu.Bound{Program: made, Kernel: c.Kernel, Launch: l}
}

// rebound is a launch whose arguments lie 4096 bytes apart from at on.
func rebound(l *kernel.Launch, at []byte) *kernel.Launch {
	made := *l
	made.Args = append([]kernel.Operand(nil), l.Args...)
	for i := range made.Args {
		made.Args[i].Base = unsafe.Pointer(&at[4096*i])
	}
	return &made
}

// TestHold: parts that share a plan are held back each with its addresses, and of parts
// of which one is refused none is: the host runs all of them.
func TestHold(t *testing.T) {
	// A driver without tensor maps refuses products on matrix units.
	g := &gpu{lib: &driver.Driver{}, target: ptx.Target{Major: 9, Multiprocessors: 132}, loaded: map[string]*function{}, room: 1 << 40, noMany: true}
	mem := make([]byte, 1<<16)
	mem = mem[-int(uintptr(unsafe.Pointer(&mem[0])))&4095:]
	plain := bound(t, g, ptxtest.Elementwise(600)[0], mem)
	var product cpu.Bound
	for _, s := range ptxtest.Matrices(256, 256, 256) {
		if strings.Contains(s.Name, "bf16") && product.Program == nil {
			product = bound(t, g, s, mem)
		}
	}

	other := plain
	other.Launch = rebound(plain.Launch, mem[1<<15:])
	if err := g.hold([]cpu.Bound{plain, other, plain}, 0); err != nil {
		t.Fatal(err)
	}
	if len(g.batch.steps) != 3 || g.stats.Plans != 1 {
		t.Fatalf("%d steps of %d plans, want 3 of 1", len(g.batch.steps), g.stats.Plans)
	}
	for i, want := range []*kernel.Launch{plain.Launch, other.Launch, plain.Launch} {
		s := g.batch.steps[i]
		for a := range want.Args {
			addr := binary.LittleEndian.AppendUint64(nil, uint64(uintptr(want.Args[a].Base)))
			if !strings.Contains(string(g.batch.text[s.from:s.to]), string(addr)) {
				t.Errorf("step %d lacks the address of argument %d", i, a)
			}
		}
	}

	before := g.batch.size()
	err := g.hold([]cpu.Bound{plain, product}, 0)
	if err == nil || ir.AsError(err).Kind != ir.ErrUnsupported {
		t.Fatalf("error %v, want one of kind %v", err, ir.ErrUnsupported)
	}
	if after := g.batch.size(); after != before {
		t.Errorf("the batch holds %+v after a refusal, %+v before", after, before)
	}
	if err := g.hold([]cpu.Bound{other}, 0); err != nil {
		t.Fatal(err)
	}
	if n := len(g.batch.steps); n != 4 {
		t.Errorf("%d steps, want 4", n)
	}
}
