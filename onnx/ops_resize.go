package onnx

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter"
)

func resizeAttrs(coordinates string, more ...attrSpec) []attrSpec {
	return append([]attrSpec{strAttr("mode", "nearest"), strAttr("coordinate_transformation_mode", coordinates), floatAttr("cubic_coeff_a", -0.75),
		intAttr("exclude_outside", 0), floatAttr("extrapolation_value", 0), strAttr("nearest_mode", "round_prefer_floor")}, more...)
}

var _ = register(
	opDef{name: "Resize", since: 10, in: two, out: one, attrs: []attrSpec{strAttr("mode", "nearest")}, run: upsampleOp},
	opDef{name: "Resize", since: 11, in: arity{1, 4}, out: one, run: resizeOp, attrs: resizeAttrs("half_pixel",
		intAttr("antialias", 0), plainAttr("axes", AttrInts), strAttr("keep_aspect_ratio_policy", "stretch"))},
	opDef{name: "Upsample", since: 7, until: 8, in: one, out: one, run: upsampleOp,
		attrs: []attrSpec{strAttr("mode", "nearest"), need("scales", AttrFloats)}},
	opDef{name: "Upsample", since: 9, in: two, out: one, run: upsampleOp, attrs: []attrSpec{strAttr("mode", "nearest")}},
)

// resizing says how the elements of one axis are made from those of another.
type resizing struct {
	mode, coordinates, nearest string
	cubic                      float64 // the parameter of cubic convolution
	antialias, excludeOutside  bool
	extrapolation              float64
	crop                       bool // of the axis from start to end, as shares
}

// axisResizing is one axis of a resizing.
type axisResizing struct {
	from, to   int // extents
	scale      float64
	start, end float64 // the region, as shares of the axis
}

// taps are the elements that each element of the result is made from: index and
// weight of tap k of element i.
type taps struct {
	index   [][]int64
	weight  [][]float64 // nil: one tap of weight 1
	outside []bool      // elements that get the extrapolation value, nil for none
}

func upsampleOp(c *Call) error {
	var scales []float64
	if c.HasAttr("scales") {
		scales = c.Floats("scales")
	} else {
		var err error
		if scales, err = c.HostFloats(1); err != nil {
			return err
		}
	}
	shape := c.Shape(0)
	if len(scales) != len(shape) {
		return fmt.Errorf("%d scales for the shape %v", len(scales), shape)
	}
	o := resizing{mode: c.Str("mode"), coordinates: "asymmetric", nearest: "simple"}
	axes := make([]axisResizing, len(shape))
	for i, s := range scales {
		to, err := scaled(shape[i], s)
		if err != nil {
			return err
		}
		axes[i] = axisResizing{from: shape[i], to: to, scale: s}
	}
	return o.run(c, axes)
}

// scaled is an extent times a scale, rounded down.
func scaled(n int, scale float64) (int, error) {
	v := math.Floor(float64(n) * scale)
	if !(scale > 0) || v > maxExtent {
		return 0, fmt.Errorf("the scale %v of an axis of extent %d", scale, n)
	}
	return int(v), nil
}

func resizeOp(c *Call) error {
	shape := c.Shape(0)
	o := resizing{mode: c.Str("mode"), coordinates: c.Str("coordinate_transformation_mode"), nearest: c.Str("nearest_mode"), cubic: c.Float("cubic_coeff_a"),
		antialias: c.Bool("antialias"), excludeOutside: c.Bool("exclude_outside"), extrapolation: c.Float("extrapolation_value")}
	if o.nearest == "simple" {
		return fmt.Errorf("the attribute nearest_mode is %q", o.nearest)
	}
	which := c.Ints("axes")
	if !c.HasAttr("axes") {
		which = make([]int, len(shape))
		for i := range which {
			which[i] = i
		}
	}
	axes := make([]axisResizing, len(shape))
	for i, d := range shape {
		axes[i] = axisResizing{from: d, to: d, scale: 1, end: 1}
	}
	for i, a := range which {
		a, err := Axis(a, len(shape))
		if err != nil {
			return err
		}
		which[i] = a
	}
	if o.crop = o.coordinates == "tf_crop_and_resize"; o.crop {
		roi, err := c.HostFloats(1)
		if err != nil {
			return err
		}
		if len(roi) != 2*len(which) {
			return fmt.Errorf("the region has %d bounds, expected %d", len(roi), 2*len(which))
		}
		for i, a := range which {
			axes[a].start, axes[a].end = roi[i], roi[len(which)+i]
		}
	}
	if err := c.resizeTo(axes, which, o.crop); err != nil {
		return err
	}
	return o.run(c, axes)
}

