package ir

import "math"

// Attention and its gradients: recurrences over blocks of keys, which package
// kernel/attend defines and computes. No row stores the scores.

func init() {
	qkv := []Operand{{"q", FloatClass, Moderate}, {"k", FloatClass, Moderate}, {"v", FloatClass, Moderate}}
	biased := append(qkv[:3:3], Operand{"bias", FloatClass, Moderate})
	backward := append(biased[:4:4], Operand{"dy", FloatClass, Moderate}, Operand{"lse", FloatClass, Moderate}, Operand{"delta", FloatClass, Moderate})
	attrs := []AttrSpec{{Name: "causal", Kind: AttrBool, Default: false}, {Name: "scale", Kind: AttrFloat, Default: 0.0},
		{Name: "window", Kind: AttrInt, Default: 0}}
	tol := Tolerance{F32: 64, F64: 64}
	grouped := []Shape{{2, 2, 3, 4}, {2, 1, 5, 4}, {2, 1, 5, 3}}
	gradSamples := func() []Sample {
		more := func(bias Shape) []Shape {
			return append(grouped[:3:3], bias, Shape{2, 2, 3, 3}, Shape{2, 2, 3}, Shape{2, 2, 3})
		}
		return []Sample{{Shapes: more(Shape{}), Attrs: A("causal", true)}, {Shapes: more(Shape{2, 3, 5}), Attrs: A("scale", 0.3)},
			{Shapes: more(Shape{2, 1, 1, 5}), Attrs: A("window", 2)}}
	}
	const given = "of attention with bias, for the gradient dy of y, the result lse, and delta, the sum of dy·y over the last axis less the gradient of lse"
	register(
		&Row{Name: "attention", Number: 441, Version: 2, Access: Recurrence,
			Doc: "y = softmax of (q·kᵀ · scale) over the keys, times v, for q [..., heads, l, d], k [..., h, s, d] and v [..., h, s, e]; heads is a " +
				"multiple of h, and neighbouring heads share keys; a scale of 0 means 1/sqrt(d); query i is at position i + s - l of the keys, causal " +
				"hides the keys after it, and a window above 0 those that lie as many or more before it. A query without keys gives 0; " +
				"hidden keys take no part. lse is the logarithm of the sum of the exponentials of the scores.",
			Operands: qkv, Attrs: attrs, Results: []string{"y", "lse"}, Infer: inferAttention, GradFunc: gradAttention, Tol: tol,
			Samples: []Sample{{Shapes: grouped, Attrs: A("causal", true)}, {Shapes: []Shape{{1, 2, 3}, {1, 4, 3}, {1, 4, 2}}, Attrs: A("window", 2, "scale", 0.5)}}},
		&Row{Name: "attention_bias", Number: 442, Version: 2, Access: Recurrence,
			Doc:      "attention whose scores, scaled, get bias added, which broadcasts to [..., heads, l, s]; a bias of -inf hides a key.",
			Operands: biased, Attrs: attrs, Results: []string{"y", "lse"}, Infer: inferAttention, GradFunc: gradAttention, Tol: tol,
			Samples: []Sample{{Shapes: []Shape{{2, 2, 3, 4}, {2, 2, 5, 4}, {2, 2, 5, 3}, {3, 5}}},
				{Shapes: append(grouped[:3:3], Shape{2, 1, 1, 5}), Attrs: A("causal", true)}}},
		&Row{Name: "attention_grad_q", Number: 443, Version: 1, Access: Recurrence, Doc: "dq = the gradient of q " + given + ".",
			Operands: backward, Attrs: attrs, Results: []string{"dq"}, Infer: inferAttentionGrad, GradFunc: gradAttentionQ, Tol: tol, Samples: gradSamples()},
		&Row{Name: "attention_grad_kv", Number: 444, Version: 1, Access: Recurrence, Doc: "dk, dv = the gradients of k and v " + given + ".",
			Operands: backward, Attrs: attrs, Results: []string{"dk", "dv"}, Infer: inferAttentionGrad, GradFunc: gradAttentionKV, Tol: tol, Samples: gradSamples()},
		&Row{Name: "attention_grad_bias", Number: 445, Version: 1, Access: Recurrence, Doc: "dbias = the gradient of bias, in its shape, " + given + ".",
			Operands: backward, Attrs: attrs, Results: []string{"dbias"}, Infer: inferAttentionGrad, GradFunc: gradAttentionBias, Tol: tol, Samples: gradSamples()},
	)
}

func inferAttention(r *Row, in []Type, a Attrs) ([]Type, error) {
	q, k, v := in[0].Shape, in[1].Shape, in[2].Shape
	n := len(q)
	for i, t := range in[1:min(4, len(in))] {
		if t.DType != in[0].DType {
			return nil, Errorf(ErrDType, "q is %s but %s is %s", in[0].DType, r.OperandAt(i+1).Name, t.DType)
		}
	}
	if n < 3 || n > MaxRank-1 || len(k) != n || len(v) != n {
		return nil, Errorf(ErrShape, "q, k and v have shapes %v, %v, %v, expected [..., heads, length, width] of one rank up to %d", q, k, v, MaxRank-1)
	}
	if !k[:n-1].Equal(v[:n-1]) || !q[:n-3].Equal(k[:n-3]) || q[n-1] != k[n-1] || k[n-3] == 0 || q[n-3]%k[n-3] != 0 {
		return nil, Errorf(ErrShape, "q %v, k %v and v %v do not fit: leading extents and the widths of q and k agree, k and v agree but for their width, "+
			"and the heads of q are a multiple of those of k", q, k, v)
	}
	if w := r.Attr(a, "window").Int; w < 0 {
		return nil, Errorf(ErrArgument, "window %d: expected 0, for none, or the number of keys that a query sees", w)
	}
	if len(in) > 3 {
		scores := append(q[:n-1].Clone(), k[n-2])
		if s, err := Broadcast(scores, in[3].Shape); err != nil || !s.Equal(scores) {
			return nil, Errorf(ErrShape, "bias has shape %v, which does not broadcast to the scores' %v", in[3].Shape, scores)
		}
	}
	out := q.Clone()
	out[n-1] = v[n-1]
	return []Type{{in[0].DType, out}, {in[0].DType.Compute(), q[:n-1].Clone()}}, nil
}

// inferAttentionGrad: the results have the types of the operands whose gradients
// they are. Statistics may be of the dtype of q, or that in which it computes.
func inferAttentionGrad(r *Row, in []Type, a Attrs) ([]Type, error) {
	out, err := inferAttention(r, in[:4], a)
	if err != nil {
		return nil, err
	}
	y, stat := out[0], out[1]
	if !in[4].Equal(y) {
		return nil, Errorf(ErrShape, "dy is %v, expected %v as y", in[4], y)
	}
	for i, t := range in[5:] {
		if !t.Shape.Equal(stat.Shape) || t.DType != stat.DType && t.DType != y.DType {
			return nil, Errorf(ErrShape, "%s is %v, expected %v", r.Operands[5+i].Name, t, stat)
		}
	}
	switch r.Results[0] {
	case "dq":
		return in[:1:1], nil
	case "dk":
		return in[1:3:3], nil
	}
	return in[3:4:4], nil
}

// AttentionScale is the scale of scores, 1/sqrt(width) if none is given.
func AttentionScale(scale float64, width int) float64 {
	if scale == 0 && width > 0 {
		return 1 / math.Sqrt(float64(width))
	}
	return scale
}
