package attend

import (
	"runtime"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64"
)

// Micro-kernels in place of the kernels of products, with the same bits: they take
// the matrices of a block from registers to their place, without a launch.

// chunk is the length of the sums that a product adds up, see kernel.DotTree.
var chunk = int64(kernel.DotTree.Chunk)

// tilesOf returns the micro-kernels of a compute type, nil if there are none.
func tilesOf(level amd64.Level, c ir.DType) *amd64.Tiles {
	if c == ir.F64 {
		return amd64.TilesOf(level, amd64.TileF64)
	}
	return amd64.TilesOf(level, amd64.TileF32)
}

// address is that of the first element.
func (m matrix) address() uintptr {
	return uintptr(m.base) + uintptr(m.offset*int64(m.typ.Size()))
}

// multiply computes x · z for rows x [rows, k] and columns z [k, cols], where the
// columns of z and out lie side by side, and writes it to out; with a factor, an
// element for each row, it writes out·factor + x · z, for k within a chunk.
func (s *scratch) multiply(t *amd64.Tiles, out, x, z matrix, rows, cols, k int64, factor *matrix) {
	size := int64(t.Size)
	parts := (rows + int64(t.Rows) - 1) / int64(t.Rows)
	for c := int64(0); c < cols; c += int64(t.Cols) {
		for p := range parts { // of even height
			from, to := rows*p/parts, rows*(p+1)/parts
			s.tile = amd64.Tile{A: x.address() + uintptr(from*x.row*size), ARow: x.row * size, AStep: x.col * size,
				B: z.address() + uintptr(c*size), BStep: z.row * size, C: out.address() + uintptr((from*out.row+c)*size), CRow: out.row * size,
				Rows: int(to - from), Cols: int(min(int64(t.Cols), cols-c))}
			if factor != nil {
				s.tile.Factor = factor.address() + uintptr(from*size)
			}
			for done := int64(0); done < k; done += chunk {
				s.tile.K = min(chunk, k-done)
				t.Run(&s.tile)
				s.tile.A, s.tile.B, s.tile.Add = s.tile.A+uintptr(chunk*s.tile.AStep), s.tile.B+uintptr(chunk*s.tile.BStep), 1
			}
		}
	}
	runtime.KeepAlive(s)
}

// turn writes the first n rows of a matrix of the compute type, whose columns lie
// side by side, as columns of Rows elements, and may write up to a vector of rows
// beyond the width.
func (s *scratch) turn(p *amd64.Panels, to, from matrix, n, width int64) {
	size := int64(p.Size)
	for i := int64(0); i < n; i += int64(p.Lanes) {
		s.panel = amd64.Panel{Dst: to.address() + uintptr(i*size), DstRow: to.row * size, K: width}
		for lane := range int64(p.Lanes) { // rows that are not there are the last one again
			s.panel.Rows[lane] = from.rows(min(i+lane, n-1)).address()
		}
		p.Turn(&s.panel, false)
	}
	runtime.KeepAlive(s)
}
