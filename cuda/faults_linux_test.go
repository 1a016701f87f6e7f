//go:build linux && (amd64 || arm64)

package cuda

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// TestFaultsOfDevice: steps that look something up fetch nothing until somebody waits, and
// become whole graphs; what a word of faults says then is the error, once.
func TestFaultsOfDevice(t *testing.T) {
	gpu, _, d, dev := standIns(t, Options{})
	on := sinter.On(dev)
	table := on.Zeros(sinter.F32, 50, 64)
	index := sinter.FromSliceOn(on, make([]int64, 32))
	var last *sinter.Tensor
	step := func() {
		s := sinter.NewScope("step")
		defer s.End()
		x := s.In(table).Gather(0, index)
		for i := range 3 { // each a kernel of its own
			x = x.CumSum(i & 1)
		}
		last = s.Keep(x.Gather(0, index).CumSum(1))
	}
	step()
	if err := dev.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := gpu.Fetched
	for range 5 {
		step()
	}
	d.Counters() // behind what is queued
	if gpu.Fetched != before {
		t.Errorf("%d copies to the host while nobody waited", gpu.Fetched-before)
	}
	if s := d.Stats(); s.Graphs == 0 {
		t.Errorf("%+v: no graphs", s)
	}
	log := gpu.Log()
	if whole := log[len(log)-1]; whole[0] != '[' || strings.Count(whole, "gather") != 2 || strings.Count(whole, "cumsum") < 4 {
		t.Errorf("a step is %s", whole)
	}
	g := d.gpu
	g.mu.Lock()
	if len(g.faults.taken) != 10 {
		t.Errorf("%d runs are not asked about, expected 2 of each step", len(g.faults.taken))
	}
	word := deviceBytes(g.faults.words+8*9, 8) // of the last lookup
	binary.LittleEndian.PutUint64(word, ^(uint64(3+1)<<8 | uint64(kernel.IndexOutOfRange)))
	g.mu.Unlock()
	err := dev.Sync(t.Context())
	if err == nil || ir.AsError(err).Kind != ir.ErrData || !strings.Contains(err.Error(), "index out of range") {
		t.Errorf("sync: %v", err)
	}
	if _, err := sinter.Data[float32](t.Context(), last); err == nil {
		t.Error("the result has no error")
	}
	if v := binary.LittleEndian.Uint64(word); v != 0 {
		t.Errorf("the word is %#x when it has been told", v)
	}
	step()
	if err := dev.Sync(t.Context()); err != nil {
		t.Errorf("the next step: %v", err)
	}
	if gpu.Fetched == before {
		t.Error("nobody asked")
	}
}
