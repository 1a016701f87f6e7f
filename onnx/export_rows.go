package onnx

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// writeRow writes a row as nodes and returns the names of its results.
// errNoCounterpart leaves an elementwise row to its body.
type writeRow func(x *exporter, n *ir.Node, in []string) ([]string, error)

// sameOperator names the operators that do what an elementwise row does.
var sameOperator = map[string]string{
	"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "neg": "Neg", "abs": "Abs", "sqrt": "Sqrt", "relu": "Relu", "floor": "Floor",
	"maximum": "Max", "minimum": "Min", "sign": "Sign", "ceil": "Ceil", "round": "Round", "reciprocal": "Reciprocal",
	"eq": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual", "where": "Where", "pow": "Pow",
	"exp": "Exp", "log": "Log", "tanh": "Tanh", "erf": "Erf", "sin": "Sin", "cos": "Cos", "tan": "Tan", "sigmoid": "Sigmoid", "atan": "Atan",
	"asin": "Asin", "acos": "Acos", "sinh": "Sinh", "cosh": "Cosh", "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh",
	"softsign": "Softsign", "mish": "Mish", "hard_swish": "HardSwish", "gelu": "Gelu", "is_nan": "IsNaN", "is_inf": "IsInf",
}

// exported has the rows that are written otherwise than by their bodies.
var exported = map[string]writeRow{
	"ne":   writeNot("Equal"),
	"and":  writeLogic("And", "BitwiseAnd"),
	"or":   writeLogic("Or", "BitwiseOr"),
	"xor":  writeLogic("Xor", "BitwiseXor"),
	"not":  writeLogic("Not", "BitwiseNot"),
	"cast": writeCast,
	"full": writeFull,
	"iota": writeIota,
	"trunc": func(x *exporter, n *ir.Node, in []string) ([]string, error) {
		return one1(x.trunc(in[0], n.In[0].DType))
	},
	"mod":  writeMod(0),
	"fmod": writeMod(1),

	"shl": writeShift("LEFT"), "shr": writeShift("RIGHT"),
	"softplus": func(x *exporter, n *ir.Node, in []string) ([]string, error) {
		if n.Attr("beta").Float() != 1 {
			return nil, errNoCounterpart
		}
		return one1(x.emit("Softplus", in))
	},

	"gelu_tanh":   writeWith("Gelu", putStrAttr("approximate", "tanh")),
	"elu":         writeAlpha("Elu", "alpha", "alpha"),
	"celu":        writeAlpha("Celu", "alpha", "alpha"),
	"leaky_relu":  writeAlpha("LeakyRelu", "slope", "alpha"),
	"softmax":     writeAxis("Softmax"),
	"log_softmax": writeAxis("LogSoftmax"),
	"concat":      writeAxis("Concat"),
	"matmul":      writeWith("MatMul"),
	"clamp": func(x *exporter, n *ir.Node, in []string) ([]string, error) {
		return one1(x.emit("Min", []string{x.emit("Max", in[:2]), in[2]}))
	},
	"is_finite": func(x *exporter, n *ir.Node, in []string) ([]string, error) {
		return one1(x.emit("Not", []string{x.emit("Or", []string{x.emit("IsNaN", in), x.emit("IsInf", in)})}))
	},

	"reshape": func(x *exporter, n *ir.Node, in []string) ([]string, error) {
		return one1(x.reshape(in[0], n.Out[0].Shape))
	},
	"expand": func(x *exporter, n *ir.Node, in []string) ([]string, error) {
		return one1(x.emit("Expand", []string{in[0], x.shape(n.Out[0].Shape)}))
	},
	"permute": func(x *exporter, n *ir.Node, in []string) ([]string, error) {
		if len(n.In[0].Shape) == 0 {
			return one1(x.emit("Identity", in))
		}
		return one1(x.emit("Transpose", in, putIntsAttr("perm", n.Attr("axes").List)))
	},
	"slice": writeSlice,

	"sum": writeReduce("ReduceSum"), "prod": writeReduce("ReduceProd"), "mean": writeReduce("ReduceMean"), "max": writeReduce("ReduceMax"),
	"min": writeReduce("ReduceMin"), "sum_squares": writeReduce("ReduceSumSquare"), "l1_norm": writeReduce("ReduceL1"),
	"l2_norm": writeReduce("ReduceL2"), "logsumexp": writeReduce("ReduceLogSumExp"),
	"any": writeReduce("ReduceMax"), "all": writeReduce("ReduceMin"),
	"inf_norm": func(x *exporter, n *ir.Node, in []string) ([]string, error) {
		if n.In[0].Shape.Size() == 0 {
			return nil, errOfNothing
		}
		return x.reduce("ReduceMax", x.emit("Abs", in), n)
	},
	"count_nonzero": func(x *exporter, n *ir.Node, in []string) ([]string, error) {
		if d := n.In[0].DType; d.IsFloat() { // NaN is not counted, and would become true
			return nil, errNoCounterpart
		}
		yes := x.cast(in[0], n.In[0].DType, ir.Bool)
		return x.reduce("ReduceSum", x.cast(yes, ir.Bool, ir.I64), n)
	},
	"argmax": writeArg("ArgMax"), "argmin": writeArg("ArgMin"),
	"cumsum": writeCumulative("CumSum", 14), "cumprod": writeCumulative("CumProd", 26),
	"sort": func(x *exporter, n *ir.Node, in []string) ([]string, error) {
		axis := axisOf(n)
		return x.topK(n, in, int64(n.In[0].Shape[axis]), n.Attr("descending").Bool())
	},
	"topk": func(x *exporter, n *ir.Node, in []string) ([]string, error) {
		return x.topK(n, in, n.Attr("k").Int, n.Attr("largest").Bool())
	},
}

