package cpu

import (
	"math"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

func init() { builtinRoutines["recurrence"] = recurrence }

func recurrence(c *Call) error {
	shape := c.In[0].Type.Shape
	axis, err := ir.Axis(int(c.Node.Attr("axis").Int), len(shape))
	if err != nil || shape.Size() == 0 {
		return err
	}
	s := &scan{reverse: c.Node.Attr("reverse").Bool()}
	s.outer, s.extent, s.inner = split(shape, axis, 1)
	x, z, y := c.In[0].Data, c.In[1].Data, c.Out[0].Data
	switch c.In[0].Type.DType {
	case ir.F32:
		scanAll(c, s, view[float32](x), view[float32](z), view[float32](y))
	case ir.F64:
		scanAll(c, s, view[float64](x), view[float64](z), view[float64](y))
	case ir.F16:
		return scanHalves(c, s, x, z, y, kernel.F16ToF32, kernel.F16FromF32)
	case ir.BF16:
		return scanHalves(c, s, x, z, y, kernel.BF16ToF32, kernel.BF16FromF32)
	}
	return nil
}

// scan is along the middle one of three axes.
type scan struct {
	outer, extent, inner int
	reverse              bool
}

// together is how many columns are scanned at the same time.
const together = 64

// scanAll shares outer blocks and columns among the threads.
func scanAll[T float32 | float64](c *Call, s *scan, x, z, y []T) {
	cuts := (s.inner + together - 1) / together
	tasks := s.outer * cuts
	each := max(1, blockSize/(s.extent*min(s.inner, together))) // tasks are worth handing over
	c.Parallel((tasks+each-1)/each, func(t int) {
		for k := t * each; k < min(tasks, (t+1)*each); k++ {
			first := k/cuts*s.extent*s.inner + k%cuts*together
			scanColumns(s, x[first:], z[first:], y[first:], min(together, s.inner-k%cuts*together))
		}
	})
}

// scanColumns scans some columns that lie side by side.
func scanColumns[T float32 | float64](s *scan, x, z, y []T, columns int) {
	at, step := 0, s.inner
	if s.reverse {
		at, step = (s.extent-1)*s.inner, -s.inner
	}
	if columns == 1 {
		state := 0.0
		for range s.extent {
			state = next(float64(x[at]), float64(z[at]), state)
			y[at] = T(state)
			at += step
		}
		return
	}
	var states [together]float64
	for range s.extent {
		x, z, y := x[at:][:columns], z[at:][:columns], y[at:][:columns]
		for j, state := range states[:columns] {
			state = next(float64(x[j]), float64(z[j]), state)
			states[j], y[j] = state, T(state)
		}
		at += step
	}
}

// next is x + z·state.
func next(x, z, state float64) float64 {
	if z == 0 || state == 0 {
		return x
	}
	return math.FMA(z, state, x)
}

// scanHalves scans floats of 16 bits as f32, to which results are rounded first.
func scanHalves(c *Call, s *scan, x, z, y []byte, up func(uint16) float32, down func(float32) uint16) error {
	n := len(x) / 2
	b, err := c.Scratch(12 * n)
	if err != nil {
		return err
	}
	all := view[float32](b)
	wx, wz, wy := all[:n], all[n:2*n], all[2*n:]
	inBlocks(c, n, func(from, to int) {
		for i := from; i < to; i++ {
			wx[i], wz[i] = up(view[uint16](x)[i]), up(view[uint16](z)[i])
		}
	})
	scanAll(c, s, wx, wz, wy)
	inBlocks(c, n, func(from, to int) {
		for i := from; i < to; i++ {
			view[uint16](y)[i] = down(wy[i])
		}
	})
	return nil
}
