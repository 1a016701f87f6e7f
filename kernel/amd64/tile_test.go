package amd64

import (
	"fmt"
	"math"
	"math/rand"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/kernel"
)

// TestTiles: every micro-kernel, against sums by definition.
func TestTiles(t *testing.T) {
	for _, level := range levels {
		if !Available(level) {
			continue
		}
		t.Run(level.String()+"/f32", func(t *testing.T) { testTiles(t, TilesOf(level, TileF32), kernel.FMA32) })
		t.Run(level.String()+"/f64", func(t *testing.T) { testTiles(t, TilesOf(level, TileF64), math.FMA) })
	}
}

// onHeap keeps what code has addresses of from stacks, which move.
var onHeap []any

func testTiles[T float32 | float64](t *testing.T, tiles *Tiles, fma func(a, b, c T) T) {
	r := rand.New(rand.NewSource(1))
	size := int64(unsafe.Sizeof(T(0)))
	for rows := 1; rows <= tiles.Rows; rows++ {
		for cols := 1; cols <= tiles.Cols; cols++ {
			k := 1 + r.Intn(11)
			ar, as := int64(k+r.Intn(3)), int64(1)
			if r.Intn(2) == 0 {
				ar, as = 1, int64(rows+r.Intn(3))
			}
			bs, cr := int64(cols+r.Intn(3)), int64(cols+r.Intn(3))
			fill := func(n int64) []T {
				x := make([]T, n, n+64) // few elements would lie on the stack, which moves
				for i := range x {
					x[i] = T(r.NormFloat64())
				}
				return x
			}
			a, b := fill(int64(rows)*ar+int64(k)*as), fill(int64(k-1)*bs+int64(cols))
			c := fill(int64(rows-1)*cr + int64(cols))
			want := append([]T(nil), c...)
			x := &Tile{A: uintptr(unsafe.Pointer(&a[0])), B: uintptr(unsafe.Pointer(&b[0])), C: uintptr(unsafe.Pointer(&c[0])),
				ARow: ar * size, AStep: as * size, BStep: bs * size, CRow: cr * size, K: int64(k), Add: int64(r.Intn(2)), Rows: rows, Cols: cols}
			factor := fill(int64(rows))
			if r.Intn(3) == 0 {
				x.Factor = uintptr(unsafe.Pointer(&factor[0]))
			}
			for i := range rows {
				for j := range cols {
					s := T(0)
					for p := range k {
						s = fma(a[int64(i)*ar+int64(p)*as], b[int64(p)*bs+int64(j)], s)
					}
					at := int64(i)*cr + int64(j)
					if x.Factor != 0 {
						s = fma(want[at], factor[i], s)
					} else if x.Add != 0 {
						s += want[at]
					}
					want[at] = s
				}
			}
			tiles.Run(x)
			onHeap = []any{a, b, c, factor}
			for i := range c {
				if c[i] != want[i] {
					t.Fatalf("%d x %d, k %d, steps %d %d: element %d is %v, want %v", rows, cols, k, ar, as, i, c[i], want[i])
				}
			}
		}
	}
}

// TestPanels: strips copied and turned.
func TestPanels(t *testing.T) {
	for _, level := range levels {
		if !Available(level) {
			continue
		}
		t.Run(level.String()+"/4", func(t *testing.T) { testPanels[uint32](t, PanelsOf(level, 4)) })
		t.Run(level.String()+"/8", func(t *testing.T) { testPanels[uint64](t, PanelsOf(level, 8)) })
	}
}

func testPanels[T uint32 | uint64](t *testing.T, p *Panels) {
	r := rand.New(rand.NewSource(2))
	size := int64(p.Size)
	at := func(x []T, i int) uintptr { return uintptr(unsafe.Pointer(&x[i])) }
	for cols := 1; cols <= 2*p.Lanes; cols++ {
		k, row, to := 1+r.Intn(40), cols+r.Intn(4), cols+r.Intn(3)
		src := make([]T, k*row+cols)
		for i := range src {
			src[i] = T(r.Uint64())
		}
		dst, table := make([]T, k*to), make([]int64, k)
		for i := range table {
			table[i] = int64(r.Intn(k*row)) * size
		}
		x := &Panel{Dst: at(dst, 0), DstRow: int64(to) * size, K: int64(k), Src: at(src, 0), SrcRow: int64(row) * size, Table: uintptr(unsafe.Pointer(&table[0]))}
		check := func(from func(i int) int) {
			for i := range dst {
				want := T(0)
				if i%to < cols {
					want = src[from(i/to)+i%to]
				}
				if dst[i] != want {
					t.Fatalf("%d columns, row %d, column %d: %x, want %x", cols, i/to, i%to, dst[i], want)
				}
			}
		}
		p.Copy(x, cols)
		check(func(i int) int { return i * row })
		p.CopyTable(x, cols)
		check(func(i int) int { return int(table[i] / size) })
	}
	for k := 1; k < 3*p.Lanes; k++ {
		src := make([]T, p.Lanes*k)
		for i := range src {
			src[i] = T(r.Uint64())
		}
		to := p.Lanes + r.Intn(3)
		dst := make([]T, (k+p.Lanes)*to)
		x := &Panel{Dst: at(dst, 0), DstRow: int64(to) * size, K: int64(k)}
		for i := range p.Lanes {
			x.Rows[i] = at(src, i*k)
		}
		p.Turn(x, false)
		for i := range k {
			for j := range p.Lanes {
				if dst[i*to+j] != src[j*k+i] {
					t.Fatalf("k %d: row %d, column %d: %x, want %x", k, i, j, dst[i*to+j], src[j*k+i])
				}
			}
		}
	}
}

// BenchmarkTiles measures micro-kernels whose operands lie in the first caches.
func BenchmarkTiles(b *testing.B) {
	for _, level := range levels {
		if !Available(level) {
			continue
		}
		tiles := TilesOf(level, TileF32)
		for _, rows := range []int{1, 2, 4, tiles.Rows / 2, tiles.Rows} {
			b.Run(fmt.Sprintf("%s/%dx%d", level, rows, tiles.Cols), func(b *testing.B) {
				const k = 256
				a, bb, c := make([]float32, 16*k), make([]float32, k*tiles.Cols), make([]float32, 16*tiles.Cols)
				x := &Tile{A: uintptr(unsafe.Pointer(&a[0])), B: uintptr(unsafe.Pointer(&bb[0])), C: uintptr(unsafe.Pointer(&c[0])),
					ARow: 4 * k, AStep: 4, BStep: int64(4 * tiles.Cols), CRow: int64(4 * tiles.Cols), K: k, Rows: rows, Cols: tiles.Cols}
				best := time.Hour
				for range b.N {
					t := time.Now()
					for range 100 {
						tiles.Run(x)
					}
					best = min(best, time.Since(t))
				}
				runtime.KeepAlive([]any{a, bb, c})
				b.ReportMetric(float64(2*rows*tiles.Cols*k*100)/float64(best.Nanoseconds()), "GFLOP/s")
			})
		}
	}
}
