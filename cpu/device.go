package cpu

import (
	"context"
	"maps"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/internal/debug"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/attend"
)

// Device is a backend on the host's processors. See [backend.Backend] for the
// meaning of its methods.
type Device struct {
	opt     Options
	q       *queue
	workers *workers

	// Owned by the device goroutine.
	store    map[ir.ID]*entry
	pool     pool
	host     pool // of an accelerated device: memory that kernels use on the host
	bound    []Bound
	routines map[string]Routine
	busy     time.Duration // on nodes and launches, while windows are open
	away     atomic.Int64  // nanoseconds of the accelerator, likewise
	windows  int
	current  launched    // the launch that runs
	among    []ir.Node   // of the function whose operations run one by one
	errs     []*ir.Error // raised and not yet returned by Sync or Read

	doubts    doubts
	retracing bool // faults are being told apart: nothing is in doubt

	closeOnce sync.Once
	closing   sync.Mutex // guards the pool once the goroutine is gone

	opaque    sync.Map // names of rows that have a routine
	attend    *attend.Engine
	wide      attend.Wide // of an accelerator
	wideReady map[*kernel.Kernel]*ready
	kernels   kernels
	counters  counters
	times     kernelTimes
	tuned     *tuning
}

// maxErrors bounds the errors kept for Sync.
const maxErrors = 64

var (
	_ backend.Backend  = (*Device)(nil)
	_ backend.Compiler = (*Device)(nil)
	_ backend.Memory   = (*Device)(nil)
	_ backend.Counting = (*Device)(nil)
	_ backend.Routines = (*Device)(nil)

	_ backend.Supporter = (*Device)(nil)
	_ backend.Tiler     = (*Device)(nil)
)

// New opens a device.
func New(opt Options) (*Device, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Device{opt: opt, q: newQueue(opt.QueueOps),
		store: map[ir.ID]*entry{}, kernels: kernels{byKey: map[string]*compiled{}}}
	if d.tuned, err = openTuning(opt); err != nil {
		return nil, err
	}
	scratch := &d.pool
	if d.accelerated() { // whose memory the host cannot touch
		scratch = &d.host
		d.pool.mapped, d.pool.unmapped, d.pool.idleLimit = opt.Accelerator.Map, opt.Accelerator.Unmap, max(maxIdle, opt.Memory/4)
	}
	d.workers = newWorkers(opt.Threads, scratch, d.compile)
	d.attend = d.newAttend()
	d.tuned.apply(d.workers)
	d.pool.limit, d.pool.poison = opt.Memory, opt.Poison
	d.routines = maps.Clone(builtinRoutines)
	maps.Copy(d.routines, opt.Routines)
	for name := range d.routines {
		d.opaque.Store(name, nil)
	}
	go d.q.loop()
	if (opt.TuneIdle || debug.Tune().Idle) && !d.accelerated() {
		d.tuned.idle = newIdleTuner(d)
	}
	return d, nil
}

// Name returns the device's id without an index.
func (d *Device) Name() string { return d.opt.ID }

// Info describes the device.
func (d *Device) Info() backend.Info {
	info := backend.Info{
		ID: d.opt.ID, Kind: "cpu", Detail: runtime.GOARCH + ", kernels by " + string(d.opt.Generator),
		DTypes: ir.DTypes(), Threads: d.opt.Threads, Memory: d.opt.Memory,
		Limits: map[string]int64{"queue_ops": int64(d.opt.QueueOps), "kernels": maxCompiled, "idle_bytes": d.pool.mayIdle()},
		Extra:  d.facts(),
	}
	if d.accelerated() {
		info.Threads, info.Extra = 0, map[string]string{}
		d.accelerator().Describe(&info)
	}
	return info
}

func (d *Device) facts() map[string]string {
	out := maps.Clone(processorFacts())
	maps.Copy(out, d.tuned.facts())
	return out
}

// Usage says that every dtype is stored and computed with.
func (d *Device) Usage(t ir.DType) backend.Usage {
	if !t.Valid() {
		return 0
	}
	return backend.CanStore | backend.CanCompute
}

// Submit appends nodes to the queue.
func (d *Device) Submit(ctx context.Context, nodes []ir.Node) error {
	return d.q.push(ctx, task{
		ops: len(nodes),
		run: func() {
			d.clockNodes(func() {
				for i := range nodes {
					d.node(&nodes[i])
				}
			})
		},
	})
}

// Upload gives a tensor its contents.
func (d *Device) Upload(t ir.Tensor, data []byte) error {
	if err := t.Check(); err != nil {
		return err
	}
	if int64(len(data)) != t.Bytes() {
		return ir.Errorf(ir.ErrArgument, "%d bytes for %s, expected %d", len(data), t.Type, t.Bytes())
	}
	if d.accelerated() && d.q.isClosed() { // memory may be there, of whoever still reads
		return errClosed
	}
	fail := func(err error) { d.fail([]ir.Tensor{t}, ir.AsError(err)) }
	if buf, err := d.pool.get(max(t.Bytes(), 1)); err == nil { // nobody waits for the device
		if err := d.copyIn(buf.data, data); err != nil {
			d.giveBack(buf)
			return d.q.add(task{run: func() { fail(err) }})
		}
		err = d.q.add(task{run: func() { d.adoptBuffer(t, buf) }, fail: fail})
		if err != nil {
			d.giveBack(buf)
		}
		return err
	}
	// What is queued may make room.
	copied := append([]byte(nil), data...)
	return d.q.add(task{
		run: func() {
			buf, err := d.memory(t.Bytes())
			if d.again(err) {
				buf, err = d.memory(t.Bytes())
			}
			if err != nil {
				fail(err)
				return
			}
			if err := d.copyIn(buf.data, copied); err != nil {
				d.pool.put(buf)
				fail(err)
				return
			}
			d.adoptBuffer(t, buf)
		},
		fail: fail,
	})
}

