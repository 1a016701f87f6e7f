package onnx

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

func init() {
	for row, write := range map[string]writeRow{
		"gather": func(x *exporter, n *ir.Node, in []string) ([]string, error) {
			return one1(x.emit("Gather", in, putIntAttr("axis", int64(axisOf(n)))))
		},
		"take_along":          writeTakeAlong,
		"scatter_along":       writeScatterAlong,
		"scatter_add":         writeScatterAdd,
		"gather_nd":           writeGatherND,
		"scatter_nd":          writeScatterND,
		"conv":                writeConv,
		"conv_transpose":      writeConvTranspose,
		"max_pool":            writePool("MaxPool"),
		"avg_pool":            writePool("AveragePool"),
		"adaptive_avg_pool":   writeGlobalPool("GlobalAveragePool"),
		"adaptive_max_pool":   writeGlobalPool("GlobalMaxPool"),
		"interpolate_nearest": writeNearest,
		"grid_sample":         writeGridSample,
		"layer_norm":          writeLayerNorm,
		"rms_norm":            writeRMSNorm,
		"prelu":               writePRelu,
		"det":                 writeWith("Det"),
		"fft":                 writeFFT,
		"rfft":                writeRFFT,
		"set_slice":           writeSetSlice,
		"unfold":              writeUnfold,
		"diagonal":            writeDiagonal,
	} {
		exported[row] = write
	}
}

// broadcastTo expands a value unless it has the shape.
func (x *exporter) broadcastTo(v string, from, to ir.Shape) string {
	if slices.Equal(from, to) {
		return v
	}
	return x.emit("Expand", []string{v, x.shape(to)})
}

func writeTakeAlong(x *exporter, n *ir.Node, in []string) ([]string, error) {
	axis := axisOf(n)
	values, index := n.Out[0].Shape.Clone(), n.Out[0].Shape
	values[axis] = n.In[0].Shape[axis]
	v, i := x.broadcastTo(in[0], n.In[0].Shape, values), x.broadcastTo(in[1], n.In[1].Shape, index)
	return one1(x.emit("GatherElements", []string{v, i}, putIntAttr("axis", int64(axis))))
}

// putModes names the modes of scattering rows.
var putModes = map[int64]string{ir.PutReplace: "none", ir.PutAdd: "add", ir.PutMul: "mul", ir.PutMax: "max", ir.PutMin: "min"}

func (x *exporter) putMode(n *ir.Node) (*Attr, error) {
	name, ok := putModes[n.Attr("mode").Int]
	if !ok {
		return nil, errNoCounterpart
	}
	return putStrAttr("reduction", name), nil
}

func writeScatterAlong(x *exporter, n *ir.Node, in []string) ([]string, error) {
	how, err := x.putMode(n)
	if err != nil {
		return nil, err
	}
	index := x.broadcastTo(in[1], n.In[1].Shape, n.In[2].Shape)
	return one1(x.emit("ScatterElements", []string{in[0], index, in[2]}, putIntAttr("axis", int64(axisOf(n))), how))
}

func writeScatterAdd(x *exporter, n *ir.Node, in []string) ([]string, error) {
	axis, z := axisOf(n), n.In[2].Shape
	if len(n.In[1].Shape) != 1 {
		return nil, errNoCounterpart
	}
	flat := make(ir.Shape, len(z))
	for i := range flat {
		flat[i] = 1
	}
	flat[axis] = z[axis]
	index := x.broadcastTo(x.reshape(in[1], flat), flat, z)
	return one1(x.emit("ScatterElements", []string{in[0], index, in[2]}, putIntAttr("axis", int64(axis)), putStrAttr("reduction", "add")))
}

func writeGatherND(x *exporter, n *ir.Node, in []string) ([]string, error) {
	if axisOf(n) != 0 {
		return nil, errNoCounterpart
	}
	return one1(x.emit("GatherND", in))
}

func writeScatterND(x *exporter, n *ir.Node, in []string) ([]string, error) {
	how, err := x.putMode(n)
	if axisOf(n) != 0 && err == nil {
		err = errNoCounterpart
	}
	if err != nil {
		return nil, err
	}
	return one1(x.emit("ScatterND", in, how))
}

// maxTable is the most positions that rows of moves are written with.
const maxTable = 1 << 16

