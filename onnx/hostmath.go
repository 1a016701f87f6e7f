package onnx

import (
	"math"

	"github.com/sinter-go/sinter/ir"
)

// wrap returns an integer as an element type holds it.
func wrap(e Elem, v int64) int64 {
	switch e {
	case Int8:
		return int64(int8(v))
	case Int16:
		return int64(int16(v))
	case Int32:
		return int64(int32(v))
	case Uint8:
		return int64(uint8(v))
	case Uint16:
		return int64(uint16(v))
	case Uint32:
		return int64(uint32(v))
	}
	return v
}

// round returns a float as an element type holds it.
func round(e Elem, v float64) float64 {
	switch e {
	case Float:
		return float64(float32(v))
	case Float16, BFloat16:
		return ir.MakeScalar(e.DType(), v).Float()
	}
	return v
}

// computed returns a result of arithmetic as an element type holds it: that of
// narrow types is in f32 first.
func computed(e Elem, v float64) float64 {
	if e == Float16 || e == BFloat16 {
		v = float64(float32(v))
	}
	return round(e, v)
}

// strides returns the row-major strides of a shape when it is broadcast to rank
// axes: 0 along axes of extent 1.
func strides(shape []int, rank int) []int {
	out := make([]int, rank)
	step := 1
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] != 1 {
			out[rank-len(shape)+i] = step
		}
		step *= shape[i]
	}
	return out
}

// broadcast returns the shape to which shapes broadcast.
func broadcast(shapes ...[]int) ([]int, error) {
	all := make([]ir.Shape, len(shapes))
	for i, s := range shapes {
		all[i] = s
	}
	return ir.Broadcast(all...)
}

// walk calls f for each index of a shape with the flat index of each operand.
func walk(shape []int, operands [][]int, f func(at []int)) {
	n := product(shape)
	index := make([]int, len(shape))
	at := make([]int, len(operands))
	for range n {
		f(at)
		for a := len(shape) - 1; a >= 0; a-- {
			index[a]++
			for k, st := range operands {
				at[k] += st[a]
			}
			if index[a] < shape[a] {
				break
			}
			for k, st := range operands {
				at[k] -= st[a] * shape[a]
			}
			index[a] = 0
		}
	}
}

// hostBinary computes an operator of two operands that broadcast, on the host;
// fi may be nil for operators of floats alone. fi reports false where the result
// is not defined, which leaves the node to the device.
func hostBinary(fi func(x, y int64) (int64, bool), ff func(x, y float64) float64) func(*Call) error {
	return func(c *Call) error {
		x, y := c.in[0].host, c.in[1].host
		if x.Elem != y.Elem || x.Elem == String || x.Elem == Bool || x.Elem == Uint64 || x.Elem.Narrow() {
			return errNotHost
		}
		shape, err := broadcast(x.Shape, y.Shape)
		if err != nil || product(shape) > hostLimit {
			return errNotHost // whose error names more
		}
		out := &Host{Elem: x.Elem, Shape: shape}
		ok := true
		st := [][]int{strides(x.Shape, len(shape)), strides(y.Shape, len(shape))}
		if x.IsFloat() {
			if ff == nil {
				return errNotHost
			}
			walk(shape, st, func(at []int) {
				out.Floats = append(out.Floats, computed(x.Elem, ff(x.Floats[at[0]], y.Floats[at[1]])))
			})
		} else {
			if fi == nil {
				return errNotHost
			}
			walk(shape, st, func(at []int) {
				v, fine := fi(x.Ints[at[0]], y.Ints[at[1]])
				ok = ok && fine
				out.Ints = append(out.Ints, wrap(x.Elem, v))
			})
		}
		if !ok {
			return errNotHost
		}
		c.SetHost(0, out)
		return nil
	}
}

// hostCompare is hostBinary with a bool result, of bools too.
func hostCompare(fi func(x, y int64) bool, ff func(x, y float64) bool) func(*Call) error {
	return func(c *Call) error {
		x, y := c.in[0].host, c.in[1].host
		if x.Elem != y.Elem || x.Elem == Uint64 || x.Elem == String || x.Elem.Narrow() {
			return errNotHost
		}
		shape, err := broadcast(x.Shape, y.Shape)
		if err != nil || product(shape) > hostLimit {
			return errNotHost
		}
		out := &Host{Elem: Bool, Shape: shape, Ints: []int64{}}
		walk(shape, [][]int{strides(x.Shape, len(shape)), strides(y.Shape, len(shape))}, func(at []int) {
			var v bool
			if x.IsFloat() {
				v = ff(x.Floats[at[0]], y.Floats[at[1]])
			} else {
				v = fi(x.Ints[at[0]], y.Ints[at[1]])
			}
			out.Ints = append(out.Ints, flag(v))
		})
		c.SetHost(0, out)
		return nil
	}
}

func flag(v bool) int64 {
	if v {
		return 1
	}
	return 0
}

// hostUnary computes an operator of one operand on the host; a nil function
// leaves its kind of number to the device.
func hostUnary(fi func(x int64) int64, ff func(x float64) float64) func(*Call) error {
	return func(c *Call) error {
		x := c.in[0].host
		if x.Elem == String || x.Elem == Uint64 || x.Elem.Narrow() || x.IsFloat() && ff == nil || !x.IsFloat() && fi == nil {
			return errNotHost
		}
		out := &Host{Elem: x.Elem, Shape: x.Shape}
		for _, v := range x.Ints {
			out.Ints = append(out.Ints, wrap(x.Elem, fi(v)))
		}
		for _, v := range x.Floats {
			out.Floats = append(out.Floats, computed(x.Elem, ff(v)))
		}
		c.SetHost(0, out)
		return nil
	}
}

// pick returns the elements of h at flat indices, in a shape.
func (h *Host) pick(shape []int, at []int) *Host {
	out := &Host{Elem: h.Elem, Shape: shape}
	switch {
	case h.Elem == String:
		out.Strs = make([]string, len(at))
		for i, k := range at {
			out.Strs[i] = h.Strs[k]
		}
	case h.IsFloat():
		out.Floats = make([]float64, len(at))
		for i, k := range at {
			out.Floats[i] = h.Floats[k]
		}
	default:
		out.Ints = make([]int64, len(at))
		for i, k := range at {
			out.Ints[i] = h.Ints[k]
		}
	}
	return out
}

// as returns the elements in another shape of the same size.
func (h *Host) as(shape []int) *Host {
	out := *h
	out.Shape = shape
	return &out
}

// truncDiv divides integers towards 0.
func truncDiv(x, y int64) (int64, bool) {
	if y == 0 || x == math.MinInt64 && y == -1 {
		return 0, false
	}
	return x / y, true
}
