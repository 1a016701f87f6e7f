package cuda

import (
	"runtime"
	"sync"

	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/kernel/ptx"
)

// Prepare has the driver compile what programs need on all processors at once: it takes
// from a hundredth of a second to seconds for each of them, on one. Plans are made for
// where the arguments will lie; if that turns out otherwise another entry may be needed,
// which is compiled when it is.
func (g *gpu) Prepare(launches [][]cpu.Bound) {
	missing := g.missing(launches)
	if len(missing) < 2 {
		return
	}
	parallel(len(missing), func(i int) { g.prepareEntry(missing[i]) })
}

// parallel calls f with the numbers below n, on all processors, and waits.
func parallel(n int, f func(i int)) {
	queue := make(chan int)
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := range queue {
				f(i)
			}
		})
	}
	for i := range n {
		queue <- i
	}
	close(queue)
	wg.Wait()
}

// missing are the entries of the programs of launches that are not loaded, each once; none if
// there is no room for them, or the device is lost.
func (g *gpu) missing(launches [][]cpu.Bound) (out []*ptx.Entry) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.unusable() != nil {
		return nil
	}
	seen := map[string]bool{}
	for _, parts := range launches {
		var plans []*planned
		for i := range parts {
			if _, _, ok := parts[i].Program.(*program).problem(parts[i].Launch); ok { // a library computes it
				continue
			}
			if made, err := g.plan(&parts[i]); err == nil { // else it is told when it runs
				plans = append(plans, made)
			}
		}
		for _, e := range entriesOf(plans, g.together(plans, false)) {
			if g.loaded[e.Text] == nil && g.refusals[e.Text] == nil && !seen[e.Text] {
				seen[e.Text] = true
				out = append(out, e)
			}
		}
	}
	if len(g.loaded)+len(out) > maxLoaded {
		return nil
	}
	return out
}

// prepareEntry loads an entry without the lock. If the driver does not take it, that is
// told when it runs.
func (g *gpu) prepareEntry(e *ptx.Entry) {
	m := g.makeEntry(e)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.keep(e, m)
}
