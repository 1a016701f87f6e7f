// Command gonum is gonum as a peer: matrix products by its BLAS. See
// bench/README.md for the protocol.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/sinter-go/sinter/bench/limit"
	"github.com/sinter-go/sinter/bench/peers"
)

func main() {
	out := json.NewEncoder(os.Stdout)
	_ = out.Encode(peers.Answer{Peer: "gonum", Version: version()}) // who does not listen ends the input too
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	var last peers.Request
	var run func()
	for in.Scan() {
		var ask peers.Request
		a := peers.Answer{}
		err := json.Unmarshal(in.Bytes(), &ask)
		if err == nil && (run == nil || !same(ask, last)) {
			run, err = prepare(ask)
			last = ask
		}
		if err == nil {
			a.NS, err = measure(ask, run)
		}
		if err != nil {
			a, run = peers.Answer{Skip: err.Error()}, nil
		}
		_ = out.Encode(a)
	}
}

func same(a, b peers.Request) bool {
	return a.Workload == b.Workload && a.DType == b.DType && a.Threads == b.Threads && slices.Equal(a.Sizes, b.Sizes)
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, m := range info.Deps {
			if m.Path == "gonum.org/v1/gonum" {
				return m.Version
			}
		}
	}
	return "unknown"
}

// prepare makes the matrices of a product.
func prepare(ask peers.Request) (func(), error) {
	z := blas.NoTrans
	switch {
	case ask.Workload == "matmul_t":
		z = blas.Trans
	case ask.Workload != "matmul" && ask.Workload != "matmul_packed":
		return nil, fmt.Errorf("gonum has no %s here", ask.Workload)
	}
	runtime.GOMAXPROCS(ask.Threads)
	m, n, k := ask.Sizes[0], ask.Sizes[1], ask.Sizes[2]
	row := n
	if z == blas.Trans {
		row = k
	}
	b := gonum.Implementation{}
	switch ask.DType {
	case "f32":
		x, y, c := values[float32](m*k), values[float32](k*n), make([]float32, m*n)
		return func() { b.Sgemm(blas.NoTrans, z, m, n, k, 1, x, k, y, row, 0, c, n) }, nil
	case "f64":
		x, y, c := values[float64](m*k), values[float64](k*n), make([]float64, m*n)
		return func() { b.Dgemm(blas.NoTrans, z, m, n, k, 1, x, k, y, row, 0, c, n) }, nil
	}
	return nil, fmt.Errorf("gonum has f32 and f64, not %s", ask.DType)
}

// values are in (-1, 1).
func values[T float32 | float64](n int) []T {
	out, s := make([]T, n), uint32(1)
	for i := range out {
		s = s*1664525 + 1013904223
		out[i] = T(int32(s)) / (1 << 31)
	}
	return out
}

func measure(ask peers.Request, run func()) ([]float64, error) {
	now := limit.Wall()
	if ask.Clock == "cpu" {
		var err error
		if now, err = limit.CPU(); err != nil {
			return nil, err
		}
	}
	for range ask.Warmup {
		run()
	}
	var out []float64
	for range ask.Rounds {
		n, start := 0, now()
		for ; n == 0 || now()-start < time.Duration(ask.MS)*time.Millisecond; n++ {
			run()
		}
		out = append(out, float64(now()-start)/float64(n))
	}
	return out, nil
}
