package onnx

import (
	"fmt"
	"math"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

func init() {
	exported["attention"], exported["attention_bias"] = writeAttention, writeAttention
}

// writeAttention writes attention without its statistic, which ONNX lacks. A query
// that sees less than ONNX's causal attention lets it see gets a mask.
func writeAttention(x *exporter, n *ir.Node, in []string) ([]string, error) {
	if x.live[n.Out[1].ID] {
		return nil, fmt.Errorf("ONNX has no operator that gives lse")
	}
	scale := n.Attr("scale").Float()
	if float64(float32(scale)) != scale {
		return nil, fmt.Errorf("the scale %v is no f32, as attributes are", scale)
	}
	q, k, v := n.In[0].Shape, n.In[1].Shape, n.In[2].Shape
	r := len(q)
	batch := q[:r-3].Size()
	four := func(i int, s ir.Shape) string {
		if r == 4 {
			return in[i]
		}
		return x.reshape(in[i], append(ir.Shape{batch}, s[r-3:]...))
	}
	inputs := []string{four(0, q), four(1, k), four(2, v)}
	l, s := q[r-2], k[r-2]
	var attrs []*Attr
	if scale != 0 {
		attrs = append(attrs, putFloatAttr("scale", float32(scale)))
	}
	mask := ""
	causal, window := n.Attr("causal").Bool(), int(n.Attr("window").Int)
	if causal && window == 0 && l == s {
		attrs = append(attrs, putIntAttr("is_causal", 1))
	} else if causal || window > 0 {
		if l*s > maxTable {
			return nil, fmt.Errorf("the mask of %d queries and %d keys would have %d elements; at most %d are written", l, s, l*s, maxTable)
		}
		table := make([]byte, l*s)
		for i := range table {
			at, j := i/s+s-l, i%s
			if !(causal && j > at || window > 0 && j <= at-window) {
				table[i] = 1
			}
		}
		mask = x.constant(ir.Bool, []int{l, s}, table)
	}
	if len(in) > 3 {
		bias, shape := in[3], n.In[3].Shape
		switch {
		case r != 4:
			scores := append(q[:r-1].Clone(), s)
			bias = x.reshape(x.broadcastTo(bias, shape, scores), append(ir.Shape{batch}, scores[r-3:]...))
		case len(shape) == 0 || shape[len(shape)-1] != s: // a short last axis is padding to ONNX
			bias = x.broadcastTo(bias, shape, append(slices.Clone(shape[:max(0, len(shape)-1)]), s))
		}
		if mask != "" {
			bias = x.emit("Where", []string{mask, bias, x.scalar(n.In[3].DType, ir.MakeScalar(n.In[3].DType, math.Inf(-1)).Bits)})
		}
		mask = bias
	}
	if mask != "" {
		inputs = append(inputs, mask)
	}
	x.need(23)
	y := x.emit("Attention", inputs, attrs...)
	if r != 4 {
		y = x.reshape(y, n.Out[0].Shape)
	}
	return []string{y, ""}, nil
}
