// Package cuda_test runs kernels on a real GPU and on the reference interpreter
// and compares them bit for bit. On machines without a driver its tests are
// skipped. It builds to a static binary that runs elsewhere:
//
//	CGO_ENABLED=0 go test -c -o cuda.test ./cuda
//	./cuda.test -test.v -test.run Conformance
//	./cuda.test -test.v -test.run Measure -measure
package cuda_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"runtime"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sinter-go/sinter/cuda/driver"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/ptx"
	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
)

var conformanceClass = flag.String("class", "", "run only the conformance cases of this class")

var conformanceElements = flag.Int64("elements", 1<<20, "elements of each elementwise conformance case")

// smallTree makes the paths of very long rows reachable with few elements.
var smallTree = kernel.Tree{Kind: kernel.Striped, Chunk: 128, Lanes: 32}

// conformanceSpecs lists what the device must do exactly.
func conformanceSpecs(elements int64) []ptxtest.Spec {
	out := ptxtest.Elementwise(elements)
	out = append(out, ptxtest.Rows(elements)...)
	out = append(out, ptxtest.Activations(elements+5)...)
	out = append(out, ptxtest.Activations(1<<24+5)...) // large enough for tables
	out = append(out, ptxtest.Activations(4099, 4100)[:1]...)
	for _, n := range []int64{1, 2, 3, 5, 11, 16, 17, 31, 32, 33, 64, 96, 127, 128, 129, 200, 384, 640, 768, 1000, 1023, 1024, 1025, 2048, 2049, 4095, 4096, 4097, 8192, 8193, 12000, 16384, 16385, 20000, 50257} {
		out = append(out, ptxtest.LastAxis(33, n, kernel.StripedTree)...)
	}
	for _, n := range []int64{1 << 20, 1<<20 + 3, 3<<20 + 1} {
		out = append(out, ptxtest.LastAxis(3, n, kernel.StripedTree)...)
	}
	out = append(out, ptxtest.LastAxis(300, 20000, kernel.StripedTree)...)
	out = append(out, ptxtest.LastAxis(270, 140000, smallTree)...)
	for _, t := range rowTrees() {
		for _, n := range []int64{700, 40000} {
			out = append(out, ptxtest.LastAxis(7, n, t)...)
		}
	}
	out = append(out, ptxtest.LastAxisTypes(17, 3000, kernel.StripedTree)...)
	out = append(out, ptxtest.LastAxisTypes(5, 20001, kernel.StripedTree)...)
	out = append(out, ptxtest.LastAxisTypes(1000, 11, kernel.StripedTree)...)
	out = append(out, ptxtest.LastAxisTypes(1000, 40, kernel.StripedTree)...)
	out = append(out, ptxtest.LastAxisTypes(300, 20000, smallTree)...)
	for _, n := range []int64{700, 5000, 100000} {
		out = append(out, ptxtest.ReduceLayouts(n)...)
	}
	for _, cols := range []int64{16, 33, 100, 4096} {
		for _, n := range []int64{1, 2, 63, 64, 65, 127, 128, 129, 1000, 4097} {
			out = append(out, ptxtest.FirstAxis(n, cols, kernel.ColumnsTree)...)
		}
	}
	for _, t := range columnTrees() {
		out = append(out, ptxtest.FirstAxis(16384, 40, t)...)
		out = append(out, ptxtest.FirstAxis(200000, 17, t)...)
	}
	out = append(out, ptxtest.FirstAxis(1000, 20000, kernel.ColumnsTree)...)
	for _, k := range []int64{1, 3, 16, 100, 1024, 1025, 2500} {
		out = append(out, ptxtest.Products(5, k, 7)...)
		out = append(out, ptxtest.Products(200, k, 132)...)
	}
	out = append(out, ptxtest.Products(1500, 64, 2100)...)
	out = append(out, ptxtest.Products(1, 300, 4000)...)
	out = append(out, ptxtest.Products(1500, 1100, 2100)[0]) // the largest tile, and two chunks
	for _, n := range []int64{1, 9, 1024, 1025, 5000} {
		out = append(out, ptxtest.Scans(300, n)...)
	}
	for _, d := range [][3]int64{{1, 4096, 1000}, {3, 1025, 300}, {16, 2500, 132}, {300, 1028, 1}, {2, 9300, 70}, {20, 300, 20}} {
		out = append(out, ptxtest.Skinny(d[0], d[1], d[2])...)
		out = append(out, ptxtest.VectorProducts(d[1], d[2])...)
	}
	out = append(out, ptxtest.FirstAxisTypes(500, 70, kernel.ColumnsTree)...)
	out = append(out, ptxtest.FirstAxisTypes(5000, 20, kernel.ColumnsTree)...)
	return out
}

func rowTrees() []kernel.Tree {
	var out []kernel.Tree
	for _, c := range []int{512, 1024, 2048, 4096} {
		for _, l := range []int{64, 128, 256} {
			out = append(out, kernel.Tree{Kind: kernel.Striped, Chunk: c, Lanes: l})
		}
	}
	return out
}

func columnTrees() []kernel.Tree {
	var out []kernel.Tree
	for _, c := range []int{32, 64, 128} {
		out = append(out, kernel.Tree{Kind: kernel.Columns, Chunk: c, Lanes: 1})
	}
	return out
}

