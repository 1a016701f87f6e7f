package cpu

import (
	"sync"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/lower"
)

// compiled is a kernel with its executable and the origin of its parameters.
type compiled struct {
	ready
	params []lower.ParamRef
	used   int64 // clock of the last use, for eviction
}

// maxCompiled bounds the kernels that a device keeps.
const maxCompiled = 4096

// kernels are those that the device lowered itself, by the key of their piece.
type kernels struct {
	mu    sync.Mutex
	byKey map[string]*compiled
	clock int64
}

func (s *kernels) get(key string) *compiled {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock++
	c := s.byKey[key]
	if c != nil {
		c.used = s.clock
	}
	return c
}

func (s *kernels) put(key string, c *compiled) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byKey) >= maxCompiled {
		s.evict()
	}
	c.used = s.clock
	s.byKey[key] = c
}

// evict drops the less recently used half of the kernels. Code goes with its
// executable: the collector unmaps what nothing can run any more.
func (s *kernels) evict() {
	for key, c := range s.byKey {
		if c.used < s.clock-maxCompiled/2 {
			delete(s.byKey, key)
		}
	}
}

// shrink makes room when memory is short.
func (s *kernels) shrink() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.evict()
}

// compile makes an executable: generated code where the generator takes the
// kernel, the interpreter where it refuses. generated says which.
func (d *Device) compile(k *kernel.Kernel) (exe kernel.Executable, generated bool, err error) {
	if exe, err := generate(d.opt.Generator, k); err == nil {
		d.counters.compiled.Add(1)
		d.choose(exe)
		return exe, true, nil
	}
	exe, err = kernel.NewInterpreter(k)
	if err == nil {
		d.counters.interpreted.Add(1)
	}
	return exe, false, err
}

// kernelFor returns the compiled kernel that serves a piece.
func (d *Device) kernelFor(p *lower.Piece) (*compiled, error) {
	key := p.Key()
	if c := d.kernels.get(key); c != nil {
		d.counters.cacheHits.Add(1)
		return c, nil
	}
	d.counters.cacheMisses.Add(1)
	k, params, err := p.Build()
	if err != nil {
		return nil, err
	}
	made, err := d.ready(k)
	if err != nil {
		return nil, err
	}
	c := &compiled{ready: made, params: params}
	d.kernels.put(key, c)
	return c, nil
}

// compiledKernel is a kernel compiled for a client.
type compiledKernel struct {
	d     *Device
	ready      // its code belongs to the device goroutine
	fault bool // the kernel may note one
	// decisive are the arguments on which that depends.
	decisive []bool

	// Owned by the device goroutine.
	released  bool
	prepared  bool            // an accelerator was told of it
	overwrite map[[2]int]bool // see mayOverwrite
}

// Kernel returns the kernel.
func (c *compiledKernel) Kernel() *kernel.Kernel { return c.k }

// Engine is who computes the kernel, if it is no code of the device's own.
func (c *compiledKernel) Engine() string { return engineOf(c.program) }

// Generated reports whether the kernel became machine code.
func (c *compiledKernel) Generated() bool { return c.generated }

// Release returns the code once queued launches of it are done.
func (c *compiledKernel) Release() {
	_ = c.d.q.add(task{run: func() { c.released, c.exe, c.program = true, nil, nil }}) // a closed device has let go of it
}

// Compile makes a kernel ready to launch, on the goroutine of the caller.
func (d *Device) Compile(k *kernel.Kernel) (backend.Compiled, error) {
	if d.q.isClosed() {
		return nil, errClosed
	}
	if k == nil {
		return nil, ir.Errorf(ir.ErrArgument, "there is no kernel to compile")
	}
	if err := k.Verify(); err != nil {
		return nil, &ir.Error{Kind: ir.ErrArgument, Cause: err}
	}
	made, err := d.ready(k)
	if err != nil {
		return nil, err
	}
	return &compiledKernel{d: d, ready: made, fault: k.HasFault(), decisive: k.FaultArgs()}, nil
}
