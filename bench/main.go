// Command bench measures Sinter on the machine at hand and prints Markdown tables:
//
//	go run ./bench           # workloads beside peers, as "sinter bench --markdown"
//	go run ./bench -kernels  # kernels by generator, as a share of a copy
//	go run ./bench -trees    # summation trees: alternatives to those in use
//	go run ./bench -capture  # captured steps against recorded ones
//	go run ./bench -fusion   # networks, fused and unfused
//
// Every figure is the median of at least 9 rounds, in which all variants take
// turns, since machines are shared and drift.
package main

import (
	"flag"
	"fmt"
	"os"
	"sort"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64"
	"github.com/sinter-go/sinter/lower"
)

func main() {
	generators := flag.Bool("kernels", false, "compare generators")
	trees := flag.Bool("trees", false, "compare summation trees")
	capture := flag.Bool("capture", false, "compare captured steps with recorded ones")
	fused := flag.Bool("fusion", false, "compare networks, fused and unfused")
	rounds := flag.Int("rounds", 11, "rounds per figure, at least 9")
	flag.Parse()
	if flag.NArg() > 0 || *rounds < 9 {
		fmt.Fprintln(os.Stderr, "usage: bench [-kernels] [-trees] [-capture] [-fusion] [-rounds N], N at least 9")
		os.Exit(2)
	}
	run := suiteTable
	if *generators {
		run = kernels
	}
	if *trees {
		run = treeTable
	}
	if *capture {
		run = captureTable
	}
	if *fused {
		run = fusionTable
	}
	if err := run(*rounds); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// variant is one thing to time.
type variant struct {
	name string
	run  func()
	took []time.Duration
}

// measure lets the variants take turns and returns the median of each.
func measure(rounds int, vs []*variant) {
	for _, v := range vs {
		v.run() // warm: code, pages, pools
	}
	for r := 0; r < rounds; r++ {
		for _, v := range vs {
			start := time.Now()
			n := 0
			for ; n == 0 || time.Since(start) < 2*time.Millisecond; n++ {
				v.run()
			}
			v.took = append(v.took, time.Since(start)/time.Duration(n))
		}
	}
}

func (v *variant) median() float64 {
	sort.Slice(v.took, func(i, j int) bool { return v.took[i] < v.took[j] })
	return float64(v.took[len(v.took)/2])
}

// executor makes an executable of a kernel; nil if it refuses.
type executor struct {
	name    string
	compile func(*kernel.Kernel) (kernel.Executable, error)
}

func executors() []executor {
	out := []executor{{"interp", kernel.NewInterpreter}}
	for _, l := range []amd64.Level{amd64.AVX2, amd64.AVX512} {
		if amd64.Available(l) {
			out = append(out, executor{l.String(), func(k *kernel.Kernel) (kernel.Executable, error) { return amd64.Compile(k, l) }})
		}
	}
	return out
}

// memory is a 64-byte aligned buffer of f32 values in (-1, 1).
func memory(n int) []float32 {
	raw := make([]float32, n+16)
	for uintptr(unsafe.Pointer(unsafe.SliceData(raw)))&63 != 0 {
		raw = raw[1:]
	}
	raw = raw[:n]
	x := uint32(1)
	for i := range raw {
		x = x*1664525 + 1013904223
		raw[i] = float32(int32(x)) / (1 << 31)
	}
	return raw
}

// program is a lowered block over fresh memory.
type program struct {
	k      *kernel.Kernel
	launch *kernel.Launch
	bytes  int64 // read and written, each buffer once
	keep   []any
}

// lowered builds the kernel of nodes that are all fused; the last result is stored.
func lowered(text string) (*program, error) {
	p, err := ir.ParseProgram(text, nil)
	if err != nil {
		return nil, err
	}
	out := p.Outputs[0]
	types := map[ir.ID]ir.Type{}
	for _, t := range p.Inputs {
		types[t.ID] = t.Type
	}
	for _, n := range p.Nodes {
		types[n.Out[0].ID] = n.Out[0].Type
	}
	b, err := lower.New(p.Nodes, func(id ir.ID) ir.Layout { return ir.Layout{Strides: types[id].Shape.Strides()} },
		func(id ir.ID) bool { return id == out })
	if err != nil {
		return nil, err
	}
	piece := b.Pieces[0]
	k, params, err := piece.Build()
	if err != nil {
		return nil, err
	}
	r := &program{k: k, launch: &kernel.Launch{Extents: piece.Extents, Params: piece.Bind(params)}}
	for _, a := range piece.Args {
		n := types[a.Tensor].Shape.Size()
		m := memory(max(n, 1))
		r.keep = append(r.keep, m)
		r.bytes += int64(4 * n)
		r.launch.Args = append(r.launch.Args, kernel.Operand{Base: unsafe.Pointer(unsafe.SliceData(m)), Size: int64(4 * len(m)),
			Offset: a.Offset, Strides: a.Strides})
	}
	return r, nil
}

// copyOf times a copy that reads and writes the given bytes in all.
func copyOf(bytes int64) *variant {
	n := int(bytes / 8)
	src, dst := memory(n), memory(n)
	return &variant{name: "copy", run: func() { copy(dst, src) }}
}
