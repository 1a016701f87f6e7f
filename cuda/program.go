package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/cuda/driver"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/gemm"
	"github.com/sinter-go/sinter/kernel/ptx"
)

// program is a kernel as PTX, with the plans of the launches met so far. The lock of the
// gpu guards it.
type program struct {
	module *ptx.Module
	form   *gemm.Form // of one that a library computes; nil of all others
	plans  map[string]*planned
	key    []byte
	base   []uint64
}

type planned struct {
	*ptx.Plan
	functions []*function // of its steps
	age       int         // of what is loaded, when they were
}

// maxPlans bounds the plans of a program, and maxLoaded the functions of a device: all are
// dropped when there would be more.
const (
	maxPlans  = 256
	maxLoaded = 4096
)

// function is an entry point that the driver has compiled.
type function struct {
	module *driver.Module
	driver.Function
}

// Compile translates a kernel; the error says why it is not covered.
func (g *gpu) Compile(k *kernel.Kernel) (cpu.Program, error) {
	m, err := ptx.Generate(k, g.target)
	if err != nil {
		return nil, err
	}
	p := &program{module: m, plans: map[string]*planned{}}
	if f := gemm.Of(k); g.library.takes(f) {
		p.form = f
	}
	return p, nil
}

// Tiles reports whether the product of a kernel computes its operand with the many lines on
// the way, where kernels of our own multiply.
func (g *gpu) Tiles(k *kernel.Kernel, extents []int64) bool {
	return g.library == nil && ptx.Tiles(k, g.target, extents)
}

// Apart reports whether the product of a kernel is faster apart from the rest.
func (g *gpu) Apart(k *kernel.Kernel, results int64) bool { return ptx.Apart(k, g.target, results) }

// hold appends the steps of bound programs to the batch, all of them or, if there is an
// error, none: what then runs on the host must not have run here, for it may have
// overwritten its operands. Faults are noted in the word at an address. mu is held and
// the context current.
func (g *gpu) hold(parts []cpu.Bound, fault driver.Ptr) error {
	g.plans = g.plans[:0]
	for i := range parts {
		made, err := g.plan(&parts[i])
		if err != nil {
			return err
		}
		g.plans = append(g.plans, made)
	}
	groups, alone := g.together(g.plans, false), false
	for {
		again, err := g.readyTogether(g.plans, groups)
		if err != nil && !alone && len(groups) < len(parts) { // together they take more memory
			alone, again, err = true, true, nil
		}
		if err != nil {
			return err
		}
		if !again {
			break
		}
		groups = g.together(g.plans, alone)
	}
	before := g.batch.size()
	for i := range groups {
		if err := g.appendGroup(parts, &groups[i], fault); err != nil {
			g.batch.cut(before)
			return err
		}
	}
	for i := range groups {
		if n := len(groups[i].parts); n > 1 {
			g.stats.Shared += int64(n * len(g.plans[groups[i].parts[0]].Steps))
		}
	}
	return nil
}

// appendGroup holds back the steps of a group, which are loaded.
func (g *gpu) appendGroup(parts []cpu.Bound, x *group, fault driver.Ptr) error {
	if len(x.parts) > 1 {
		return g.appendTogether(parts, x, fault)
	}
	i := x.parts[0]
	made, p := g.plans[i], parts[i].Program.(*program)
	made.Rebind(parts[i].Launch, p.bases(parts[i].Launch)) // parts may share a plan: each is moved right before its steps
	return g.append(made, fault)
}

// ready loads the functions of a plan, and has scratch memory for it.
func (g *gpu) ready(made *planned) error {
	fresh := 0
	if made.age != g.age {
		fresh = len(made.Steps)
	}
	if err := g.roomFor(fresh); err != nil {
		return err
	}
	if err := g.load(made); err != nil {
		return err
	}
	return g.needScratch(made.Scratch)
}

// roomFor has room for so many functions more.
func (g *gpu) roomFor(fresh int) error {
	if len(g.loaded)+fresh <= maxLoaded {
		return nil
	}
	return g.unload()
}

// append holds back the steps of a plan that is ready and where it should be: all of
// them or, if there is an error, none.
func (g *gpu) append(made *planned, fault driver.Ptr) error {
	before := g.batch.size()
	made.Bind(uint64(g.scratch), uint64(fault))
	for j := range made.Steps {
		if err := g.batch.add(g, &made.Steps[j], made.functions[j]); err != nil {
			g.batch.cut(before)
			return refused(err)
		}
	}
	return nil
}