// writeSetSlice puts z in place of a slice: a scatter along each axis of a slice
// is one along the row-major positions that it takes.
func writeSetSlice(x *exporter, n *ir.Node, in []string) ([]string, error) {
	shape := n.In[0].Shape
	starts, sizes, steps := n.Attr("starts").List, n.Attr("sizes").List, n.Attr("steps").List
	count := int64(1)
	for _, s := range sizes {
		count *= s
	}
	if count > maxTable {
		return nil, fmt.Errorf("a slice of %d elements would become a table of as many positions; at most %d are written", count, maxTable)
	}
	places := []int64{0}
	for i, d := range shape {
		var next []int64
		for _, p := range places {
			for k := range sizes[i] {
				next = append(next, p*int64(d)+starts[i]+k*steps[i])
			}
		}
		places = next
	}
	flat := ir.Shape{shape.Size()}
	z := x.broadcastTo(in[1], n.In[1].Shape, shapeOf64(sizes))
	out := x.emit("ScatterElements", []string{x.reshape(in[0], flat), x.ints(places...), x.reshape(z, ir.Shape{int(count)})}, putIntAttr("axis", 0))
	return one1(x.reshape(out, shape))
}

func shapeOf64(v []int64) ir.Shape {
	out := make(ir.Shape, len(v))
	for i, d := range v {
		out[i] = int(d)
	}
	return out
}

// windowAttrsOf writes the attributes of rows over windows; empty lists are the
// defaults.
func windowAttrsOf(n *ir.Node, axes int) []*Attr {
	var out []*Attr
	for _, name := range []string{"strides", "pads", "dilations"} {
		if list := n.Attr(name).List; len(list) > 0 {
			out = append(out, putIntsAttr(name, list))
		}
	}
	return out
}

func writeConv(x *exporter, n *ir.Node, in []string) ([]string, error) {
	if !n.In[0].DType.IsFloat() {
		return nil, errNoCounterpart
	}
	attrs := append(windowAttrsOf(n, len(n.In[0].Shape)-2), putIntAttr("group", n.Attr("groups").Int))
	return one1(x.emit("Conv", in, attrs...))
}

func writeConvTranspose(x *exporter, n *ir.Node, in []string) ([]string, error) {
	if !n.In[0].DType.IsFloat() {
		return nil, errNoCounterpart
	}
	attrs := append(windowAttrsOf(n, len(n.In[0].Shape)-2), putIntAttr("group", n.Attr("groups").Int))
	if extra := n.Attr("extra").List; len(extra) > 0 {
		attrs = append(attrs, putIntsAttr("output_padding", extra))
	}
	return one1(x.emit("ConvTranspose", in, attrs...))
}

func writePool(op string) writeRow {
	return func(x *exporter, n *ir.Node, in []string) ([]string, error) {
		attrs := append(windowAttrsOf(n, len(n.In[0].Shape)-2), putIntsAttr("kernel_shape", n.Attr("kernel").List), putBoolAttr("ceil_mode", n.Attr("ceil").Bool()))
		if op == "AveragePool" {
			if n.Attr("divisor").Int != 0 {
				return nil, errNoCounterpart
			}
			attrs = append(attrs, putBoolAttr("count_include_pad", n.Attr("include_pad").Bool()))
		}
		return one1(x.emit(op, in, attrs...))
	}
}

func writeGlobalPool(op string) writeRow {
	return func(x *exporter, n *ir.Node, in []string) ([]string, error) {
		for _, s := range n.Attr("sizes").List {
			if s != 1 {
				return nil, errNoCounterpart
			}
		}
		return one1(x.emit(op, in))
	}
}

// writeNearest takes elements at positions that are computed exactly.
func writeNearest(x *exporter, n *ir.Node, in []string) ([]string, error) {
	v := in[0]
	for i, m := range n.Attr("sizes").List {
		from := int64(n.In[0].Shape[2+i])
		index := make([]int64, m)
		for k := range index {
			at := int64(k)
			switch n.Attr("coords").Int {
			case 0:
				index[k] = (2*at + 1) * from / (2 * m)
			case 2:
				index[k] = at * from / m
			default:
				return nil, errNoCounterpart
			}
		}
		v = x.emit("Gather", []string{v, x.ints(index...)}, putIntAttr("axis", int64(2+i)))
	}
	return one1(v)
}

func writeGridSample(x *exporter, n *ir.Node, in []string) ([]string, error) {
	modes, paddings := []string{"nearest", "linear", "cubic"}, []string{"zeros", "border", "reflection"}
	mode, padding := n.Attr("mode").Int, n.Attr("padding").Int
	if mode < 0 || mode > 1 || padding < 0 || padding > 2 {
		return nil, errNoCounterpart
	}
	return one1(x.emit("GridSample", in, putStrAttr("mode", modes[mode]), putStrAttr("padding_mode", paddings[padding]), putBoolAttr("align_corners", n.Attr("corners").Bool())))
}

