package cuda

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/cuda/cublaslt"
	"github.com/sinter-go/sinter/cuda/driver"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel/ptx"
)

// gpu is the accelerator: a context with one stream. mu is held while something is put
// on the stream, and guards what follows it; those who wait for the stream do so without
// it.
type gpu struct {
	id     string
	lib    *driver.Driver
	dev    driver.Device
	ctx    *driver.Context
	target ptx.Target
	memory int64 // that tensors may take

	mu      sync.Mutex
	stream  driver.Stream
	batch   batch
	clocks  clocks
	scratch driver.Ptr // of the steps of one plan
	room    int64      // bytes of it
	faults  faults
	mapped  map[driver.Ptr]bool // slabs that are not returned
	loaded  map[string]*function
	// refusals are the entries that the driver does not take.
	refusals map[string]error
	age      int        // how often all of them were dropped
	plans    []*planned // of hold, and
	groups   []group    // what of them runs together,
	merged   []ptx.Step // the steps of a group, and
	blocks   []uint32   // theirs
	many     map[*ptx.Entry]*function
	alone    map[*ptx.Entry]bool // whose launches the driver does not take together
	noMany   bool
	nodes    nodes
	lost     *ir.Error
	closed   bool
	stats    Stats

	coder  coder
	images images

	library *library // nil where all kernels are our own

	ranges   ranger // nil without a profiler
	rangeErr error  // why one is not told

	up, down ring
}

var (
	_ cpu.Accelerator = (*gpu)(nil)
	_ cpu.NodeRunner  = (*gpu)(nil)
	_ cpu.Preparer    = (*gpu)(nil)
)

// The drivers that take the text of kernels, and of those for Hopper's matrix units and
// clusters, as 1000 times the major version of CUDA plus 10 times the minor one.
const (
	leastDriver  = 11080
	hopperDriver = 12010
)

// spare is the memory of a GPU that is left to code, contexts and others.
const spare = 512 << 20

func openGPU(lib *driver.Driver, openProducts func() (*cublaslt.Library, error), o Options) (g *gpu, err error) {
	g = &gpu{id: o.ID, lib: lib, memory: o.Memory, loaded: map[string]*function{}, mapped: map[driver.Ptr]bool{}}
	if v := lib.Version(); v < leastDriver {
		return nil, fmt.Errorf("the driver is one of CUDA %s, at least %s is needed", cudaVersion(v), cudaVersion(leastDriver))
	} else if v < hopperDriver {
		g.target.NoHopper = true
	}
	if g.id == "" {
		g.id = "cuda:" + strconv.Itoa(o.Index)
	}
	if g.dev, err = lib.Device(o.Index); err != nil {
		return nil, err
	}
	if g.target.Major, g.target.Minor, err = g.dev.ComputeCapability(); err != nil {
		return nil, err
	}
	if g.target.Major < 8 {
		return nil, fmt.Errorf("compute capability %d.%d, at least 8.0 is needed", g.target.Major, g.target.Minor)
	}
	if g.target.Multiprocessors, err = g.dev.Attribute(driver.Multiprocessors); err != nil {
		return nil, err
	}
	g.target.TF32 = o.Products == OwnTF32
	g.nodes.natives = ptx.NewNatives(g.target)
	g.ranges, g.rangeErr = attachedRanger()
	if g.ctx, err = g.dev.Retain(); err != nil {
		return nil, err
	}
	g.coder = driverCoder{g.ctx}
	err = g.ctx.Do(func() error {
		free, _, err := g.ctx.MemoryInfo()
		if err != nil {
			return err
		}
		if g.memory == 0 {
			g.memory = max(int64(free)-spare, 64<<20)
		}
		if err := g.dev.KeepFreed(1 << 62); err != nil { // the pools of the device decide
			return err
		}
		if g.stream, err = g.ctx.NewStream(); err != nil {
			return err
		}
		g.noMany = o.NoManyLaunch
		g.batch.off, g.batch.dependent = o.NoGraphs, !o.NoDependentLaunch && g.ctx.HasProgrammaticEdges()
		if o.Products.library() {
			if err := g.openLibrary(openProducts, o.Products == CublasLtF32); err != nil {
				return err
			}
		}
		return errors.Join(g.faults.open(g.ctx, g.stream), g.up.open(g.ctx, 8), g.down.open(g.ctx, 4))
	})
	if err != nil {
		return nil, errors.Join(err, g.ctx.Release())
	}
	return g, nil
}

