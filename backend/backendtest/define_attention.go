package backendtest

import (
	"math"

	"github.com/sinter-go/sinter/ir"
)

// attention is the model of attention and its gradients in float64: for each query
// the scores, as they are and as magnitudes.
type attention struct {
	x                           *testCase
	q, k, v, bias, dy, lse, sum host
	heads, group, l, s, d, e    int
	scale                       float64
	finite                      bool
}

func newAttention(x *testCase, in []host) *attention {
	q, v := in[0].typ.Shape, in[2].typ.Shape
	n := len(q)
	m := &attention{x: x, q: in[0], k: in[1], v: in[2], heads: q[n-3], group: q[n-3] / max(v[n-3], 1), l: q[n-2], s: v[n-2], d: q[n-1], e: v[n-1], finite: true}
	m.scale = ir.AttentionScale(x.row.Attr(x.attrs, "scale").Float(), m.d)
	if len(in) > 3 {
		m.bias = in[3].spread(append(q[:n-1].Clone(), m.s))
	}
	if len(in) > 4 {
		m.dy, m.lse, m.sum = in[4], in[5], in[6]
	}
	for _, h := range in {
		for i := range h.bits {
			m.finite = m.finite && !math.IsNaN(h.float(i)) && !math.IsInf(h.float(i), 0)
		}
	}
	return m
}

// shared is the head of keys of a head of queries, both counted over batches.
func (m *attention) shared(h int) int { return h/m.heads*(m.heads/m.group) + h%m.heads/m.group }

func (m *attention) sees(i, j int) bool {
	at := i + m.s - m.l
	w := int(m.x.row.Attr(m.x.attrs, "window").Int)
	return !(m.x.row.Attr(m.x.attrs, "causal").Bool() && j > at || w > 0 && j <= at-w)
}

// score is that of query i of head h and key j, and the sum of the magnitudes.
func (m *attention) score(h, i, j int) (v, size float64) {
	for c := range m.d {
		p := m.q.float((h*m.l+i)*m.d+c) * m.k.float((m.shared(h)*m.s+j)*m.d+c) * m.scale
		v, size = v+p, size+math.Abs(p)
	}
	if m.bias.bits != nil {
		b := m.bias.float((h*m.l+i)*m.s + j)
		v, size = v+b, size+math.Abs(b)
	}
	return v, size
}

// summed is values with their tolerances: the precision times size.
type summed struct {
	m         *attention
	val, size []float64
}

func (m *attention) summed(t ir.Type) *summed {
	return &summed{m, make([]float64, t.Shape.Size()), make([]float64, t.Shape.Size())}
}

func (r *summed) add(i int, v, size float64) { r.val[i], r.size[i] = r.val[i]+v, r.size[i]+size }

func (r *summed) expected(d ir.DType) expected {
	eps, tol := r.m.x.precision()
	if t := r.m.q.typ.DType; r.m.x.units && d == t && t.Size() == 2 { // which round weights to the operands' dtype
		eps, tol = ulp(t, 1), 0.5
	}
	e := expected{val: r.val, tol: r.size}
	for i, size := range r.size {
		e.tol[i] = tol*eps*size + 2*ulp(d, r.val[i])
		if !r.m.finite || size > 0.01*largest(d) {
			e.tol[i] = math.NaN()
		}
	}
	return e
}

func defineAttention(x *testCase, in []host) []expected {
	m := newAttention(x, in)
	y, lse := m.summed(x.out[0]), m.summed(x.out[1])
	for row := range m.q.typ.Shape[:len(m.q.typ.Shape)-1].Size() {
		h, i := row/m.l, row%m.l
		top, most := math.Inf(-1), 0.0
		scores := make([]float64, m.s)
		for j := range scores {
			v, size := m.score(h, i, j)
			if scores[j] = math.Inf(-1); m.sees(i, j) {
				scores[j], most = v, max(most, size)
			}
			top = max(top, scores[j])
		}
		l := 0.0
		for j, v := range scores {
			if !math.IsInf(v, -1) {
				scores[j] = math.Exp(v - top)
				l += scores[j]
			}
		}
		lse.val[row], lse.size[row] = top+math.Log(l), most+1+math.Log(l+1)
		for j, p := range scores {
			for c := range m.e {
				if m.sees(i, j) {
					v := p / l * m.v.float((m.shared(h)*m.s+j)*m.e+c)
					y.add(row*m.e+c, v, math.Abs(v)*(2+2*most))
				}
			}
		}
	}
	return []expected{y.expected(x.out[0].DType), lse.expected(x.out[1].DType)}
}