// normAttrs are those of operators that normalise over the last axes.
func normAttrs(n *ir.Node) ([]*Attr, ir.Shape, error) {
	shape, eps := n.In[0].Shape, n.Attr("eps").Float()
	axis, ok := tailAxes(n.Attr("axes").List, len(shape))
	if !ok || float64(float32(eps)) != eps && n.In[0].DType == ir.F64 { // attributes are f32
		return nil, nil, errNoCounterpart
	}
	return []*Attr{putIntAttr("axis", axis), putFloatAttr("epsilon", float32(eps))}, shape[axis:], nil
}

func writeLayerNorm(x *exporter, n *ir.Node, in []string) ([]string, error) {
	attrs, over, err := normAttrs(n)
	if err != nil {
		return nil, err
	}
	for _, t := range n.In[1:] {
		if !slices.Equal(t.Shape, over) {
			return nil, errNoCounterpart
		}
	}
	return one1(x.emit("LayerNormalization", in, attrs...))
}

func writeRMSNorm(x *exporter, n *ir.Node, in []string) ([]string, error) {
	attrs, over, err := normAttrs(n)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(n.In[1].Shape, over) {
		return nil, errNoCounterpart
	}
	x.need(23)
	return one1(x.emit("RMSNormalization", in, attrs...))
}

// writePRelu needs slopes that broadcast to x; others are left to the body.
func writePRelu(x *exporter, n *ir.Node, in []string) ([]string, error) {
	if !slices.Equal(n.In[0].Shape, n.Out[0].Shape) {
		return nil, errNoCounterpart
	}
	return one1(x.emit("PRelu", in))
}

// writeFFT writes the transform without a scale; ONNX scales the inverse.
func writeFFT(x *exporter, n *ir.Node, in []string) ([]string, error) {
	if n.Attr("inverse").Bool() {
		return nil, errNoCounterpart
	}
	return one1(x.emit("DFT", []string{in[0], "", x.scalar(ir.I64, uint64(complexAxis(n, n.In[0].Shape)))}))
}

func writeRFFT(x *exporter, n *ir.Node, in []string) ([]string, error) {
	shape := append(n.In[0].Shape.Clone(), 1)
	return one1(x.emit("DFT", []string{x.reshape(in[0], shape), "", x.scalar(ir.I64, uint64(complexAxis(n, shape)))}, putIntAttr("onesided", 1)))
}

// complexAxis is the axis of a transform over complex numbers of the shape.
func complexAxis(n *ir.Node, shape ir.Shape) int {
	axis := int(n.Attr("axis").Int)
	if axis < 0 {
		axis += len(shape) - 1
	}
	return axis
}

// writeUnfold gathers the windows of an axis and moves their elements last.
func writeUnfold(x *exporter, n *ir.Node, in []string) ([]string, error) {
	axis, rank := axisOf(n), len(n.In[0].Shape)
	count, size := n.Out[0].Shape[axis], n.Out[0].Shape[rank]
	step, dilation := n.Attr("step").Int, n.Attr("dilation").Int
	index := make([]int64, 0, count*size)
	for i := range count {
		for k := range size {
			index = append(index, int64(i)*step+int64(k)*dilation)
		}
	}
	if len(index) > maxTable {
		return nil, fmt.Errorf("windows of %d elements in all would become a table of as many positions; at most %d are written", len(index), maxTable)
	}
	v := x.emit("Gather", []string{in[0], x.intTable(index, count, size)}, putIntAttr("axis", int64(axis)))
	perm := make([]int64, 0, rank+1)
	for i := range rank + 1 {
		if i != axis+1 {
			perm = append(perm, int64(i))
		}
	}
	return one1(x.emit("Transpose", []string{v}, putIntsAttr("perm", append(perm, int64(axis+1)))))
}

// writeDiagonal gathers positions of the two axes as one.
func writeDiagonal(x *exporter, n *ir.Node, in []string) ([]string, error) {
	shape := n.In[0].Shape
	rank := len(shape)
	a, b := int(n.Attr("axis1").Int), int(n.Attr("axis2").Int)
	if a < 0 {
		a += rank
	}
	if b < 0 {
		b += rank
	}
	var perm []int64
	var front ir.Shape
	for i := range rank {
		if i != a && i != b {
			perm, front = append(perm, int64(i)), append(front, shape[i])
		}
	}
	v := x.emit("Transpose", in, putIntsAttr("perm", append(perm, int64(a), int64(b))))
	v = x.reshape(v, append(front.Clone(), shape[a]*shape[b]))
	offset, m := n.Attr("offset").Int, int64(shape[b])
	index := make([]int64, n.Out[0].Shape[rank-2])
	for i := range index {
		row := int64(i) + max(0, -offset)
		index[i] = row*m + row + offset
	}
	return one1(x.emit("Gather", []string{v, x.ints(index...)}, putIntAttr("axis", int64(rank-2))))
}
