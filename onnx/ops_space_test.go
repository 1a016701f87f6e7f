package onnx

import (
	"math"
	"testing"

	"github.com/sinter-go/sinter"
)

// Operators over axes of space, by their definitions where the cases of ONNX do
// not reach.

// conv1 is a convolution along one axis.
func conv1(x, w array, stride, pad int) array {
	return filled(func(at []int) float64 {
		s := 0.0
		for c := range x.shape[1] {
			for k := range w.shape[2] {
				if j := at[2]*stride + k - pad; j >= 0 && j < x.shape[2] {
					s += x.at(at[0], c, j) * w.at(at[1], c, k)
				}
			}
		}
		return s
	}, x.shape[0], w.shape[0], (x.shape[2]+2*pad-w.shape[2])/stride+1)
}

func TestConvInteger(t *testing.T) {
	x, w := codes(1, 1, 2, 6), codes(2, 3, 2, 3)
	want := conv1(plain(x, 1, 120), plain(w, 1, 130), 2, 1)
	op := applied{op: "ConvInteger", attrs: []*Attr{intsA("strides", 2), intsA("pads", 1, 1)}}
	near(t, "one zero point", op.one(t, x.as(sinter.U8), w.as(sinter.U8), zeroPoint(120), zeroPoint(130)), want, 0)
	zeros := array{[]int{3}, []float64{130, 120, 110}}
	each := filled(func(at []int) float64 { return w.at(at...) - zeros.v[at[0]] }, 3, 2, 3)
	near(t, "one for each output", op.one(t, x.as(sinter.U8), w.as(sinter.U8), zeroPoint(120), zeros.as(sinter.U8)), conv1(plain(x, 1, 120), each, 2, 1), 0)
}

func TestConvAutoPad(t *testing.T) {
	x, w := noise(1, 1, 2, 5), noise(2, 1, 2, 2) // one element of padding in all
	shifted := func(by int) array {
		return filled(func(at []int) float64 {
			s := 0.0
			for c := range 2 {
				for k := range 2 {
					if j := at[2] + k - by; j >= 0 && j < 5 {
						s += x.at(0, c, j) * w.at(0, c, k)
					}
				}
			}
			return s
		}, 1, 1, 5)
	}
	for mode, want := range map[string]array{"SAME_UPPER": shifted(0), "SAME_LOWER": shifted(1), "VALID": conv1(x, w, 1, 0)} {
		near(t, mode, applied{op: "Conv", attrs: []*Attr{strA("auto_pad", mode)}}.one(t, x.f32(), w.f32()), want, 1e-6)
	}
	if _, err := (applied{op: "Conv", attrs: []*Attr{strA("auto_pad", "SOME")}}).try(x.f32(), w.f32()); err == nil {
		t.Error("auto_pad SOME: no error")
	}
	if _, err := (applied{op: "Conv", attrs: []*Attr{intsA("kernel_shape", 3)}}).try(x.f32(), w.f32()); err == nil {
		t.Error("a kernel shape that the weights do not have: no error")
	}
}

func TestConvTransposeShapes(t *testing.T) {
	x, w := noise(1, 1, 1, 3), noise(2, 1, 1, 2)
	whole := func(extra int) array { // stride 3: 2·3 + 2 elements and what is added
		return filled(func(at []int) float64 {
			s := 0.0
			for i := range 3 {
				if k := at[2] - 3*i; k >= 0 && k < 2 {
					s += x.v[i] * w.v[k]
				}
			}
			return s
		}, 1, 1, 8+extra)
	}
	cut := func(a array, from, n int) array { return array{[]int{1, 1, n}, a.v[from : from+n]} }
	for _, c := range []struct {
		name  string
		attrs []*Attr
		want  array
	}{
		{"larger", []*Attr{intsA("output_shape", 10)}, whole(2)},
		{"larger than a stride", []*Attr{intsA("output_shape", 13)}, whole(5)},
		{"smaller, odd one in front", []*Attr{intsA("output_shape", 7)}, cut(whole(0), 1, 7)},
		{"smaller, odd one behind", []*Attr{intsA("output_shape", 7), strA("auto_pad", "SAME_UPPER")}, cut(whole(0), 0, 7)},
		{"same", []*Attr{strA("auto_pad", "SAME_UPPER")}, whole(1)},
		{"output padding", []*Attr{intsA("output_padding", 1)}, whole(1)},
		{"pads", []*Attr{intsA("pads", 1, 2)}, cut(whole(0), 1, 5)},
	} {
		near(t, c.name, applied{op: "ConvTranspose", attrs: append(c.attrs, intsA("strides", 3))}.one(t, x.f32(), w.f32()), c.want, 1e-6)
	}
}