// each calls f for each pair of a query and a key that it sees: with its weight p,
// the gradient of the score, and their sizes.
func (m *attention) each(f func(h, i, j int, p, ds, pSize, dsSize float64)) {
	for row := range m.q.typ.Shape[:len(m.q.typ.Shape)-1].Size() {
		h, i := row/m.l, row%m.l
		for j := range m.s {
			if !m.sees(i, j) {
				continue
			}
			v, size := m.score(h, i, j)
			lse, delta := m.lse.float(row), m.sum.float(row)
			p := math.Exp(v - lse)
			dp, dpSize := 0.0, 0.0
			for c := range m.e {
				a := m.dy.float(row*m.e+c) * m.v.float((m.shared(h)*m.s+j)*m.e+c)
				dp, dpSize = dp+a, dpSize+math.Abs(a)
			}
			pSize := (p + math.Ldexp(1, -126)) * (2 + size + math.Abs(lse))
			f(h, i, j, p, p*(dp-delta), pSize, pSize*(dpSize+math.Abs(delta)+math.Ldexp(1, -126)))
		}
	}
}

func defineAttentionQ(x *testCase, in []host) []expected {
	m := newAttention(x, in)
	dq := m.summed(x.out[0])
	m.each(func(h, i, j int, _, ds, _, size float64) {
		for c := range m.d {
			k := m.k.float((m.shared(h)*m.s+j)*m.d + c)
			dq.add((h*m.l+i)*m.d+c, ds*k*m.scale, size*math.Abs(k)*(1+m.scale))
		}
	})
	return []expected{dq.expected(x.out[0].DType)}
}

func defineAttentionKV(x *testCase, in []host) []expected {
	m := newAttention(x, in)
	dk, dv := m.summed(x.out[0]), m.summed(x.out[1])
	m.each(func(h, i, j int, p, ds, pSize, dsSize float64) {
		for c := range m.d {
			q := m.q.float((h*m.l+i)*m.d + c)
			dk.add((m.shared(h)*m.s+j)*m.d+c, ds*q*m.scale, dsSize*math.Abs(q)*(1+m.scale))
		}
		for c := range m.e {
			dy := m.dy.float((h*m.l+i)*m.e + c)
			dv.add((m.shared(h)*m.s+j)*m.e+c, p*dy, pSize*math.Abs(dy))
		}
	})
	return []expected{dk.expected(x.out[0].DType), dv.expected(x.out[1].DType)}
}

func defineAttentionBias(x *testCase, in []host) []expected {
	m := newAttention(x, in)
	db := m.summed(x.out[0])
	// Which element of the bias each score has.
	place := newHost(in[3].typ)
	for i := range place.bits {
		place.bits[i] = uint64(i)
	}
	place = place.spread(m.bias.typ.Shape)
	m.each(func(h, i, j int, _, ds, _, size float64) {
		db.add(int(place.bits[(h*m.l+i)*m.s+j]), ds, size)
	})
	return []expected{db.expected(x.out[0].DType)}
}

func init() {
	// Lengths around the edges of blocks, heads that share keys, nothing at all.
	type sizes struct{ batch, heads, shared, l, s, d, e int }
	for i, z := range []sizes{{1, 1, 1, 70, 130, 9, 17}, {2, 2, 2, 64, 64, 16, 16}, {1, 6, 2, 1, 200, 8, 5}, {1, 2, 1, 65, 3, 4, 2}, {1, 2, 2, 1, 130, 20, 6},
		{2, 1, 1, 3, 0, 4, 2}, {1, 2, 2, 0, 5, 4, 2}, {1, 1, 1, 3, 5, 0, 2}, {1, 1, 1, 3, 5, 2, 0}, {0, 2, 1, 3, 4, 2, 2}, {1, 1, 1, 1, 1, 1, 1}} {
		q := ir.Shape{z.batch, z.heads, z.l, z.d}
		base := []ir.Shape{q, {z.batch, z.shared, z.s, z.d}, {z.batch, z.shared, z.s, z.e}}
		attrs := [][]ir.Named{nil, ir.A("causal", true), ir.A("causal", true, "window", 40, "scale", 0.4)}[i%3]
		extraCalls["attention"] = append(extraCalls["attention"], call{shapes: base, attrs: attrs, edge: i > 2})
		for k, bias := range []ir.Shape{{z.batch, 1, 1, z.s}, {z.l, z.s}, {}, {z.heads, 1, 1}, {z.batch, 1, z.l, 1}} {
			biased := append(base[:3:3], bias)
			extraCalls["attention_bias"] = append(extraCalls["attention_bias"], call{shapes: biased, attrs: attrs, edge: true})
			grads := append(biased, ir.Shape{z.batch, z.heads, z.l, z.e}, q[:3], q[:3])
			for _, name := range []string{"attention_grad_q", "attention_grad_kv", "attention_grad_bias"} {
				if k < 2 || name == "attention_grad_bias" {
					extraCalls[name] = append(extraCalls[name], call{shapes: grads, attrs: attrs, edge: true})
				}
			}
		}
	}
}