// Alias makes another owner of a tensor's contents.
func (d *Device) Alias(from, to ir.ID) error {
	return d.q.add(task{run: func() {
		e := d.store[from]
		if e == nil {
			d.fail([]ir.Tensor{{ID: to}}, unknown(from))
			return
		}
		d.setEntry(to, e.share())
		d.did(deed{from: from, to: to})
	}})
}

// Free drops tensors.
func (d *Device) Free(ids ...ir.ID) {
	// A closed device has no tensors left: nothing to free is no error.
	_ = d.q.add(task{run: func() {
		for _, id := range ids {
			d.drop(id)
		}
	}})
}

// Flush does nothing more than the queue does by itself: work starts at once.
func (d *Device) Flush() error {
	return d.q.add(task{run: func() {
		if d.accelerated() {
			_ = d.accelerator().Flush() // what fails is told by whoever waits for it
		}
	}})
}

// Read waits for tensors and returns their contents.
func (d *Device) Read(ctx context.Context, ids ...ir.ID) ([]backend.Data, []error, error) {
	data, errs := make([]backend.Data, len(ids)), make([]error, len(ids))
	err := d.do(ctx, func() {
		d.settleDoubts()
		for i, id := range ids {
			bytes, t, err := d.contents(id)
			if err != nil {
				errs[i] = err
				d.reported(err)
				continue
			}
			data[i] = backend.Data{Type: t, Bytes: bytes}
		}
	})
	if err != nil {
		return nil, nil, err
	}
	return data, errs, nil
}

// Sync waits for the queue and returns the first error not yet returned.
func (d *Device) Sync(ctx context.Context) error {
	var first *ir.Error
	if d.accelerated() {
		if err := d.awaitAccelerator(ctx); err != nil {
			return err
		}
	}
	if err := d.inOrder(ctx, func() {
		d.settleDoubts()
		if first = d.damage(); first == nil && len(d.errs) > 0 { // damage is worse than whatever else failed
			first, d.errs = d.errs[0], nil
		}
	}); err != nil {
		return err
	}
	if first != nil {
		return first
	}
	return nil
}

// awaitAccelerator waits until the accelerator has done what is queued, or for the end of
// ctx, on a goroutine of its own: others go on using the device.
func (d *Device) awaitAccelerator(ctx context.Context) error {
	if err := d.do(ctx, func() { _ = d.accelerator().Flush() }); err != nil { // what fails, Sync returns
		return err
	}
	done := make(chan error, 1)
	go func() { done <- d.accelerator().Sync() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return &ir.Error{Kind: ir.ErrCancelled, Msg: "waiting for the device", Device: d.opt.ID, Cause: ctx.Err()}
	}
}

// do runs f on the device goroutine and waits for it, or for the end of ctx. f
// may then still run later, so it must not touch what the caller gave up: the
// results are handed over only if it ran in time.
func (d *Device) do(ctx context.Context, f func()) error {
	w := newWaiter()
	err := d.q.add(task{
		run:  func() { f(); w.done(nil) },
		fail: w.done,
	})
	if err != nil {
		return err
	}
	if ok, err := w.wait(ctx); ok {
		return err
	}
	return &ir.Error{Kind: ir.ErrCancelled, Msg: "waiting for the device", Device: d.opt.ID, Cause: ctx.Err()}
}

// inOrder runs a short f behind everything queued, as do does; at once, on the
// goroutine of the caller, if nothing is queued and nothing is to be waited for.
func (d *Device) inOrder(ctx context.Context, f func()) error {
	if !d.accelerated() && d.q.whenIdle(f) {
		return nil
	}
	return d.do(ctx, f)
}

// Close finishes queued work and returns the memory. An error means that poisoned
// memory was overwritten, which no Sync has told.
func (d *Device) Close() error {
	var damage *ir.Error
	d.closeOnce.Do(func() {
		if d.tuned.idle != nil {
			d.tuned.idle.close()
		}
		d.q.close()
		d.workers.close()
		d.closing.Lock()
		defer d.closing.Unlock()
		d.letGo(&d.doubts)
		for id := range d.store { // adopted memory goes back to its owners
			d.drop(id)
		}
		d.store, d.kernels.byKey = nil, map[string]*compiled{}
		d.pool.close()
		damage = d.damage()
		d.host.close()
		if d.accelerated() {
			if err := d.accelerator().Close(); err != nil && damage == nil {
				damage = ir.AsError(err)
			}
		}
	})
	if damage != nil {
		return damage
	}
	return nil
}

// damage returns the first poisoned memory that was overwritten, if nobody knows of
// it yet.
func (d *Device) damage() *ir.Error {
	err := d.pool.takeDamage()
	if err != nil {
		err.Device = d.opt.ID
	}
	return err
}

// MemoryUsage counts tensors and bytes.
func (d *Device) MemoryUsage(ctx context.Context) (backend.MemoryUsage, error) {
	var u backend.MemoryUsage
	err := d.inOrder(ctx, func() {
		d.settleDoubts()
		u = d.pool.usage()
		u.Tensors = len(d.store)
	})
	return u, err
}

// Cleanup returns idle memory to the system, at once and behind what is queued.
func (d *Device) Cleanup() {
	d.pool.cleanUp()
	d.host.cleanUp()
	_ = d.q.add(task{run: d.pool.cleanUp}) // a closed device holds nothing
}

// Counters returns totals since the device was opened, all queued work included.
func (d *Device) Counters() backend.Counters {
	_ = d.inOrder(context.Background(), func() {}) // a closed device has done its work
	return d.counters.totals()
}