// resizeTo works out extents and scales from the input that gives either.
func (c *Call) resizeTo(axes []axisResizing, which []int, crop bool) error {
	given := func(i int) bool { return c.Has(i) && product(c.Shape(i)) > 0 }
	if given(3) {
		sizes, err := c.HostInts(3)
		if err != nil {
			return err
		}
		if len(sizes) != len(which) {
			return fmt.Errorf("%d sizes for %d axes", len(sizes), len(which))
		}
		policy := c.Str("keep_aspect_ratio_policy")
		common := math.Inf(1)
		if policy == "not_smaller" {
			common = 0
		}
		for i, a := range which {
			if sizes[i] < 0 || sizes[i] > maxExtent {
				return fmt.Errorf("the size %d", sizes[i])
			}
			axes[a].to = sizes[i]
			axes[a].scale = float64(sizes[i]) / float64(axes[a].from)
			if policy == "not_smaller" {
				common = max(common, axes[a].scale)
			} else {
				common = min(common, axes[a].scale)
			}
		}
		switch policy {
		case "stretch":
		case "not_larger", "not_smaller":
			for _, a := range which {
				axes[a].scale = common
				axes[a].to = int(math.Floor(common*float64(axes[a].from) + 0.5))
			}
		default:
			return fmt.Errorf("the attribute keep_aspect_ratio_policy is %q", policy)
		}
		return nil
	}
	if !given(2) {
		return fmt.Errorf("neither scales nor sizes are given")
	}
	scales, err := c.HostFloats(2)
	if err != nil {
		return err
	}
	if len(scales) != len(which) {
		return fmt.Errorf("%d scales for %d axes", len(scales), len(which))
	}
	for i, a := range which {
		axes[a].scale = scales[i]
		share := 1.0
		if crop {
			share = axes[a].end - axes[a].start
		}
		if axes[a].to, err = scaled(axes[a].from, scales[i]*share); err != nil {
			return err
		}
	}
	return nil
}

// run resizes one axis after the other.
func (o *resizing) run(c *Call, axes []axisResizing) error {
	x := c.In(0)
	dtype := x.DType()
	y := x
	if o.mode != "nearest" && !dtype.IsFloat() { // weights are fractions
		y = x.Cast(sinter.F32)
	}
	var outside *sinter.Tensor
	for a, r := range axes {
		if r.from == r.to && r.scale == 1 && !o.crop {
			continue
		}
		if r.from == 0 {
			return fmt.Errorf("axis %d of %v has no elements", a, c.Shape(0))
		}
		t, err := o.taps(r)
		if err != nil {
			return err
		}
		y = t.apply(c, y, a)
		if t.outside != nil {
			m := make([]int64, len(t.outside))
			for i, v := range t.outside {
				m[i] = flag(v)
			}
			mask := alongAxis(c.HostTensor(&Host{Elem: Bool, Shape: []int{len(m)}, Ints: m}), a, len(axes))
			if outside == nil {
				outside = mask
			} else {
				outside = outside.Or(mask)
			}
		}
	}
	if outside != nil {
		y = sinter.Where(outside, o.extrapolation, y)
	}
	if y.DType() != dtype {
		if o.antialias { // ONNX Runtime rounds here, and truncates otherwise
			y = y.Round()
		}
		y = y.Cast(dtype)
	}
	c.Set(0, y)
	return nil
}

// apply makes the elements along an axis.
func (t *taps) apply(c *Call, x *sinter.Tensor, axis int) *sinter.Tensor {
	rank := x.Rank()
	var sum *sinter.Tensor
	for k, index := range t.index {
		v := x.Gather(axis, c.HostTensor(&Host{Elem: Int64, Shape: []int{len(index)}, Ints: index}))
		if t.weight == nil {
			return v
		}
		w := c.HostTensor(&Host{Elem: Double, Shape: []int{len(index)}, Floats: t.weight[k]}).Cast(x.DType())
		v = v.Mul(alongAxis(w, axis, rank))
		if sum == nil {
			sum = v
		} else {
			sum = sum.Add(v)
		}
	}
	return sum
}