// Describe tells of the GPU.
func (g *gpu) Describe(i *backend.Info) {
	// Products of bf16 and f16 have the bits of the architecture's matrix units.
	i.Kind = fmt.Sprintf("cuda %d.%d", g.target.Major, g.target.Minor)
	if g.target.TF32 {
		i.Kind += " tf32"
		i.Extra["products"] = "of f32 rounded to tf32"
	}
	if g.library != nil {
		i.Kind += " " + engine
		i.Extra["products"] = fmt.Sprintf("by %s, version %d", g.library.lt.Name(), g.library.lt.Version())
	}
	name, err := g.dev.Name()
	if err != nil {
		name = "an NVIDIA GPU"
	}
	i.Detail = fmt.Sprintf("%s, kernels by ptx for compute capability %d.%d", name, g.target.Major, g.target.Minor)
	if bus, err := g.dev.PCIBusID(); err == nil {
		i.Extra["bus"] = bus
	}
	i.Extra["multiprocessors"] = strconv.Itoa(g.target.Multiprocessors)
	i.Extra["driver"] = "CUDA " + cudaVersion(g.lib.Version())
	if g.rangeErr != nil {
		i.Extra["profiler"] = "none: " + g.rangeErr.Error()
	} else if g.ranges != nil {
		i.Extra["profiler"] = "attached, by NVTX"
	}
	if total, err := g.dev.TotalMemory(); err == nil {
		i.Extra["memory"] = fmt.Sprintf("%d MiB", total>>20)
	}
	if n, err := g.dev.Attribute(driver.L2CacheBytes); err == nil {
		i.Extra["cache"] = fmt.Sprintf("%d MiB L2", n>>20)
	}
}

// do runs f with the context current, and mu held. An error of the driver loses the
// device.
func (g *gpu) do(f func() error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.unusable(); err != nil {
		return err
	}
	return g.lose(g.ctx.Do(f))
}

// unusable is the error of a lost or closed device. mu is held.
func (g *gpu) unusable() error {
	if g.lost != nil {
		return g.lost
	}
	if g.closed {
		return ir.Errorf(ir.ErrClosed, "the device is closed")
	}
	return nil
}

// lose notes a failure of the driver, unless it is want of memory, which the device
// survives. mu is held.
func (g *gpu) lose(err error) error {
	var failed *driver.Error
	if err == nil || g.lost == nil && (!errors.As(err, &failed) || lacksMemory(err)) {
		return err
	}
	return g.fail(err)
}

// fail notes a failure whatever it is. mu is held.
func (g *gpu) fail(err error) error {
	if g.lost == nil {
		g.lost = &ir.Error{Kind: ir.ErrDevice, Device: g.id, Msg: "the GPU failed: all that is on it is lost", Cause: err}
	}
	return g.lost
}

// lacksMemory reports whether the driver failed for want of memory.
func lacksMemory(err error) bool {
	const outOfMemory = 2 // the driver's code
	var failed *driver.Error
	return errors.As(err, &failed) && failed.Code == outOfMemory
}

// withRoom calls f, which needs memory, again if there was none, when what was freed has
// gone back. mu is held and the context current.
func (g *gpu) withRoom(f func() error) error {
	err := f()
	if !lacksMemory(err) {
		return err
	}
	if err := g.stream.Synchronize(); err != nil {
		return err
	}
	if err := g.dev.TrimFreed(0); err != nil {
		return err
	}
	return f()
}

// alloc takes memory in stream order. What is freed waits in the driver's pool, in blocks
// of other sizes, until there is no room.
func (g *gpu) alloc(bytes int64) (p driver.Ptr, err error) {
	if err := g.issue(); err != nil {
		return 0, err
	}
	err = g.withRoom(func() (err error) {
		p, err = g.stream.Alloc(uint64(bytes))
		return err
	})
	return p, err
}

// Map takes memory in stream order.
func (g *gpu) Map(bytes int64) (mem []byte, err error) {
	err = g.do(func() error {
		p, err := g.alloc(bytes)
		if err != nil {
			return err
		}
		g.mapped[p] = true
		mem = deviceBytes(p, bytes)
		return nil
	})
	return mem, err
}