func TestDeformConvWithoutOffsets(t *testing.T) {
	x, w, b := noise(1, 2, 4, 6, 5), noise(2, 6, 2, 3, 2), noise(3, 6)
	attrs := []*Attr{intA("group", 2), intsA("strides", 2, 1), intsA("pads", 1, 0, 1, 1), intsA("dilations", 1, 2)}
	want := applied{op: "Conv", attrs: attrs}.one(t, x.f32(), w.f32(), b.f32())
	offset := sinter.Zeros(sinter.F32, 2, 2*2*6, want.shape[2], want.shape[3])
	got := applied{op: "DeformConv", attrs: append(attrs, intA("offset_group", 2))}.one(t, x.f32(), w.f32(), offset, b.f32())
	near(t, "offsets of 0", got, want, 1e-5)
}

func TestPoolsOfNorms(t *testing.T) {
	x := noise(1, 2, 3, 7)
	for _, p := range []float64{1, 2, 3} {
		norm := func(b, c, from, to int) float64 {
			s := 0.0
			for i := from; i < to; i++ {
				s += math.Pow(math.Abs(x.at(b, c, i)), p)
			}
			return math.Pow(s, 1/p)
		}
		a := []*Attr{intA("p", int64(p))}
		near(t, "GlobalLpPool", applied{op: "GlobalLpPool", attrs: a}.one(t, x.f32()),
			filled(func(at []int) float64 { return norm(at[0], at[1], 0, 7) }, 2, 3, 1), 1e-5)
		near(t, "LpPool", applied{op: "LpPool", attrs: append(a, intsA("kernel_shape", 3), intsA("strides", 2))}.one(t, x.f32()),
			filled(func(at []int) float64 { return norm(at[0], at[1], 2*at[2], 2*at[2]+3) }, 2, 3, 3), 1e-5)
	}
}

func TestMaxPoolIndices(t *testing.T) {
	x := noise(1, 2, 2, 4, 6)
	for order, flat := range map[int64]func(i, j int) int{0: func(i, j int) int { return i*6 + j }, 1: func(i, j int) int { return i + j*4 }} {
		out := applied{op: "MaxPool", outs: 2, attrs: []*Attr{intsA("kernel_shape", 2, 3), intsA("strides", 2, 3), intA("storage_order", order)}}.run(t, x.f32())
		got := arrayOf(t, out[1])
		near(t, "index", got, filled(func(at []int) float64 {
			top, index := math.Inf(-1), 0
			for i := 2 * at[2]; i < 2*at[2]+2; i++ {
				for j := 3 * at[3]; j < 3*at[3]+3; j++ {
					if v := x.at(at[0], at[1], i, j); v > top {
						top, index = v, flat(i, j)
					}
				}
			}
			return float64((at[0]*2+at[1])*24 + index)
		}, 2, 2, 2, 2), 0)
		if order == 0 { // and back
			back := applied{op: "MaxUnpool", attrs: []*Attr{intsA("kernel_shape", 2, 3), intsA("strides", 2, 3)}}.one(t, out[0], out[1])
			sum := 0.0
			for i, v := range back.v {
				if v != 0 && float64(float32(v)) != x.v[i] {
					t.Fatalf("element %d came back as %v, it was %v", i, v, x.v[i])
				}
				sum += v
			}
			want := 0.0
			for _, v := range arrayOf(t, out[0]).v {
				want += v
			}
			if math.Abs(sum-want) > 1e-5 {
				t.Errorf("the elements that came back sum to %v, expected %v", sum, want)
			}
		}
	}
}

