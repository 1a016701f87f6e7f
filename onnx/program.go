package onnx

import (
	"github.com/sinter-go/sinter"
)

// Program is a model that was checked and is ready to run. It is safe for
// concurrent use.
type Program struct {
	model    *Model
	inputs   []*ValueInfo
	outputs  []*ValueInfo
	defaults map[string]*Value // of inputs that have an initializer
	main     *block
	device   *sinter.Device // where it runs; nil: where the inputs are
	draws    *sinter.Generator
	observe  func(Step)  // nil: nobody asked
	shared   []*constant // everything that was uploaded, for Release
}

// Option configures [Model.Compile].
type Option func(*options)

type options struct {
	device  *sinter.Device
	noFold  bool
	seed    uint64
	observe func(Step)
}

// On makes the program run on a device; inputs from others are moved there.
func On(d *sinter.Device) Option { return func(o *options) { o.device = d } }

// WithoutFolding keeps nodes whose inputs are constants, to be run every time.
func WithoutFolding() Option { return func(o *options) { o.noFold = true } }

// Seed seeds the random operators that have no seed of their own; 0 if it is not
// given. Draws of one run after the other, and of runs at the same time, differ.
func Seed(seed uint64) Option { return func(o *options) { o.seed = seed } }

// Inputs returns the inputs that the program takes, those with a default last
// among them or not, in the order of the file.
func (p *Program) Inputs() []*ValueInfo { return p.inputs }

// Outputs returns the outputs in the order of the file.
func (p *Program) Outputs() []*ValueInfo { return p.outputs }

// Optional reports whether an input has a default, so that it may be left out.
func (p *Program) Optional(input string) bool { return p.defaults[input] != nil }

// Random reports whether outputs depend on random operators, of which the
// standard does not say what they draw.
func (p *Program) Random() bool { return p.main.random() }

func (b *block) random() bool {
	for _, s := range b.steps {
		if s.op.random {
			return true
		}
		for _, inner := range s.blocks {
			if inner.random() {
				return true
			}
		}
	}
	return false
}

// Model returns the model that the program was compiled from.
func (p *Program) Model() *Model { return p.model }

// Release gives up the memory that the program's constants take on devices. A
// later run uploads them again.
func (p *Program) Release() {
	for _, c := range p.shared {
		c.release()
	}
	for _, v := range p.defaults {
		if v.fixed != nil {
			v.fixed.release()
		}
	}
}

// ref names a value: a slot of the block that is up blocks outside of the one in
// which it is used. A slot of -1 is an input left out.
type ref struct{ up, slot int }

// block is a graph ready to run: values are slots of its frame.
type block struct {
	slots   int
	inputs  []int
	outputs []ref
	consts  []slotValue
	steps   []*step

	fixed map[int]*Value // of consts, while compiling
}

type slotValue struct {
	slot  int
	value *Value
}

// step is a node ready to run.
type step struct {
	node   *Node
	op     *opDef
	opset  int
	label  string
	in     []ref
	out    []int // -1: not used
	attrs  map[string]*Attr
	blocks map[string]*block // of graph attributes
	dies   []int             // slots of the block that nothing needs afterwards
}

// eachUse calls f for the references of a step to the block that it is in.
func (s *step) eachUse(f func(slot int)) {
	for _, r := range s.in {
		if r.up == 0 && r.slot >= 0 {
			f(r.slot)
		}
	}
	for _, b := range s.blocks {
		b.eachUse(1, f)
	}
}

// eachUse calls f for the references in a block to the one up blocks outside.
func (b *block) eachUse(up int, f func(slot int)) {
	use := func(r ref) {
		if r.up == up && r.slot >= 0 {
			f(r.slot)
		}
	}
	for _, s := range b.steps {
		for _, r := range s.in {
			use(r)
		}
		for _, inner := range s.blocks {
			inner.eachUse(up+1, f)
		}
	}
	for _, r := range b.outputs {
		use(r)
	}
}

// prune drops steps that nothing needs, and finds where values are needed last.
func (b *block) prune() {
	needed := make([]bool, b.slots)
	mark := func(slot int) { needed[slot] = true }
	for _, r := range b.outputs {
		if r.up == 0 && r.slot >= 0 {
			mark(r.slot)
		}
	}
	var steps []*step
	for i := len(b.steps) - 1; i >= 0; i-- {
		s := b.steps[i]
		keep := false
		for _, o := range s.out {
			keep = keep || o >= 0 && needed[o]
		}
		if keep {
			for j, o := range s.out {
				if o >= 0 && !needed[o] {
					s.out[j] = -1
				}
			}
			s.eachUse(mark)
			steps = append(steps, s)
		}
	}
	for i, j := 0, len(steps)-1; i < j; i, j = i+1, j-1 {
		steps[i], steps[j] = steps[j], steps[i]
	}
	b.steps = steps
	consts := b.consts[:0]
	for _, c := range b.consts {
		if needed[c.slot] {
			consts = append(consts, c)
		}
	}
	b.consts = consts
	b.findLastUses()
}

// constants appends what may be uploaded for the block and those in it.
func (b *block) constants(to []*constant) []*constant {
	for _, c := range b.consts {
		if c.value.fixed != nil {
			to = append(to, c.value.fixed)
		}
	}
	for _, s := range b.steps {
		for _, inner := range s.blocks {
			to = inner.constants(to)
		}
	}
	return to
}

// findLastUses says after which step each value is not needed anymore.
func (b *block) findLastUses() {
	last := make([]int, b.slots) // 1 + the step
	for _, s := range b.steps {
		s.dies = nil
	}
	for i, s := range b.steps {
		for _, o := range s.out {
			if o >= 0 {
				last[o] = i + 1
			}
		}
		s.eachUse(func(slot int) { last[slot] = i + 1 })
	}
	forever := func(slot int) { last[slot] = 0 }
	for _, slot := range b.inputs { // their owners are outside
		forever(slot)
	}
	for _, c := range b.consts {
		forever(c.slot)
	}
	for _, r := range b.outputs {
		if r.up == 0 && r.slot >= 0 {
			forever(r.slot)
		}
	}
	for slot, at := range last {
		if at > 0 {
			b.steps[at-1].dies = append(b.steps[at-1].dies, slot)
		}
	}
}
