package cuda

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/cuda/driver"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel/ptx"
	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
)

// coderFunc loads entries, and links none.
type coderFunc func(e *ptx.Entry, image []byte) (*function, error)

func (f coderFunc) load(e *ptx.Entry, image []byte) (*function, error) { return f(e, image) }
func (f coderFunc) link(string) ([]byte, error)                        { return nil, errors.New("there is no linker") }

// TestPrepare: what programs need is compiled once each, several at a time, and is there
// when they run; what the driver does not take is told then, and not asked for again.
func TestPrepare(t *testing.T) {
	var mu sync.Mutex
	compiled, running, most := map[string]int{}, 0, 0
	refuse := ""
	g := &gpu{lib: &driver.Driver{}, target: ptx.Target{Major: 9, Multiprocessors: 132}, loaded: map[string]*function{}, room: 1 << 40}
	g.coder = coderFunc(func(e *ptx.Entry, _ []byte) (*function, error) {
		mu.Lock()
		compiled[e.Text]++
		running++
		most = max(most, running)
		mu.Unlock()
		time.Sleep(5 * time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		running--
		if e.Text == refuse {
			return nil, errors.New("refused")
		}
		return &function{}, nil
	})
	mem := make([]byte, 1<<16)
	var parts []cpu.Bound
	for _, s := range ptxtest.Elementwise(600)[:6] {
		parts = append(parts, bound(t, g, s, mem), bound(t, g, s, mem))
	}
	clear(g.loaded)
	refuse = g.missing([][]cpu.Bound{parts[:1]})[0].Text
	g.Prepare([][]cpu.Bound{parts})
	n := len(compiled)
	if n < 6 || len(g.loaded) != n-1 || g.stats.Loaded != int64(n-1) {
		t.Fatalf("%d entries asked for, %d loaded, %d counted", n, len(g.loaded), g.stats.Loaded)
	}
	if most < 2 {
		t.Errorf("%d at a time", most)
	}
	g.Prepare([][]cpu.Bound{parts[2:]})
	for text, times := range compiled {
		if times != 1 {
			t.Errorf("compiled %d times:\n%s", times, text)
		}
	}
	if err := g.hold(parts[2:], 0); err != nil {
		t.Fatal(err)
	}
	if len(compiled) != n {
		t.Errorf("running asks for %d entries more", len(compiled)-n)
	}
	if err := g.hold(parts[:1], 0); err == nil || ir.AsError(err).Kind != ir.ErrUnsupported || compiled[refuse] != 1 {
		t.Errorf("error %v of what is refused, asked for %d times", err, compiled[refuse])
	}
	g.closed = true
	if list := g.missing([][]cpu.Bound{parts}); list != nil {
		t.Errorf("a closed device wants %d entries", len(list))
	}
}