func init() { // sameOperator is the longer part of the table
	for row, op := range sameOperator {
		exported[row] = writeWith(op)
	}
}

func one1(name string) ([]string, error) { return []string{name}, nil }

func writeWith(op string, attrs ...*Attr) writeRow {
	return func(x *exporter, _ *ir.Node, in []string) ([]string, error) { return one1(x.emit(op, in, attrs...)) }
}

func writeNot(op string) writeRow {
	return func(x *exporter, _ *ir.Node, in []string) ([]string, error) {
		return one1(x.emit("Not", []string{x.emit(op, in)}))
	}
}

func writeLogic(bools, ints string) writeRow {
	return func(x *exporter, n *ir.Node, in []string) ([]string, error) {
		if n.In[0].DType == ir.Bool {
			return one1(x.emit(bools, in))
		}
		return one1(x.emit(ints, in))
	}
}

func writeCast(x *exporter, n *ir.Node, in []string) ([]string, error) {
	return one1(x.emit("Cast", in, putIntAttr("to", int64(ElemOf(n.Out[0].DType)))))
}

// writeShift writes shifts of unsigned integers, the only ones of ONNX.
func writeShift(direction string) writeRow {
	return func(x *exporter, n *ir.Node, in []string) ([]string, error) {
		if n.In[0].DType.Kind() != ir.KindUint {
			return nil, errNoCounterpart
		}
		return one1(x.emit("BitShift", in, putStrAttr("direction", direction)))
	}
}

// writeMod writes the remainder: on floats ONNX has the one with the sign of x.
func writeMod(fmod int64) writeRow {
	return func(x *exporter, n *ir.Node, in []string) ([]string, error) {
		if n.In[0].DType.IsFloat() && fmod == 0 {
			return nil, errNoCounterpart
		}
		return one1(x.emit("Mod", in, putIntAttr("fmod", fmod)))
	}
}

func writeFull(x *exporter, n *ir.Node, _ []string) ([]string, error) {
	s, o := n.Attr("value").Scalar(), n.Out[0]
	if s.DType != o.DType {
		return nil, fmt.Errorf("a constant of %s in a tensor of %s", s.DType, o.DType)
	}
	v := x.scalar(s.DType, s.Bits)
	if len(o.Shape) == 0 {
		return one1(v)
	}
	return one1(x.emit("Expand", []string{v, x.shape(o.Shape)}))
}

func writeIota(x *exporter, n *ir.Node, _ []string) ([]string, error) {
	o := n.Out[0]
	v := x.emit("Range", []string{x.scalar(ir.I64, 0), x.scalar(ir.I64, uint64(o.Shape.Size())), x.scalar(ir.I64, 1)})
	return one1(x.cast(x.reshape(v, o.Shape), ir.I64, o.DType))
}

func (x *exporter) reshape(v string, shape ir.Shape) string {
	return x.emit("Reshape", []string{v, x.shape(shape)}, putIntAttr("allowzero", 1))
}

// writeAlpha writes an operator with one attribute, if its value is exact in f32.
func writeAlpha(op, from, to string) writeRow {
	return func(x *exporter, n *ir.Node, in []string) ([]string, error) {
		v := n.Attr(from).Float()
		if float64(float32(v)) != v {
			return nil, errNoCounterpart
		}
		return one1(x.emit(op, in, putFloatAttr(to, float32(v))))
	}
}

