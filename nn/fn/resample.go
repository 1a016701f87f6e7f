package fn

import (
	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

// Coords says where element i of m lies among the n elements that it is
// interpolated from.
type Coords int

// The rules of coordinates.
const (
	// HalfPixel is (i + 1/2)·n/m - 1/2: borders of the outer elements agree.
	HalfPixel Coords = ir.CoordsHalfPixel
	// AlignCorners is i·(n-1)/(m-1), and 0 if m is 1: centres of the outer elements agree.
	AlignCorners Coords = ir.CoordsCorners
	// Asymmetric is i·n/m: centres of the first elements agree.
	Asymmetric Coords = ir.CoordsAsymmetric
)

// Nearest resizes the axes of space by taking the nearest elements. With
// Asymmetric it does what PyTorch calls nearest, with HalfPixel nearest-exact.
func Nearest(x *sinter.Tensor, c Coords, sizes ...int) *sinter.Tensor {
	return one("interpolate_nearest", []*sinter.Tensor{x}, "coords", int(c), "sizes", spread(x, sizes))
}

// Linear resizes the axes of space by linear interpolation (bilinear, trilinear).
func Linear(x *sinter.Tensor, c Coords, sizes ...int) *sinter.Tensor {
	return one("interpolate_linear", []*sinter.Tensor{x}, "coords", int(c), "sizes", spread(x, sizes))
}

// Cubic resizes the axes of space by cubic convolution with the parameter -0.75.
func Cubic(x *sinter.Tensor, c Coords, sizes ...int) *sinter.Tensor {
	return one("interpolate_cubic", []*sinter.Tensor{x}, "coords", int(c), "sizes", spread(x, sizes))
}

// Padding says what lies outside of an image that is sampled.
type Padding int

// The kinds of padding.
const (
	PadZeros Padding = iota
	PadBorder
	PadReflect
)

// GridOptions configure GridSample.
type GridOptions struct {
	Nearest      bool // else linear
	Padding      Padding
	AlignCorners bool // -1 and 1 are the centres of the outer elements, else their borders
}

// GridSample takes x [n, channels, space...] at points: grid [n, out..., d] holds
// coordinates from -1 to 1, that of the last axis of x first.
func GridSample(x, grid *sinter.Tensor, o GridOptions) *sinter.Tensor {
	mode := 1
	if o.Nearest {
		mode = 0
	}
	return one("grid_sample", []*sinter.Tensor{x, grid}, "mode", mode, "padding", int(o.Padding), "corners", o.AlignCorners)
}
