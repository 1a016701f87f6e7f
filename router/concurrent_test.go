package router_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/router"
)

// TestConcurrent: 32 goroutines compute on three devices, move tensors both ways
// in a loop, and cancel some moves; afterwards every member is as empty as before.
func TestConcurrent(t *testing.T) {
	members := []backend.Backend{open(t, "cpu"), open(t, "interp"), scripted(t, "drop HostMemory\ndelay sub 50us")}
	r := owned(t, router.Options{Chunk: 64, HostBytes: 1024, ParkedOps: 64}, named("a", members[0]), named("b", members[1]), named("c", members[2]))
	var clients []*router.Client
	for _, id := range r.Devices() {
		clients = append(clients, device(t, r, id.String()))
	}
	var ids atomic.Uint64
	name := func() ir.ID { return ir.ID(ids.Add(1)) }
	typ := ir.Type{DType: ir.F32, Shape: ir.Shape{100}}
	add, sub := ir.Lookup("add"), ir.Lookup("sub")
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	worker := func(seed uint64) error {
		rng := rand.New(rand.NewPCG(seed, 1))
		at := clients[seed%3]
		x := ir.Tensor{ID: name(), Type: typ}
		data := make([]float32, 100)
		for i := range data {
			data[i] = float32(seed)
		}
		if err := at.Upload(x, raw(data)); err != nil {
			return err
		}
		one := x
		want := float32(seed)
		for range 30 {
			y, z := ir.Tensor{ID: name(), Type: typ}, ir.Tensor{ID: name(), Type: typ}
			if err := at.Submit(ctx, []ir.Node{{Row: add, In: []ir.Tensor{x, x}, Out: []ir.Tensor{y}}, {Row: sub, In: []ir.Tensor{y, one}, Out: []ir.Tensor{z}}}); err != nil {
				return err
			}
			want = 2*want - float32(seed)
			to := clients[rng.IntN(3)]
			moved, also := ir.Tensor{ID: name(), Type: typ}, ir.Tensor{ID: name(), Type: typ}
			if err := to.Receive(ctx, at, z, moved.ID); err != nil {
				return err
			}
			short, cancel := context.WithCancel(ctx)
			if err := to.Receive(short, at, z, also.ID); err != nil {
				cancel()
				return err
			}
			if rng.IntN(2) == 0 {
				cancel()
			}
			_, errs, err := to.Read(ctx, also.ID)
			cancel()
			if err != nil || errs[0] != nil && !errors.Is(errs[0], ir.ErrCancelled) {
				return errors.Join(err, errs[0])
			}
			to.Free(also.ID)
			once := ir.Tensor{ID: name(), Type: typ}
			if err := to.Receive(ctx, at, one, once.ID); err != nil {
				return err
			}
			at.Free(y.ID, z.ID, one.ID, x.ID) // x and one may be the same
			at, x, one = to, moved, once
		}
		d, errs, err := at.Read(ctx, x.ID)
		if err != nil || errs[0] != nil {
			return errors.Join(err, errs[0])
		}
		if got := elements[float32](d[0].Bytes)[99]; got != want {
			t.Errorf("goroutine %d: got %v, want %v", seed, got, want)
		}
		at.Free(x.ID, one.ID)
		return nil
	}
	var wg sync.WaitGroup
	for g := range 32 {
		wg.Go(func() {
			if err := worker(uint64(g)); err != nil {
				t.Errorf("goroutine %d: %v", g, err)
			}
		})
	}
	wg.Wait()
	for _, c := range clients {
		for range 70 { // errors of cancelled moves
			if c.Sync(ctx) == nil {
				break
			}
		}
		if c.Live() != 0 || c.Stats().Parked != 0 {
			t.Errorf("%s: %d ids live, %d parked", c.ID(), c.Live(), c.Stats().Parked)
		}
	}
	for range 2 { // what one gives back, another may have lent
		for i, b := range members {
			m, _ := backend.As[backend.Memory](b)
			if u, err := m.MemoryUsage(ctx); err != nil || u.Tensors != 0 {
				t.Errorf("member %d: %d tensors left, %v", i, u.Tensors, err)
			}
		}
	}
	for i, b := range members {
		m, _ := backend.As[backend.Memory](b)
		if u, err := m.MemoryUsage(ctx); err != nil || u.InUse != 0 {
			t.Errorf("member %d: %d bytes left, %v", i, u.InUse, err)
		}
	}
}
