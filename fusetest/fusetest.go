// Package fusetest lets tests state what their code is fused to: how many kernels,
// which operations share one, what is read and written. Plans do not depend on
// timing, so such tests are stable; they also hold with fused plans from a cache.
//
//	plans := fusetest.Record(t, dev, func() { _, _ = sinter.Data[float32](ctx, model.Forward(x)) })
//	plans.WantKernels(1)
//	plans.WantFused("exp", "sum", "div")
//	plans.Golden("testdata/forward.golden")
//
// Golden files are rewritten by go test -fusetest.update.
package fusetest

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/fusion"
)

var update = flag.Bool("fusetest.update", false, "rewrite the golden plans")

// Plans are the plans of the segments that ran while something was recorded.
type Plans struct {
	t    testing.TB
	Runs []fusion.Run
}

// Record calls f and returns what the device ran meanwhile. What was recorded
// before is run first, and what f leaves recorded is run at its end. Other users
// of the device are seen too: let the test have it alone.
func Record(t testing.TB, dev *sinter.Device, f func()) *Plans {
	t.Helper()
	c, ok := backend.As[*fusion.Client](dev.Backend())
	if !ok {
		t.Fatalf("device %s does not fuse", dev)
	}
	if err := c.Flush(); err != nil {
		t.Fatalf("before the recording: %v", err)
	}
	p := &Plans{t: t}
	var mu sync.Mutex
	stop := c.Inspect(func(r fusion.Run) {
		mu.Lock()
		defer mu.Unlock()
		p.Runs = append(p.Runs, r)
	})
	f()
	err := c.Flush()
	stop()
	mu.Lock() // a stream may still be telling
	defer mu.Unlock()
	if err != nil {
		t.Fatalf("during the recording: %v", err)
	}
	return p
}

// Explain describes the plans, one per segment.
func (p *Plans) Explain() []fusion.Explanation {
	out := make([]fusion.Explanation, len(p.Runs))
	for i, r := range p.Runs {
		out[i] = r.Explain()
	}
	return out
}

// String is the text of the explanations.
func (p *Plans) String() string {
	var b strings.Builder
	for _, e := range p.Explain() {
		b.WriteString(e.String())
	}
	return b.String()
}

// total adds a number over the segments.
func (p *Plans) total(f func(*fusion.Explanation) int64) int64 {
	n := int64(0)
	for _, e := range p.Explain() {
		n += f(&e)
	}
	return n
}

// Kernels returns the number of kernels that ran.
func (p *Plans) Kernels() int {
	return int(p.total(func(e *fusion.Explanation) int64 { return int64(e.Kernels) }))
}

// Launches returns the number of launches, routines of the device included.
func (p *Plans) Launches() int {
	return int(p.total(func(e *fusion.Explanation) int64 { return int64(e.Launches) }))
}

// Read returns the bytes that the kernels read, each operand of a kernel once.
func (p *Plans) Read() int64 {
	return p.total(func(e *fusion.Explanation) int64 { return e.Read })
}

// Written returns the bytes of results that were stored.
func (p *Plans) Written() int64 {
	return p.total(func(e *fusion.Explanation) int64 { return e.Written })
}

// Peak returns the most bytes of results that were alive at once in a segment.
func (p *Plans) Peak() int64 {
	peak := int64(0)
	for _, e := range p.Explain() {
		peak = max(peak, e.Peak)
	}
	return peak
}

// WantKernels fails the test unless n kernels ran.
func (p *Plans) WantKernels(n int) {
	p.t.Helper()
	if got := p.Kernels(); got != n {
		p.t.Errorf("%d kernels, want %d:\n%s", got, n, p)
	}
}

// WantAtMost fails the test if more than n kernels ran.
func (p *Plans) WantAtMost(n int) {
	p.t.Helper()
	if got := p.Kernels(); got > n {
		p.t.Errorf("%d kernels, want at most %d:\n%s", got, n, p)
	}
}

// WantWritten fails the test unless so many bytes of results were stored.
func (p *Plans) WantWritten(bytes int64) {
	p.t.Helper()
	if got := p.Written(); got != bytes {
		p.t.Errorf("%d bytes written, want %d:\n%s", got, bytes, p)
	}
}

// WantFused fails the test unless one kernel computes all of the operations.
func (p *Plans) WantFused(ops ...string) {
	p.t.Helper()
	for _, e := range p.Explain() {
		for _, b := range e.Blocks {
			if b.Kind == fusion.KernelBlock && holds(b, ops) {
				return
			}
		}
	}
	p.t.Errorf("no kernel computes %s:\n%s", strings.Join(ops, ", "), p)
}

// holds reports whether a block computes the operations, as often as they are named.
func holds(b fusion.ExplainBlock, ops []string) bool {
	have := make([]string, len(b.Ops))
	for i, op := range b.Ops {
		have[i] = op.Op
	}
	for _, op := range ops {
		i := slices.Index(have, op)
		if i < 0 {
			return false
		}
		have = slices.Delete(have, i, i+1)
	}
	return true
}

// WantHits fails the test unless every segment found its plan.
func (p *Plans) WantHits() {
	p.t.Helper()
	for i, r := range p.Runs {
		if r.Found != fusion.FoundHit {
			p.t.Errorf("segment %d: its plan was %s (%s), want a hit", i, r.Found, r.Miss)
		}
	}
}

// Golden compares the explanations with a file, without the lines of the user's
// program, so that edits elsewhere in a file change nothing.
func (p *Plans) Golden(file string) {
	p.t.Helper()
	var b strings.Builder
	for _, e := range p.Explain() {
		for i := range e.Blocks {
			for j := range e.Blocks[i].Ops {
				e.Blocks[i].Ops[j].Site = ""
			}
		}
		b.WriteString(e.String())
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			p.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatalf("%v; write it with -fusetest.update", err)
	}
	if b.String() != string(want) {
		p.t.Errorf("plans differ from %s.\ngot:\n%s\nwant:\n%s", file, &b, want)
	}
}