// Unmap returns memory in stream order.
func (g *gpu) Unmap(mem []byte) {
	_ = g.do(func() error { // a lost device has no memory, a closed one returned it
		if err := g.issue(); err != nil {
			return err
		}
		delete(g.mapped, pointer(mem))
		return g.stream.Free(pointer(mem))
	})
}

// deviceBytes stands for device memory. Nothing ever reads or writes it here; the
// collector ignores addresses that are not of the heap of Go.
func deviceBytes(p driver.Ptr, n int64) []byte {
	at := uintptr(p)
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), n)
}

// pointer is the address that a slice of device memory stands for.
func pointer(mem []byte) driver.Ptr {
	return driver.Ptr(uintptr(unsafe.Pointer(unsafe.SliceData(mem))))
}

// Flush puts what was held back on the stream.
func (g *gpu) Flush() error { return g.do(g.issue) }

// Sync waits for the stream, as far as it is known now.
func (g *gpu) Sync() error {
	var until int
	err := g.do(func() error {
		until = g.clocks.told + len(g.clocks.open)
		return g.issue()
	})
	if err != nil {
		return err
	}
	err = g.ctx.Do(g.stream.Synchronize) // without mu: others go on
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.lose(err); err != nil {
		return err
	}
	return g.lose(g.ctx.Do(func() error { return g.clocks.settle(until) }))
}

// Close waits for the stream and returns everything.
func (g *gpu) Close() error {
	err := g.Sync()
	g.up.mu.Lock() // copies that are under way end first
	defer g.up.mu.Unlock()
	g.down.mu.Lock()
	defer g.down.mu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	if g.lost != nil { // the driver refuses everything by now
		_ = g.ctx.Release()
		return nil
	}
	return errors.Join(err, g.ctx.Do(func() error {
		errs := []error{g.library.close(g.stream), g.batch.close(), g.clocks.close(), g.up.close(g.ctx), g.down.close(g.ctx),
			g.stream.Free(g.scratch), g.faults.close(g.ctx, g.stream)}
		for p := range g.mapped { // of tensors that somebody still reads
			errs = append(errs, g.stream.Free(p))
		}
		for _, f := range g.loaded {
			errs = append(errs, f.module.Unload())
		}
		return errors.Join(append(errs, g.stream.Synchronize(), g.stream.Destroy(), g.dev.TrimFreed(0))...)
	}), g.ctx.Release())
}

// Run plans the parts and holds their steps back. Products of a library go on the stream at
// once, behind what was held back before, so that what fails is told; then no part has run
// that could have overwritten anything.
func (g *gpu) Run(parts []cpu.Bound) (run int, err error) {
	err = g.do(func() error {
		others, calls, err := g.divide(parts)
		if err != nil {
			return err
		}
		if len(calls) > 0 {
			if err := g.issue(); err != nil {
				return err
			}
		}
		may := false
		for i := range others {
			may = may || others[i].Launch.Fault != nil
			if i == 0 {
				g.batch.begin(others[i].Kernel.Name)
			}
		}
		word, number, err := g.faults.word(may)
		if err != nil {
			return err
		}
		before := g.batch.size()
		if err := g.hold(others, word); err != nil {
			return err
		}
		if err := g.multiply(calls); err != nil {
			g.batch.cut(before)
			return err
		}
		run = g.faults.took(number)
		return g.issueIfFull()
	})
	return run, err
}

// issueIfFull lets the steps go when they have become many.
func (g *gpu) issueIfFull() error {
	if !g.batch.full() {
		return nil
	}
	return g.issue()
}

// issue puts what was held back on the stream. mu is held and the context current. An
// error loses the device, whatever it is: results of what did not run are known already.
func (g *gpu) issue() error {
	if err := g.batch.issue(g); err != nil {
		return g.fail(err)
	}
	return nil
}

// Clock measures between two events on the stream.
func (g *gpu) Clock(tell func(time.Duration)) (stop func()) {
	var from driver.Event
	begun := g.do(func() (err error) {
		if err = g.issue(); err != nil {
			return err
		}
		if from, err = g.clocks.mark(g); err == nil {
			g.batch.clocked++
		}
		return err
	})
	return func() {
		_ = g.do(func() error { // a lost device tells no times
			if begun != nil {
				return nil
			}
			err := g.issue()
			g.batch.clocked--
			if err != nil {
				return err
			}
			to, err := g.clocks.mark(g)
			if err != nil {
				return err
			}
			return g.clocks.add(from, to, tell)
		})
	}
}
