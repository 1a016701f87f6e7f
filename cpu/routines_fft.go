package cpu

import (
	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/sinter-go/sinter/ir"
)

// Fourier transforms on gonum's, a translation of FFTPACK. The native kernels of package
// ptx follow them operation by operation.

func init() {
	builtinRoutines["fft"] = guarded(fft)
	builtinRoutines["rfft"] = guarded(rfft)
	builtinRoutines["irfft"] = guarded(irfft)
}

// lanes calls f for each lane along an axis of s, with the positions of the first
// element and the step, in elements of s.
func lanes(s ir.Shape, axis int, f func(lane, first, step int)) {
	outer, extent, inner := split(s, axis, 1)
	for o := 0; o < outer; o++ {
		for j := 0; j < inner; j++ {
			f(o*inner+j, o*extent*inner+j, inner)
		}
	}
}

// numbers reads and writes elements of f32 and f64 as f64.
type numbers struct{ stack }

func numbersOf(h Host) numbers { return numbers{stackOf(h, 0)} }

func (k numbers) at(i int) float64 {
	if k.f32 != nil {
		return float64(k.f32[i])
	}
	return k.f64[i]
}

func (k numbers) set(i int, v float64) {
	if k.f32 != nil {
		k.f32[i] = float32(v)
	} else {
		k.f64[i] = v
	}
}

func (k numbers) complexAt(i int) complex128 { return complex(k.at(2*i), k.at(2*i+1)) }

func (k numbers) setComplex(i int, v complex128) {
	k.set(2*i, real(v))
	k.set(2*i+1, imag(v))
}

func fft(c *Call) error {
	n, in, out := c.Node, c.In, c.Out
	s := in[0].Type.Shape
	s = s[:len(s)-1]
	axis, err := ir.Axis(int(n.Attr("axis").Int), len(s))
	if err != nil || s.Size() == 0 {
		return err
	}
	inverse := n.Attr("inverse").Bool()
	x, y := numbersOf(in[0]), numbersOf(out[0])
	size := s[axis]
	plan := fourier.NewCmplxFFT(size)
	lane := make([]complex128, size)
	lanes(s, axis, func(_, first, step int) {
		for i := range lane {
			lane[i] = x.complexAt(first + i*step)
		}
		if inverse {
			plan.Sequence(lane, lane)
		} else {
			plan.Coefficients(lane, lane)
		}
		for i, v := range lane {
			if inverse {
				v = complex(real(v)/float64(size), imag(v)/float64(size))
			}
			y.setComplex(first+i*step, v)
		}
	})
	return nil
}

func rfft(c *Call) error {
	n, in, out := c.Node, c.In, c.Out
	s := in[0].Type.Shape
	axis, err := ir.Axis(int(n.Attr("axis").Int), len(s))
	if err != nil || s.Size() == 0 {
		return err
	}
	x, y := numbersOf(in[0]), numbersOf(out[0])
	size := s[axis]
	plan := fourier.NewFFT(size)
	lane, half := make([]float64, size), make([]complex128, size/2+1)
	lanes(s, axis, func(number, first, step int) {
		for i := range lane {
			lane[i] = x.at(first + i*step)
		}
		plan.Coefficients(half, lane)
		to := number/step*len(half)*step + number%step
		for i, v := range half {
			y.setComplex(to+i*step, v)
		}
	})
	return nil
}

func irfft(c *Call) error {
	n, in, out := c.Node, c.In, c.Out
	s := out[0].Type.Shape
	axis, err := ir.Axis(int(n.Attr("axis").Int), len(s))
	if err != nil || s.Size() == 0 {
		return err
	}
	x, y := numbersOf(in[0]), numbersOf(out[0])
	size := s[axis]
	plan := fourier.NewFFT(size)
	lane, half := make([]float64, size), make([]complex128, size/2+1)
	lanes(s, axis, func(number, first, step int) {
		from := number/step*len(half)*step + number%step
		for i := range half {
			half[i] = x.complexAt(from + i*step)
		}
		plan.Sequence(lane, half)
		for i, v := range lane {
			y.set(first+i*step, v/float64(size))
		}
	})
	return nil
}