func TestRegions(t *testing.T) {
	const n, channels, h, w = 2, 2, 7, 9
	x := noise(1, n, channels, h, w)
	boxes := [][5]float64{{0, 1, 0, 5, 4}, {1, 2, 2, 8, 6}, {0, 0, 0, 0, 0}, {1, 6, 5, 14, 11}}
	rois := filled(func(at []int) float64 { return boxes[at[0]][at[1]] }, len(boxes), 5)
	const ph, pw = 3, 2
	want := filled(func(at []int) float64 {
		b := boxes[at[0]]
		cell := func(k, cells, extent int, from, to float64) (lo, hi int) {
			bin := max(to-from+1, 1) / float64(cells)
			lo, hi = int(math.Floor(float64(k)*bin)+from), int(math.Ceil(float64(k+1)*bin)+from)
			return min(max(lo, 0), extent), min(max(hi, 0), extent)
		}
		y0, y1 := cell(at[2], ph, h, b[2], b[4])
		x0, x1 := cell(at[3], pw, w, b[1], b[3])
		top := math.Inf(-1)
		for i := y0; i < y1; i++ {
			for j := x0; j < x1; j++ {
				top = max(top, x.at(int(b[0]), at[1], i, j))
			}
		}
		if math.IsInf(top, -1) {
			return 0
		}
		return top
	}, len(boxes), channels, ph, pw)
	near(t, "MaxRoiPool", applied{op: "MaxRoiPool", attrs: []*Attr{intsA("pooled_shape", ph, pw)}}.one(t, x.f32(), rois.f32()), want, 0)

	// RoiAlign with as many points as the region asks for: the mean of linear
	// interpolation.
	sample := func(b, c int, y, xx float64) float64 {
		if y < -1 || y > h || xx < -1 || xx > w {
			return 0
		}
		y, xx = min(max(y, 0), h-1), min(max(xx, 0), w-1)
		i, j := min(int(y), h-2), min(int(xx), w-2)
		fy, fx := y-float64(i), xx-float64(j)
		return x.at(b, c, i, j)*(1-fy)*(1-fx) + x.at(b, c, i, j+1)*(1-fy)*fx + x.at(b, c, i+1, j)*fy*(1-fx) + x.at(b, c, i+1, j+1)*fy*fx
	}
	want = filled(func(at []int) float64 {
		b := boxes[at[0]]
		bh, bw := (b[4]-b[2])/ph, (b[3]-b[1])/pw
		gh, gw := int(math.Ceil(bh)), int(math.Ceil(bw))
		s := 0.0
		for i := range gh {
			for j := range gw {
				y := b[2] - 0.5 + float64(at[2])*bh + (float64(i)+0.5)*bh/float64(gh)
				xx := b[1] - 0.5 + float64(at[3])*bw + (float64(j)+0.5)*bw/float64(gw)
				s += sample(int(b[0]), at[1], y, xx)
			}
		}
		return s / float64(max(gh*gw, 1))
	}, len(boxes), channels, ph, pw)
	corners := filled(func(at []int) float64 { return boxes[at[0]][at[1]+1] }, len(boxes), 4)
	images := filled(func(at []int) float64 { return boxes[at[0]][0] }, len(boxes))
	op := applied{op: "RoiAlign", attrs: []*Attr{intA("output_height", ph), intA("output_width", pw)}}
	near(t, "RoiAlign", op.one(t, x.f32(), corners.f32(), images.as(sinter.I64)), want, 1e-5)
}

func TestGridSampleCubic(t *testing.T) {
	const h, w = 4, 5
	x := noise(1, 1, 2, h, w)
	grid := noise(2, 1, 3, 4, 2)
	for i := range grid.v {
		grid.v[i] = float64(float32(grid.v[i] * 1.6)) // some points lie outside
	}
	keys := func(d float64) float64 {
		const a = -0.75
		switch d = math.Abs(d); {
		case d <= 1:
			return (a+2)*d*d*d - (a+3)*d*d + 1
		case d < 2:
			return a*d*d*d - 5*a*d*d + 8*a*d - 4*a
		}
		return 0
	}
	for _, corners := range []bool{false, true} {
		for _, mode := range []string{"zeros", "border", "reflection"} {
			fold := func(i, n int) (int, bool) {
				switch mode {
				case "zeros":
					return i, i >= 0 && i < n
				case "border":
					return min(max(i, 0), n-1), true
				}
				for i < 0 || i >= n {
					switch {
					case i < 0 && corners:
						i = -i
					case i < 0:
						i = -1 - i
					case corners:
						i = 2*(n-1) - i
					default:
						i = 2*n - 1 - i
					}
				}
				return i, true
			}
			place := func(g float64, n int) float64 {
				if corners {
					return (g + 1) / 2 * float64(n-1)
				}
				return ((g+1)*float64(n) - 1) / 2
			}
			want := filled(func(at []int) float64 {
				y, xx := place(grid.at(0, at[2], at[3], 1), h), place(grid.at(0, at[2], at[3], 0), w)
				s := 0.0
				for i := int(math.Floor(y)) - 1; i <= int(math.Floor(y))+2; i++ {
					for j := int(math.Floor(xx)) - 1; j <= int(math.Floor(xx))+2; j++ {
						ii, okI := fold(i, h)
						jj, okJ := fold(j, w)
						if okI && okJ {
							s += x.at(0, at[1], ii, jj) * keys(y-float64(i)) * keys(xx-float64(j))
						}
					}
				}
				return s
			}, 1, 2, 3, 4)
			got := applied{op: "GridSample", attrs: []*Attr{strA("mode", "cubic"), strA("padding_mode", mode), intA("align_corners", flag(corners))}}.one(t, x.f32(), grid.f32())
			near(t, mode, got, want, 1e-4)
		}
	}
}