func axisOf(n *ir.Node) int {
	axis := int(n.Attr("axis").Int)
	if axis < 0 {
		axis += len(n.In[0].Shape)
	}
	return axis
}

func writeAxis(op string) writeRow {
	return func(x *exporter, n *ir.Node, in []string) ([]string, error) {
		if len(n.In[0].Shape) == 0 {
			return nil, fmt.Errorf("%s of a tensor without axes", n.Row.Name)
		}
		return one1(x.emit(op, in, putIntAttr("axis", int64(axisOf(n)))))
	}
}

func writeSlice(x *exporter, n *ir.Node, in []string) ([]string, error) {
	starts, sizes, steps := n.Attr("starts").List, n.Attr("sizes").List, n.Attr("steps").List
	if len(starts) == 0 {
		return one1(x.emit("Identity", in))
	}
	ends, axes := make([]int64, len(starts)), make([]int64, len(starts))
	for i := range starts {
		axes[i] = int64(i)
		ends[i] = starts[i] + sizes[i]*steps[i]
		if sizes[i] == 0 {
			ends[i] = starts[i]
		} else if ends[i] < 0 { // before the first element: negative ends count from the last
			ends[i] = -int64(n.In[0].Shape[i]) - 1
		}
	}
	return one1(x.emit("Slice", []string{in[0], x.ints(starts...), x.ints(ends...), x.ints(axes...), x.ints(steps...)}))
}

func writeReduce(op string) writeRow {
	return func(x *exporter, n *ir.Node, in []string) ([]string, error) {
		from, to := n.In[0].DType, n.Out[0].DType
		if n.Row.Name == "any" || n.Row.Name == "all" {
			if from != ir.Bool {
				return nil, errNoCounterpart
			}
		} else if from != to && (!to.IsInt() || from.IsFloat()) {
			return nil, errNoCounterpart // the mean of integers
		}
		v := x.cast(in[0], from, to)
		switch op {
		case "ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceLogSumExp": // rounded once, at their end
			out, err := x.reduce(op, x.cast(v, to, to.Compute()), n)
			if err == nil {
				out[0] = x.cast(out[0], to.Compute(), to)
			}
			return out, err
		}
		return x.reduce(op, v, n)
	}
}

func (x *exporter) reduce(op, v string, n *ir.Node) ([]string, error) {
	axes := n.Attr("axes").List
	if len(axes) == 0 {
		for i := range n.In[0].Shape {
			axes = append(axes, int64(i))
		}
	}
	if len(axes) == 0 {
		return nil, fmt.Errorf("%s of a tensor without axes", n.Row.Name)
	}
	return one1(x.emit(op, []string{v, x.ints(axes...)}, putBoolAttr("keepdims", n.Attr("keepdims").Bool())))
}

func writeArg(op string) writeRow {
	return func(x *exporter, n *ir.Node, in []string) ([]string, error) {
		return one1(x.emit(op, in, putIntAttr("axis", int64(axisOf(n))), putBoolAttr("keepdims", n.Attr("keepdims").Bool())))
	}
}

func writeCumulative(op string, opset int) writeRow {
	return func(x *exporter, n *ir.Node, in []string) ([]string, error) {
		x.need(opset)
		v := x.cast(in[0], n.In[0].DType, n.Out[0].DType)
		return one1(x.emit(op, []string{v, x.scalar(ir.I64, uint64(axisOf(n)))}))
	}
}

func (x *exporter) topK(n *ir.Node, in []string, k int64, largest bool) ([]string, error) {
	if n.In[0].DType == ir.Bool {
		return nil, errNoCounterpart
	}
	return x.emitN("TopK", 2, []string{in[0], x.ints(k)}, putIntAttr("axis", int64(axisOf(n))), putBoolAttr("largest", largest), putIntAttr("sorted", 1)), nil
}

// tailAxes reports whether axes are the last ones of a rank, and the first of
// them.
func tailAxes(axes []int64, rank int) (int64, bool) {
	list := slices.Clone(axes)
	for i, a := range list {
		if a < 0 {
			list[i] = a + int64(rank)
		}
	}
	slices.Sort(list)
	for i, a := range list {
		if a != int64(rank-len(list)+i) {
			return 0, false
		}
	}
	return int64(rank - len(list)), len(list) > 0
}