// tally sums up one class of cases.
type tally struct {
	class                  string
	cases, bad, mismatches int
	elements               int64
}

// TestConformance compares device and interpreter on every case.
func TestConformance(t *testing.T) {
	d := openDevice(t)
	start := time.Now()
	specs := conformanceSpecs(*conformanceElements)
	queue := make(chan ptxtest.Spec)
	var mu sync.Mutex
	tallies := map[string]*tally{}
	failures, broken := 0, false
	report := func(s ptxtest.Spec, c *ptxtest.Case, n int, detail string) {
		mu.Lock()
		defer mu.Unlock()
		y := tallies[s.Class]
		if y == nil {
			y = &tally{class: s.Class}
			tallies[s.Class] = y
		}
		y.cases++
		if c != nil {
			y.elements += c.Elements
		}
		if detail != "" {
			y.bad++
			y.mismatches += n
			failures++
			if failures <= 60 {
				t.Errorf("%s: %s", s.Name, detail)
			}
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 16) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for s := range queue {
				mu.Lock()
				stop := broken
				mu.Unlock()
				if stop {
					continue
				}
				var c *ptxtest.Case
				n, detail := 0, ""
				err := d.ctx.Do(func() (err error) {
					defer func() {
						if p := recover(); p != nil {
							err = fmt.Errorf("panic: %v", p)
						}
					}()
					c = s.Make()
					n, detail, err = compare(d, c)
					return err
				})
				if err != nil {
					detail = err.Error()
					if strings.Contains(detail, "CUDA_ERROR_") && !strings.Contains(detail, "PTX") {
						// The context is lost: what follows would only repeat it.
						mu.Lock()
						broken = true
						mu.Unlock()
					}
				}
				report(s, c, n, detail)
			}
		}()
	}
	for _, s := range specs {
		if *conformanceClass == "" || strings.HasPrefix(s.Class, *conformanceClass) {
			queue <- s
		}
	}
	close(queue)
	wg.Wait()
	var list []*tally
	for _, y := range tallies {
		list = append(list, y)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].class < list[j].class })
	t.Logf("%-20s %6s %14s %12s %6s", "class", "cases", "elements", "mismatches", "bad")
	for _, y := range list {
		t.Logf("%-20s %6d %14d %12d %6d", y.class, y.cases, y.elements, y.mismatches, y.bad)
	}
	t.Logf("%d cases, %d entries compiled, %d failures, context lost: %v, %.1f s",
		len(specs), d.entries, failures, broken, time.Since(start).Seconds())
}

// compare runs one case on both and counts elements that differ.
func compare(d *device, c *ptxtest.Case) (int, string, error) {
	want, err := c.Reference(1)
	if err != nil {
		return 0, "", err
	}
	m, err := ptx.Generate(c.Kernel, d.target)
	if err != nil {
		return 0, "", err
	}
	mem := &memory{ctx: d.ctx}
	defer func() { _ = mem.free() }()
	c.Poison()
	base := make([]uint64, len(c.Buffers))
	for i, b := range c.Buffers {
		p, err := mem.alloc(uint64(b.Size()))
		if err != nil {
			return 0, "", err
		}
		base[i] = uint64(p)
		if err := d.ctx.CopyToDevice(p, b.Bytes()); err != nil {
			return 0, "", err
		}
	}
	plan, err := m.Plan(c.Launch, base)
	if err != nil {
		return 0, "", err
	}
	scratch, err := mem.alloc(uint64(plan.Scratch))
	if err != nil {
		return 0, "", err
	}
	fault, err := mem.alloc(8)
	if err != nil {
		return 0, "", err
	}
	s := d.ctx.DefaultStream()
	if err := s.Fill(fault, 0, 8); err != nil {
		return 0, "", err
	}
	if err := d.run(s, plan, scratch, fault); err != nil {
		return 0, "", err
	}
	// Blocking copies wait for the default stream, faults included.
	names := entryNames(plan)
	total, detail := 0, ""
	for i, b := range c.Buffers {
		if !b.Out {
			continue
		}
		got := make([]byte, b.Size())
		if err := d.ctx.CopyToHost(got, driver.Ptr(base[i])); err != nil {
			return 0, "", fmt.Errorf("%s: %w", names, err)
		}
		if n, first := ptxtest.Mismatches(b.Type, got, want[i]); n > 0 {
			total += n
			detail += fmt.Sprintf("argument %d (%s): %d mismatches, %s; ", i, b.Type, n, first)
		}
	}
	if c.Launch.Fault != nil {
		word := make([]byte, 8)
		if err := d.ctx.CopyToHost(word, fault); err != nil {
			return 0, "", err
		}
		wc, wl := c.Launch.Fault.First()
		if gc, gl := ptx.DecodeFault(binary.LittleEndian.Uint64(word)); gc != wc || gl != wl {
			total++
			detail += fmt.Sprintf("fault %v at %d, expected %v at %d; ", gc, gl, wc, wl)
		}
	}
	if detail != "" {
		detail = names + ": " + detail
	}
	return total, detail, mem.free()
}

func entryNames(p *ptx.Plan) string {
	var out []string
	for _, s := range p.Steps {
		out = append(out, s.Entry.Name)
	}
	return strings.Join(out, ", ")
}