func TestResizeRules(t *testing.T) {
	x := array{[]int{1, 1, 4}, []float64{1, 2, 3, 4}}
	sizes := func(n ...int64) *sinter.Tensor { return sinter.FromSlice(n, len(n)) }
	scales := func(s ...float32) *sinter.Tensor { return sinter.FromSlice(s, len(s)) }
	row := func(v ...float64) array { return array{[]int{1, 1, len(v)}, v} }
	for _, c := range []struct {
		name  string
		attrs []*Attr
		scale *sinter.Tensor
		size  *sinter.Tensor
		want  array
	}{
		{"asymmetric nearest", []*Attr{strA("coordinate_transformation_mode", "asymmetric"), strA("nearest_mode", "floor")}, scales(1, 1, 2), nil, row(1, 1, 2, 2, 3, 3, 4, 4)},
		{"half to the floor", nil, nil, sizes(1, 1, 2), row(1, 3)},
		{"half to the ceiling", []*Attr{strA("nearest_mode", "round_prefer_ceil")}, nil, sizes(1, 1, 2), row(2, 4)},
		{"linear corners", []*Attr{strA("mode", "linear"), strA("coordinate_transformation_mode", "align_corners")}, nil, sizes(1, 1, 7), row(1, 1.5, 2, 2.5, 3, 3.5, 4)},
		{"pytorch to one", []*Attr{strA("mode", "linear"), strA("coordinate_transformation_mode", "pytorch_half_pixel")}, nil, sizes(1, 1, 1), row(1)},
		{"half pixels to one", []*Attr{strA("mode", "linear")}, nil, sizes(1, 1, 1), row(2.5)},
		{"one axis", []*Attr{strA("mode", "linear"), intsA("axes", 2)}, scales(0.5), nil, row(1.5, 3.5)},
		{"nothing to do", []*Attr{strA("mode", "cubic")}, scales(1, 1, 1), nil, row(1, 2, 3, 4)},
	} {
		near(t, c.name, applied{op: "Resize", attrs: c.attrs}.one(t, x.f32(), nil, c.scale, c.size), c.want, 1e-6)
	}
	near(t, "Upsample of opset 7", applied{op: "Upsample", opset: 7, attrs: []*Attr{{Name: "scales", Kind: AttrFloats, Floats: []float32{1, 1, 2}}, strA("mode", "linear")}}.one(t, x.f32()),
		row(1, 1.5, 2, 2.5, 3, 3.5, 4, 4), 1e-6)
	near(t, "Resize of opset 10", applied{op: "Resize", opset: 10}.one(t, x.f32(), scales(1, 1, 0.5)), row(1, 3), 0)
	near(t, "Resize of opset 10 to 0.6", applied{op: "Resize", opset: 10}.one(t, x.f32(), scales(1, 1, 0.6)), row(1, 3), 0)
	for i, in := range [][]*sinter.Tensor{
		{x.f32()}, {x.f32(), nil, scales(1, 1)}, {x.f32(), nil, scales(1, 1, 0)}, {x.f32(), nil, scales(1, 1, float32(math.NaN()))},
		{x.f32(), nil, scales(1, 1, 1e30)}, {x.f32(), nil, nil, sizes(1, 1, -4)}, {sinter.Zeros(sinter.F32, 1, 1, 0), nil, nil, sizes(1, 1, 4)},
	} {
		if _, err := (applied{op: "Resize"}).try(in...); err == nil {
			t.Errorf("case %d: no error", i)
		}
	}
}
