package cpu

import (
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/lower"
)

// compiled is a kernel with its executable and the origin of its parameters.
type compiled struct {
	k      *kernel.Kernel
	exe    kernel.Executable
	params []lower.ParamRef
	used   int64 // clock of the last use, for eviction
}

// maxCompiled bounds the kernels that a device keeps.
const maxCompiled = 4096

// compile makes an executable: generated code where the generator takes the
// kernel, the interpreter where it refuses. generated says which.
func (d *Device) compile(k *kernel.Kernel) (exe kernel.Executable, generated bool, err error) {
	if exe, err := generate(d.opt.Generator, k); err == nil {
		d.counters.Compiled++
		return exe, true, nil
	}
	exe, err = kernel.NewInterpreter(k)
	if err == nil {
		d.counters.Interpreted++
	}
	return exe, false, err
}

// kernelFor returns the compiled kernel that serves a piece.
func (d *Device) kernelFor(b *lower.Piece) (*compiled, error) {
	key := b.Key()
	d.clock++
	if c := d.kernels[key]; c != nil {
		c.used = d.clock
		d.counters.CacheHits++
		return c, nil
	}
	d.counters.CacheMisses++
	k, params, err := b.Build()
	if err != nil {
		return nil, err
	}
	exe, _, err := d.compile(k)
	if err != nil {
		return nil, err
	}
	if len(d.kernels) >= maxCompiled {
		d.evict()
	}
	c := &compiled{k, exe, params, d.clock}
	d.kernels[key] = c
	return c, nil
}

// evict drops the less recently used half of the kernels. Code goes with its
// executable: the collector unmaps what nothing can run any more.
func (d *Device) evict() {
	for key, c := range d.kernels {
		if c.used < d.clock-maxCompiled/2 {
			delete(d.kernels, key)
		}
	}
}
