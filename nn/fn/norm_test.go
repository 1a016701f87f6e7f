package fn_test

import (
	"math"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn/fn"
)

// normModel normalises groups of elements; group and channel give the number of
// an element's group and of its entry in gamma and beta.
func normModel(x, gamma, beta host, eps float64, rms bool, group, channel func(i []int) int) host {
	sum, squares, n := map[int]float64{}, map[int]float64{}, map[int]float64{}
	each(x.shape, func(i []int) { sum[group(i)] += x.at(i...); n[group(i)]++ })
	mean := func(g int) float64 {
		if rms {
			return 0
		}
		return sum[g] / n[g]
	}
	each(x.shape, func(i []int) { d := x.at(i...) - mean(group(i)); squares[group(i)] += d * d })
	y := blank(x.shape...)
	each(x.shape, func(i []int) {
		g := group(i)
		v := (x.at(i...) - mean(g)) / math.Sqrt(squares[g]/n[g]+eps) * gamma.v[channel(i)]
		if !rms {
			v += beta.v[channel(i)]
		}
		y.v[y.index(i)] = v
	})
	return y
}

func TestNorms(t *testing.T) {
	x := random(1, 3, 4, 5, 2)
	wide, wideB, per, perB := random(2, 5, 2), random(3, 5, 2), random(4, 4), random(5, 4)
	last := func(i []int) int { return i[2]*2 + i[3] }
	channel := func(i []int) int { return i[1] }
	for _, c := range []struct {
		name        string
		f           func(in ...*sinter.Tensor) *sinter.Tensor
		gamma, beta host
		rms         bool
		group, at   func(i []int) int
	}{
		{"layer", func(in ...*sinter.Tensor) *sinter.Tensor { return fn.LayerNorm(in[0], in[1], in[2], 1e-3) }, wide, wideB, false,
			func(i []int) int { return i[0]*4 + i[1] }, last},
		{"rms", func(in ...*sinter.Tensor) *sinter.Tensor { return fn.RMSNorm(in[0], in[1], 1e-3) }, wide, wideB, true,
			func(i []int) int { return i[0]*4 + i[1] }, last},
		{"group", func(in ...*sinter.Tensor) *sinter.Tensor { return fn.GroupNorm(in[0], 2, in[1], in[2], 1e-3) }, per, perB, false,
			func(i []int) int { return i[0]*2 + i[1]/2 }, channel},
		{"instance", func(in ...*sinter.Tensor) *sinter.Tensor { return fn.InstanceNorm(in[0], in[1], in[2], 1e-3) }, per, perB, false,
			func(i []int) int { return i[0]*4 + i[1] }, channel},
		{"batch", func(in ...*sinter.Tensor) *sinter.Tensor {
			y, _, _ := fn.BatchNorm(in[0], in[1], in[2], 1e-3)
			return y
		}, per, perB, false,
			channel, channel},
		{"batch by its statistics", func(in ...*sinter.Tensor) *sinter.Tensor {
			_, m, v := fn.BatchNorm(in[0], nil, nil, 1e-3)
			return fn.BatchNormWith(in[0], m, v, in[1], in[2], 1e-3)
		}, per, perB, false, channel, channel},
	} {
		both(t, c.name, c.f, normModel(x, c.gamma, c.beta, 1e-3, c.rms, c.group, c.at), x, c.gamma, c.beta)
	}
	// Without gamma and beta; a constant row gives beta.
	row := vector(3, 3, 3, 3)
	equal(t, "constant", fn.LayerNorm(row.tensor(), nil, nil, 1e-5), vector(0, 0, 0, 0), 0)
	equal(t, "rms of zeros", fn.RMSNorm(blank(4).tensor(), nil, 1e-5), blank(4), 0)
	long := random(7, 3, 3000)
	ones, zero := blank(3000), blank(3000)
	for i := range ones.v {
		ones.v[i] = 1
	}
	both(t, "long rows", func(in ...*sinter.Tensor) *sinter.Tensor { return fn.LayerNorm(in[0], nil, nil, 1e-5) },
		normModel(long, ones, zero, 1e-5, false, func(i []int) int { return i[0] }, func(i []int) int { return i[1] }), long)
	if fn.GroupNorm(x.tensor(), 3, nil, nil, 1e-5).Err() == nil || fn.LayerNorm(x.tensor(), per.tensor(), nil, 1e-5).Err() == nil {
		t.Error("groups or a gamma that do not fit are no errors")
	}
}

func TestRunningStats(t *testing.T) {
	x := random(1, 3, 2, 4)
	_, m, v := fn.BatchNorm(x.tensor(), nil, nil, 1e-5)
	rm, rv := fn.RunningStats(sinter.Zeros(sinter.F64, 2), sinter.Ones(sinter.F64, 2), m, v, 12, 0.1)
	mean, variance := data(t, m), data(t, v)
	for i := range mean {
		mean[i] *= 0.1
		variance[i] = 0.9 + 0.1*variance[i]*12/11
	}
	equal(t, "mean", rm, vector(mean...), 1e-15)
	equal(t, "variance", rv, vector(variance...), 1e-15)
}

func TestNormGradients(t *testing.T) {
	x := random(1, 2, 4, 3)
	gradients(t, "group", func(in ...*sinter.Tensor) *sinter.Tensor { return fn.GroupNorm(in[0], 2, in[1], in[2], 0.1) }, x, random(2, 4), random(3, 4))
	gradients(t, "batch", func(in ...*sinter.Tensor) *sinter.Tensor { y, _, _ := fn.BatchNorm(in[0], in[1], in[2], 0.1); return y }, x, random(2, 4), random(3, 4))
	gradients(t, "rms", func(in ...*sinter.Tensor) *sinter.Tensor { return fn.RMSNorm(in[0], in[1], 0.1) }, x, random(2, 3))
}
