//go:build linux

package amd64

import (
	"fmt"
	"math"
	"math/rand"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/kernel"
)

// TestSlides: every micro-kernel, against sums by definition. What is read ends at
// the end of a page behind which nothing may be read.
func TestSlides(t *testing.T) {
	for _, level := range levels {
		if !Available(level) {
			continue
		}
		for _, step := range []int64{1, 2} {
			t.Run(fmt.Sprintf("%v/f32/%d", level, step), func(t *testing.T) { testSlides(t, SlidesOf(level, TileF32, step), kernel.FMA32) })
		}
		t.Run(level.String()+"/f64/1", func(t *testing.T) { testSlides(t, SlidesOf(level, TileF64, 1), math.FMA) })
		if SlidesOf(level, TileF64, 2) != nil || SlidesOf(level, TileF32, 3) != nil {
			t.Error("there are more steps than the documentation says")
		}
	}
}

// TestPicks: every second element of rows that end at the fence, for every width.
func TestPicks(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	src := fenced[uint32](t, 2048)
	for i := range src {
		src[i] = r.Uint32()
	}
	for _, level := range levels {
		p := PicksOf(level)
		if p == nil {
			continue
		}
		for cols := 1; cols <= 2*p.Lanes; cols++ {
			k, row := 1+r.Intn(9), cols+r.Intn(3)
			table, dst, want := make([]int64, k), make([]uint32, k*row), make([]uint32, k*row)
			for i := range table {
				table[i] = int64(r.Intn(40)) * 4
			}
			table[r.Intn(k)] = 40 * 4
			first := len(src) - 40 - (2*cols - 1)
			for i := range k {
				for j := range cols {
					want[i*row+j] = src[first+int(table[i]/4)+2*j]
				}
			}
			p.Run(&Pick{Dst: uintptr(unsafe.Pointer(&dst[0])), DstRow: int64(row) * 4, K: int64(k), Src: uintptr(unsafe.Pointer(&src[first])), Table: uintptr(unsafe.Pointer(&table[0]))}, cols)
			runtime.KeepAlive([]any{dst, table})
			if !slices.Equal(dst, want) {
				t.Fatalf("%v, %d columns, k %d: got %v, want %v", level, cols, k, dst, want)
			}
		}
	}
}

// fenced returns n elements that end where memory does.
func fenced[T any](t *testing.T, n int) []T {
	const page = 1 << 12
	size := n * int(unsafe.Sizeof(*new(T)))
	whole := (size + page - 1) / page * page
	m, err := syscall.Mmap(-1, 0, whole+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Skip("no memory to fence:", err)
	}
	if err := syscall.Mprotect(m[whole:], syscall.PROT_NONE); err != nil {
		t.Skip("no fence:", err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(m) })
	return unsafe.Slice((*T)(unsafe.Pointer(&m[whole-size])), n)
}

func testSlides[T float32 | float64](t *testing.T, s *Slides, fma func(a, b, c T) T) {
	r := rand.New(rand.NewSource(1))
	size := int64(s.Size)
	b := fenced[T](t, 4096)
	for i := range b {
		b[i] = T(r.NormFloat64())
	}
	for rows := 1; rows <= s.Rows; rows++ {
		for cols := 1; cols <= s.Cols; cols++ {
			k, ws, row, cr := 1+r.Intn(9), 1+r.Intn(3), 1+r.Intn(200), cols+r.Intn(3)
			w, c := make([]T, k*ws), make([]T, rows*cr)
			for i := range w {
				w[i] = T(r.NormFloat64())
			}
			for i := range c {
				c[i] = -7
			}
			want := append([]T(nil), c...)
			reach := (rows-1)*row + (cols-1)*s.step + 1
			table := make([]int64, k)
			for i := range table {
				table[i] = int64(r.Intn(50)) * size
			}
			table[r.Intn(k)] = 50 * size // one that reaches the fence
			first := len(b) - reach - 50
			for i := range rows {
				for j := range cols {
					sum := T(0)
					for p := range k {
						sum = fma(w[p*ws], b[first+i*row+int(table[p]/size)+j*s.step], sum)
					}
					want[i*cr+j] = sum
				}
			}
			s.Run(&Slide{W: uintptr(unsafe.Pointer(&w[0])), B: uintptr(unsafe.Pointer(&b[first])), C: uintptr(unsafe.Pointer(&c[0])),
				WStep: int64(ws) * size, BRow: int64(row) * size, CRow: int64(cr) * size, K: int64(k), Table: uintptr(unsafe.Pointer(&table[0])), Rows: rows, Cols: cols})
			runtime.KeepAlive([]any{w, c, table})
			for i := range c {
				if c[i] != want[i] {
					t.Fatalf("%d x %d, k %d: element %d is %v, want %v", rows, cols, k, i, c[i], want[i])
				}
			}
		}
	}
}
