package fusion

import (
	"runtime"
	"slices"
	"sync"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/lower"
)

// kernels are the compiled kernels of a client, by the key of their piece. Plans
// hold the kernels that they use: one that is evicted here goes, with its code,
// when the last plan does.
type kernels struct {
	mu    sync.Mutex
	limit int
	found map[string]*cachedKernel
	clock int64
}

type cachedKernel struct {
	k    *Kernel
	used int64
}

// target is the client as the planner sees it.
type target Client

// Kernel compiles the kernel of a piece, or finds it.
func (t *target) Kernel(p *lower.Piece) (*Kernel, error) { return t.kernel(p, t.compiler.Compile) }

func (t *target) kernel(p *lower.Piece, compile func(*kernel.Kernel) (backend.Compiled, error)) (*Kernel, error) {
	ks := &t.kernels
	key := p.Key()
	ks.mu.Lock()
	ks.clock++
	if c := ks.found[key]; c != nil {
		c.used = ks.clock
		ks.mu.Unlock()
		return c.k, nil
	}
	ks.mu.Unlock()
	k, params, err := p.Build()
	if err != nil {
		return nil, err
	}
	code, err := compile(k)
	if err != nil {
		return nil, err
	}
	made := &Kernel{Code: code, Params: params}
	runtime.AddCleanup(made, func(c backend.Compiled) { c.Release() }, code)
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if c := ks.found[key]; c != nil {
		return c.k, nil
	}
	if len(ks.found) >= ks.limit {
		ks.evict()
	}
	ks.found[key] = &cachedKernel{made, ks.clock}
	return made, nil
}

func (ks *kernels) evict() {
	used := make([]int64, 0, len(ks.found))
	for _, c := range ks.found {
		used = append(used, c.used)
	}
	slices.Sort(used)
	for key, c := range ks.found {
		if c.used <= used[len(used)/4] {
			delete(ks.found, key)
		}
	}
}

// Tiles reports whether the device runs the product of a piece on packed tiles.
func (t *target) Tiles(p *lower.Piece) bool {
	tiler, ok := backend.As[backend.Tiler](t.inner)
	if !ok {
		return false
	}
	k, _, err := p.Build()
	return err == nil && tiler.Tiles(k, p.Extents)
}

// Apart reports whether the product of a piece is faster apart from the rest.
func (t *target) Apart(p *lower.Piece) bool {
	tiler, ok := backend.As[backend.Tiler](t.inner)
	if !ok {
		return false
	}
	k, _, err := p.Build()
	return err == nil && tiler.Apart(k, p.Results())
}
