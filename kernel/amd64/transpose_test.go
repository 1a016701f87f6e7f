package amd64

import (
	"bytes"
	"fmt"
	"math/rand"
	"testing"
	"time"
)

func TestTranspose(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 300 {
		size := []int{1, 2, 4, 8}[r.Intn(4)]
		rows, columns := 1+r.Int63n(40), 1+r.Int63n(40)
		srcRow, dstRow := (columns+r.Int63n(5))*int64(size), (rows+r.Int63n(5))*int64(size)
		src, dst := make([]byte, rows*srcRow), make([]byte, columns*dstRow)
		r.Read(src)
		r.Read(dst)
		want := bytes.Clone(dst)
		for i := range rows {
			for j := range columns {
				copy(want[j*dstRow+i*int64(size):][:size], src[i*srcRow+j*int64(size):])
			}
		}
		transpose(ptrAt(dst, 0), dstRow, ptrAt(src, 0), srcRow, rows, columns, size)
		if !bytes.Equal(dst, want) {
			t.Fatalf("%d×%d elements of %d bytes: wrong", rows, columns, size)
		}
	}
}

func BenchmarkTranspose(b *testing.B) {
	for _, size := range []int{4, 8} {
		for _, n := range []int64{64, 128} {
			x, y := aligned(int(n*4096*8)), aligned(int(n*n)*8)
			for _, row := range []int64{n, 1040, 4096} {
				b.Run(fmt.Sprintf("%d.%d.%d", size, n, row), func(b *testing.B) {
					best := time.Duration(1 << 40)
					for b.Loop() {
						from := time.Now()
						transpose(ptrAt(y, 0), n*int64(size), ptrAt(x, 0), row*int64(size), n, n, size)
						best = min(best, time.Since(from))
					}
					b.ReportMetric(float64(best)/float64(n*n), "ns/element")
				})
			}
		}
	}
}