// taps works out where the elements of an axis come from.
func (o *resizing) taps(r axisResizing) (*taps, error) {
	if err := hostRoom(r.to); err != nil {
		return nil, err
	}
	t := &taps{}
	at := make([]float64, r.to)
	for i := range at {
		v, err := o.coordinate(r, float64(i))
		if err != nil {
			return nil, err
		}
		if at[i] = v; o.crop && (v < 0 || v > float64(r.from-1)) {
			if t.outside == nil {
				t.outside = make([]bool, r.to)
			}
			t.outside[i] = true
		}
	}
	if o.mode == "nearest" {
		index := make([]int64, r.to)
		for i, v := range at {
			switch o.nearest {
			case "round_prefer_floor":
				v = math.Ceil(v - 0.5)
			case "round_prefer_ceil":
				v = math.Floor(v + 0.5)
			case "simple": // of the opsets before there was a choice: up where it shrinks
				if v = math.Floor(v); r.scale < 1 {
					v = math.Ceil(at[i])
				}
			case "floor":
				v = math.Floor(v)
			case "ceil":
				v = math.Ceil(v)
			default:
				return nil, fmt.Errorf("the attribute nearest_mode is %q", o.nearest)
			}
			index[i] = int64(min(max(v, 0), float64(r.from-1)))
		}
		t.index = [][]int64{index}
		return t, nil
	}
	kernel, reach, err := o.kernel()
	if err != nil {
		return nil, err
	}
	shrink := 1.0
	if o.antialias {
		shrink = min(r.scale, 1)
	}
	first := int(math.Floor(-reach/shrink)) + 1 // of the taps, from the element below on
	if n := 2 - 2*first; n > 1<<16 {
		return nil, fmt.Errorf("the scale %v makes each element from %d others", r.scale, n)
	}
	if err := hostRoom(r.to, 2-2*first); err != nil {
		return nil, err
	}
	for k := first; k <= 1-first; k++ {
		t.index = append(t.index, make([]int64, r.to))
		t.weight = append(t.weight, make([]float64, r.to))
	}
	for i, v := range at {
		below := math.Floor(v)
		sum := 0.0
		for k := range t.index {
			j := below + float64(first+k)
			w := kernel((j - v) * shrink)
			if o.excludeOutside && (j < 0 || j > float64(r.from-1)) {
				w = 0
			}
			t.index[k][i], t.weight[k][i] = int64(min(max(j, 0), float64(r.from-1))), w
			sum += w
		}
		for k := range t.index {
			t.weight[k][i] /= sum
		}
	}
	return t, nil
}

// coordinate is where element i of the result lies among those of the axis.
func (o *resizing) coordinate(r axisResizing, i float64) (float64, error) {
	n := r.scale * float64(r.from) // the extent of the result before it was rounded
	last := float64(r.from - 1)
	switch o.coordinates {
	case "half_pixel":
		return (i+0.5)/r.scale - 0.5, nil
	case "half_pixel_symmetric":
		adjusted := float64(r.to) / n
		return float64(r.from)/2*(1-adjusted) + (i+0.5)/r.scale - 0.5, nil
	case "pytorch_half_pixel":
		if r.to <= 1 {
			return 0, nil
		}
		return (i+0.5)/r.scale - 0.5, nil
	case "align_corners":
		if r.to <= 1 {
			return 0, nil
		}
		return i * last / (n - 1), nil
	case "asymmetric":
		return i / r.scale, nil
	case "tf_half_pixel_for_nn":
		return (i + 0.5) / r.scale, nil
	case "tf_crop_and_resize":
		if r.to <= 1 {
			return 0.5 * (r.start + r.end) * last, nil
		}
		return r.start*last + i*(r.end-r.start)*last/(float64(r.to)-1), nil
	}
	return 0, fmt.Errorf("the attribute coordinate_transformation_mode is %q", o.coordinates)
}

// kernel is the weight of an element by its distance, and the greatest distance.
func (o *resizing) kernel() (f func(float64) float64, reach float64, err error) {
	switch o.mode {
	case "linear", "bilinear", "trilinear":
		return func(d float64) float64 { return max(1-math.Abs(d), 0) }, 1, nil
	case "cubic", "bicubic":
		return keys(o.cubic), 2, nil
	}
	return nil, 0, fmt.Errorf("the attribute mode is %q", o.mode)
}

// keys is Keys's cubic convolution.
func keys(a float64) func(float64) float64 {
	return func(d float64) float64 {
		switch d = math.Abs(d); {
		case d <= 1:
			return ((a+2)*d-(a+3))*d*d + 1
		case d < 2:
			return ((d-5)*d+8)*d*a - 4*a
		}
		return 0
	}
}