// plan is the plan of a bound program, for some addresses or other.
func (g *gpu) plan(b *cpu.Bound) (*planned, error) {
	p, l := b.Program.(*program), b.Launch
	base := p.bases(l)
	p.key = p.module.AppendKey(p.key[:0], l, base)
	if made := p.plans[string(p.key)]; made != nil {
		return made, nil
	}
	plan, err := p.module.Plan(l, base)
	if err != nil {
		return nil, refused(err)
	}
	g.stats.Plans++
	if len(p.plans) >= maxPlans {
		clear(p.plans)
	}
	made := &planned{Plan: plan, age: -1}
	p.plans[string(p.key)] = made
	return made, nil
}

// bases are the addresses of the arguments, until the next call.
func (p *program) bases(l *kernel.Launch) []uint64 {
	p.base = p.base[:0]
	for i := range l.Args {
		p.base = append(p.base, uint64(uintptr(l.Args[i].Base)))
	}
	return p.base
}

// load finds the functions of a plan.
func (g *gpu) load(made *planned) error {
	if made.age == g.age {
		return nil
	}
	made.functions = made.functions[:0]
	for i := range made.Steps {
		f, err := g.function(made.Steps[i].Entry)
		if err != nil {
			return refused(err)
		}
		made.functions = append(made.functions, f)
	}
	made.age = g.age
	return nil
}

// refused is the error of a kernel that the driver does not take, which is no loss of the
// device: the host runs it.
func refused(err error) error {
	return &ir.Error{Kind: ir.ErrUnsupported, Msg: err.Error()}
}

// function loads an entry, once.
func (g *gpu) function(e *ptx.Entry) (*function, error) {
	if f := g.loaded[e.Text]; f != nil {
		return f, nil
	}
	if err := g.refusals[e.Text]; err != nil {
		return nil, err
	}
	m := g.makeEntry(e)
	g.keep(e, m)
	return m.f, m.err
}

// remember notes an entry that the driver does not take, so that it is not compiled again
// and again. Want of memory passes.
func (g *gpu) remember(e *ptx.Entry, err error) {
	if lacksMemory(err) || len(g.refusals) >= maxLoaded {
		return
	}
	if g.refusals == nil {
		g.refusals = map[string]error{}
	}
	g.refusals[e.Text] = err
}

func (c driverCoder) load(e *ptx.Entry, image []byte) (f *function, err error) {
	err = c.ctx.Do(func() error {
		m, err := c.ctx.LoadModule(image)
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		f = &function{module: m}
		if f.Function, err = m.Function(e.Name); err == nil && e.Shared > 48<<10 {
			err = f.AllowDynamicShared(e.Shared)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", e.Name, err), m.Unload())
		}
		return nil
	})
	return f, err
}

// unload drops every function, once nothing runs that is one. Plans find theirs anew.
func (g *gpu) unload() error {
	if err := g.issue(); err != nil {
		return err
	}
	if err := g.stream.Synchronize(); err != nil {
		return err
	}
	errs := []error{g.batch.close()} // graphs have functions
	for text, f := range g.loaded {
		errs = append(errs, f.module.Unload())
		delete(g.loaded, text)
	}
	clear(g.many)
	g.age++
	return errors.Join(errs...)
}

// needScratch makes room for what the steps of one plan pass on. Plans follow each other
// on the stream, so one memory serves all.
func (g *gpu) needScratch(n int64) error {
	if n <= g.room {
		return nil
	}
	if err := g.issue(); err != nil {
		return err
	}
	if err := g.stream.Free(g.scratch); err != nil {
		return err
	}
	g.scratch, g.room = 0, 0
	least := n
	n = max(2*n, 1<<20)
	p, err := g.alloc(n)
	if err != nil && n > least {
		n = least
		p, err = g.alloc(n)
	}
	if err != nil {
		return &ir.Error{Kind: ir.ErrMemory, Msg: fmt.Sprintf("%d bytes that a kernel needs beside its operands", n), Cause: err}
	}
	g.scratch, g.room = p, n
	return nil
}

// tensorMap encodes a description for the bulk copy engine.
func (g *gpu) tensorMap(m *ptx.TensorMap) ([ptx.MapBytes]byte, error) {
	n := m.Axes()
	return g.lib.EncodeTensorMap(driver.ElementBF16, driver.Ptr(m.Base), m.Extents[:n], m.Strides[:n-1], m.Box[:n])
}

var _ [driver.TensorMapBytes - unsafe.Sizeof([ptx.MapBytes]byte{})]byte // both agree
