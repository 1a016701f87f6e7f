package contract

import (
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64"
)

// Code is a compiled contraction. It implements [kernel.Divided].
type Code struct {
	*form
	level    amd64.Level
	tiles    *amd64.Tiles
	rowTiles *amd64.RowTiles
	panels   *amd64.Panels
	pack     [2]*part // the sides, as elementwise kernels
	single   [2]int   // the one argument of a side, -1 if it has more; see singleOf
	source   [2]func() string
	epilogue *part
	plain    func() kernel.Executable // for what is too small to divide
	made     atomic.Pointer[amd64.Code]
	choose   func(Problem) Blocking // see SetBlocking
	// interpreter serves what has no code, and finds faults.
	interpreter func() kernel.Executable
}

// part is an elementwise kernel with its code, which is generated when it is
// needed first.
type part struct {
	*derived
	compile func() *amd64.Code // nil if the generator refuses it
	made    atomic.Pointer[amd64.Code]
	runs    sync.Pool // of *kernel.Launch
}

func newPart(d *derived, level amd64.Level) *part {
	p := &part{derived: d}
	p.compile = sync.OnceValue(func() *amd64.Code {
		code, err := amd64.Compile(d.K, level)
		if err != nil {
			return nil
		}
		p.made.Store(code)
		return code
	})
	return p
}

// Compile makes the executable of a contraction for the level, which the processor
// must have. The error is an [*amd64.Unsupported] where the kernel is another's.
func Compile(k *kernel.Kernel, level amd64.Level) (*Code, error) {
	c, err := compile(k, level)
	if err != nil {
		return nil, err
	}
	for _, p := range c.needed() {
		if p.compile() == nil {
			return nil, &amd64.Unsupported{Kernel: k.Name, Reason: "what surrounds the product is refused"}
		}
	}
	return c, nil
}

func compile(k *kernel.Kernel, level amd64.Level) (*Code, error) {
	if err := k.Verify(); err != nil {
		return nil, err
	}
	if !amd64.Available(level) {
		return nil, &amd64.Unsupported{Kernel: k.Name, Reason: "no " + level.String() + " code can run here"}
	}
	f, why := formOf(k, level)
	if why != "" {
		return nil, &amd64.Unsupported{Kernel: k.Name, Reason: why}
	}
	c := &Code{form: f, level: level}
	c.tiles = amd64.TilesOf(level, f.kind)
	c.rowTiles = amd64.RowTilesOf(level, f.kind)
	c.panels = amd64.PanelsOf(level, c.tiles.Size)
	for i, name := range []string{" rows", " columns"} {
		c.pack[i] = newPart(f.prologue(&f.sides[i], k.Name+name), level)
		c.single[i] = singleOf(c.pack[i])
		c.source[i] = sync.OnceValue(func() string { return sourceOf(c.pack[i]) })
	}
	c.epilogue = newPart(f.epilogue(), level)
	c.plain = sync.OnceValue(func() kernel.Executable {
		if code, err := amd64.Compile(k, level); err == nil {
			c.made.Store(code)
			return code
		}
		return c.interpreter()
	})
	c.interpreter = sync.OnceValue(func() kernel.Executable {
		in, err := kernel.NewInterpreter(k)
		if err != nil {
			panic("sinter: BUG: kernel/contract: no interpreter for a verified kernel: " + err.Error())
		}
		return in
	})
	return c, nil
}

// needed lists the parts that every launch needs.
func (c *Code) needed() (parts []*part) {
	for i := range c.sides {
		if c.sides[i].arg < 0 {
			parts = append(parts, c.pack[i])
		}
	}
	if c.direct < 0 {
		parts = append(parts, c.epilogue)
	}
	return parts
}

// Run executes one launch on the calling goroutine.
func (c *Code) Run(l *kernel.Launch) {
	w := c.Divide(l, 1)
	if w == nil {
		c.plain().Run(l)
		return
	}
	if w.Release != nil {
		defer w.Release()
	}
	for i := range w.Phases {
		p := &w.Phases[i]
		for n := range p.Tasks {
			p.Do(n)
		}
	}
}

// Divide returns the work of a launch; nil if it is too small to gain.
func (c *Code) Divide(l *kernel.Launch, threads int) *kernel.Work {
	if tooSmall(l) && !c.pairs { // for which there is no other code
		return nil
	}
	if s := c.slide(l); s != nil {
		return s.work(threads)
	}
	if p := c.bind(l); p != nil {
		return p.work(threads)
	}
	return nil
}

var _ kernel.Divided = (*Code)(nil)

// Takes reports whether a kernel is a contraction of the engine at a level, by its form: whether
// Compile takes it if the generator takes what surrounds the product.
func Takes(k *kernel.Kernel, level amd64.Level) bool {
	_, why := formOf(k, level)
	return why == ""
}
