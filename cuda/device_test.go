package cuda_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/sinter-go/sinter/cuda/driver"
	"github.com/sinter-go/sinter/kernel/ptx"
)

// device is the GPU under test with the functions loaded so far.
type device struct {
	driver  *driver.Driver
	ctx     *driver.Context
	target  ptx.Target
	natives *ptx.Natives

	mu      sync.Mutex
	loaded  map[string]*loading // by text
	entries int
}

type loading struct {
	once sync.Once
	fn   driver.Function
	err  error
}

// openDevice skips the test on machines without a driver or a device.
func openDevice(t *testing.T) *device {
	t.Helper()
	d, err := driver.Open()
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	n, err := d.DeviceCount()
	if err != nil || n == 0 {
		t.Skipf("skipped: %d NVIDIA devices, %v", n, err)
	}
	v, err := d.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	name, err := v.Name()
	if err != nil {
		t.Fatal(err)
	}
	major, minor, err := v.ComputeCapability()
	if err != nil {
		t.Fatal(err)
	}
	sms, err := v.Attribute(driver.Multiprocessors)
	if err != nil {
		t.Fatal(err)
	}
	mem, err := v.TotalMemory()
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := v.Retain()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ctx.Release(); err != nil {
			t.Error(err)
		}
	})
	t.Logf("%s, compute capability %d.%d, %d multiprocessors, %d MiB, driver for CUDA %d.%d, %d processors",
		name, major, minor, sms, mem>>20, d.Version()/1000, d.Version()%1000/10, runtime.GOMAXPROCS(0))
	target := ptx.Target{Major: major, Minor: minor, Multiprocessors: sms}
	return &device{driver: d, ctx: ctx, loaded: map[string]*loading{}, target: target, natives: ptx.NewNatives(target)}
}

// function compiles an entry once, whatever the number of threads that ask.
func (d *device) function(e *ptx.Entry) (driver.Function, error) {
	d.mu.Lock()
	l, ok := d.loaded[e.Text]
	if !ok {
		l = &loading{}
		d.loaded[e.Text] = l
		d.entries++
	}
	d.mu.Unlock()
	l.once.Do(func() {
		m, err := d.ctx.LoadModule([]byte(e.Text))
		if err != nil {
			l.err = err
			return
		}
		if l.fn, l.err = m.Function(e.Name); l.err == nil && e.Shared > 48<<10 {
			l.err = l.fn.AllowDynamicShared(e.Shared)
		}
	})
	if l.err != nil {
		return driver.Function{}, fmt.Errorf("%s: %w", e.Name, l.err)
	}
	return l.fn, nil
}

// run submits the steps of a plan, bound to scratch and fault word.
func (d *device) run(s driver.Stream, p *ptx.Plan, scratch, fault driver.Ptr) error {
	p.Bind(uint64(scratch), uint64(fault))
	for _, st := range p.Steps {
		f, err := d.function(st.Entry)
		if err != nil {
			return err
		}
		params, err := d.params(&st)
		if err != nil {
			return err
		}
		grid, block := shapeOf(&st)
		if err := f.Launch(s, grid, block, uint32(st.Entry.Shared), params); err != nil {
			return fmt.Errorf("%s: %w", st.Entry.Name, err)
		}
	}
	return nil
}

// shapeOf are the grid and the blocks of a step.
func shapeOf(st *ptx.Step) (grid, block driver.Dim) {
	return driver.Dim{X: st.GridX, Y: st.GridY, Z: 1}, driver.Dim{X: uint32(st.Entry.Threads), Y: 1, Z: 1}
}

// params are the parameters of a step of a plan that is bound.
func (d *device) params(st *ptx.Step) (*driver.Params, error) {
	params := driver.NewParams(st.Entry.ParamBytes())
	if n := len(st.Maps); n > 0 {
		params = driver.NewMapParams(n, len(st.Params))
	}
	for i, m := range st.Maps {
		n := m.Axes()
		b, err := d.driver.EncodeTensorMap(driver.ElementBF16, driver.Ptr(m.Base), m.Extents[:n], m.Strides[:n-1], m.Box[:n])
		if err != nil {
			return nil, fmt.Errorf("%s: map %d %+v: %w", st.Entry.Name, i, m, err)
		}
		params.PutBytes(i*ptx.MapBytes, b[:])
	}
	for i, v := range st.Params {
		params.PutU64(len(st.Maps)*ptx.MapBytes+8*i, v)
	}
	return params, nil
}

// memory is device memory that is freed together.
type memory struct {
	ctx  *driver.Context
	ptrs []driver.Ptr
}

func (m *memory) alloc(size uint64) (driver.Ptr, error) {
	p, err := m.ctx.Alloc(max(size, 16))
	if err == nil {
		m.ptrs = append(m.ptrs, p)
	}
	return p, err
}

func (m *memory) free() error {
	var all error
	for _, p := range m.ptrs {
		all = errors.Join(all, m.ctx.Free(p))
	}
	m.ptrs = nil
	return all
}
