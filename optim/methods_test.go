package optim_test

import (
	"math"

	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
)

// method is an optimizer and its paper's formula in float64 for one parameter of
// some rows and columns: next changes p by the gradient g at step t, from 1.
type method struct {
	make func(p []nn.Named) optim.Optimizer
	next func() func(t int, p, g []float64, rows, columns int)
}

// each makes a method of a rule for one element with a state of n numbers.
func each(n int, rule func(t int, p, g float64, s []float64) float64) func() func(int, []float64, []float64, int, int) {
	return func() func(int, []float64, []float64, int, int) {
		var state [][]float64
		return func(t int, p, g []float64, _, _ int) {
			for len(state) < len(p) {
				state = append(state, make([]float64, n))
			}
			for i := range p {
				p[i] = rule(t, p[i], g[i], state[i])
			}
		}
	}
}

func euclid(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v * v
	}
	return math.Sqrt(s)
}

func moments(t int, g float64, s []float64, b1, b2 float64) (m, v float64) {
	s[0] = b1*s[0] + (1-b1)*g
	s[1] = b2*s[1] + (1-b2)*g*g
	return s[0] / (1 - math.Pow(b1, float64(t))), s[1] / (1 - math.Pow(b2, float64(t)))
}

var methods = map[string]method{
	"lion": {
		func(p []nn.Named) optim.Optimizer { return optim.NewLion(p, optim.Constant(0.01), 0.3) },
		each(1, func(_ int, p, g float64, s []float64) float64 {
			c := 0.9*s[0] + 0.1*g
			s[0] = 0.99*s[0] + 0.01*g
			sign := 0.0
			if c != 0 {
				sign = math.Copysign(1, c)
			}
			return p - 0.01*(sign+0.3*p)
		}),
	},
	"rmsprop": {
		func(p []nn.Named) optim.Optimizer {
			return optim.NewRMSProp(p, optim.Constant(0.01), 0, false)
		},
		each(1, func(_ int, p, g float64, s []float64) float64 {
			s[0] = 0.99*s[0] + 0.01*g*g
			return p - 0.01*g/(math.Sqrt(s[0])+1e-8)
		}),
	},
	"rmsprop, centred, momentum, decay": {
		func(p []nn.Named) optim.Optimizer {
			o := optim.NewRMSProp(p, optim.Constant(0.01), 0.9, true)
			o.WeightDecay, o.Epsilon = 0.1, 1e-3
			return o
		},
		each(3, func(_ int, p, g float64, s []float64) float64 {
			g += 0.1 * p
			s[0] = 0.99*s[0] + 0.01*g*g
			s[1] = 0.99*s[1] + 0.01*g
			s[2] = 0.9*s[2] + g/(math.Sqrt(s[0]-s[1]*s[1])+1e-3)
			return p - 0.01*s[2]
		}),
	},
	"adagrad": {
		func(p []nn.Named) optim.Optimizer {
			o := optim.NewAdagrad(p, optim.Constant(0.1), 0.5)
			o.WeightDecay = 0.1
			return o
		},
		each(1, func(t int, p, g float64, s []float64) float64 {
			if t == 1 {
				s[0] = 0.5
			}
			g += 0.1 * p
			s[0] += g * g
			return p - 0.1*g/(math.Sqrt(s[0])+1e-10)
		}),
	},
	"adadelta": {
		func(p []nn.Named) optim.Optimizer { return optim.NewAdadelta(p, optim.Constant(1)) },
		each(2, func(_ int, p, g float64, s []float64) float64 {
			s[0] = 0.9*s[0] + 0.1*g*g
			d := math.Sqrt(s[1]+1e-6) / math.Sqrt(s[0]+1e-6) * g
			s[1] = 0.9*s[1] + 0.1*d*d
			return p - d
		}),
	},
	"nadam": {
		func(p []nn.Named) optim.Optimizer {
			o := optim.NewNAdam(p, optim.Constant(0.1))
			o.WeightDecay = 0.2
			return o
		},
		each(2, func(t int, p, g float64, s []float64) float64 {
			_, v := moments(t, g, s, 0.9, 0.999)
			n := 0.9*s[0]/(1-math.Pow(0.9, float64(t+1))) + 0.1*g/(1-math.Pow(0.9, float64(t)))
			return p - 0.1*0.2*p - 0.1*n/(math.Sqrt(v)+1e-8)
		}),
	},
	"lamb": {
		func(p []nn.Named) optim.Optimizer { return optim.NewLAMB(p, optim.Constant(0.1), 0.3) },
		func() func(int, []float64, []float64, int, int) {
			var state [][]float64
			return func(t int, p, g []float64, _, _ int) {
				u := make([]float64, len(p))
				for i := range p {
					if len(state) <= i {
						state = append(state, make([]float64, 2))
					}
					m, v := moments(t, g[i], state[i], 0.9, 0.999)
					u[i] = m/(math.Sqrt(v)+1e-6) + 0.3*p[i]
				}
				ratio := euclid(p) / euclid(u)
				for i := range p {
					p[i] -= 0.1 * ratio * u[i]
				}
			}
		},
	},
	"muon": {
		func(p []nn.Named) optim.Optimizer {
			return optim.NewMuon(p, optim.Constant(0.02), optim.Constant(0.1), 0.1, nil)
		},
		muon,
	},
}

func muon() func(t int, p, g []float64, rows, columns int) {
	var m, v []float64
	return func(t int, p, g []float64, rows, columns int) {
		if m == nil {
			m, v = make([]float64, len(p)), make([]float64, len(p))
		}
		if columns == 0 { // a vector: AdamW
			for i := range p {
				s := []float64{m[i], v[i]}
				mt, vt := moments(t, g[i], s, 0.9, 0.95)
				m[i], v[i] = s[0], s[1]
				p[i] -= 0.1*0.1*p[i] + 0.1*mt/(math.Sqrt(vt)+1e-10)
			}
			return
		}
		x := make([]float64, len(p))
		for i := range p {
			m[i] = 0.95*m[i] + 0.05*g[i]
			x[i] = 0.95*m[i] + 0.05*g[i]
		}
		norm := euclid(x) + 1e-7
		for i := range x {
			x[i] /= norm
		}
		for range 5 { // on X·Xᵀ·X, whatever the shape
			y := product(gram(x, rows, columns), x, rows, rows, columns)
			z := product(gram(x, rows, columns), y, rows, rows, columns)
			for i := range x {
				x[i] = 3.4445*x[i] - 4.7750*y[i] + 2.0315*z[i]
			}
		}
		scale := math.Sqrt(max(1, float64(rows)/float64(columns)))
		for i := range p {
			p[i] -= 0.02*0.1*p[i] + 0.02*scale*x[i]
		}
	}
}

func product(a, b []float64, n, k, m int) []float64 {
	c := make([]float64, n*m)
	for i := range n {
		for j := range m {
			for l := range k {
				c[i*m+j] += a[i*k+l] * b[l*m+j]
			}
		}
	}
	return c
}

func gram(x []float64, n, m int) []float64 {
	c := make([]float64, n*n)
	for i := range n {
		for j := range n {
			for l := range m {
				c[i*n+j] += x[i*m+l] * x[j*m+l]
			}
		}
	}
	return c
}
