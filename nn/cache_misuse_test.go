package nn_test

import (
	"errors"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
)

// TestCacheMisuse: caches and places that are none are errors of the result.
func TestCacheMisuse(t *testing.T) {
	g := sinter.NewGenerator(1)
	a := nn.NewMultiHeadAttention(g, 8, 2, nn.Causal())
	x := sinter.Ones(sinter.F32, 1, 1, 8)
	at := nn.At(sinter.Scalar(int64(0)))
	good := func() *nn.KVCache { return a.NewCache(1, 4) }
	negative, long := good(), good()
	negative.Length, long.Length = -3, 5
	for what, y := range map[string]*sinter.Tensor{
		"no cache":                a.ForwardCached(x, nil),
		"an empty cache":          a.ForwardCached(x, &nn.KVCache{}),
		"a negative length":       a.ForwardCached(x, negative),
		"a length over the end":   a.ForwardCached(x, long),
		"another batch":           a.ForwardCached(sinter.Ones(sinter.F32, 3, 1, 8), good()),
		"a step without cache":    a.ForwardStep(x, at, nil),
		"a step without a place":  a.ForwardStep(x, nil, good()),
		"a place without":         a.ForwardStep(x, &nn.Place{}, good()),
		"a position with an axis": a.ForwardStep(x, nn.At(sinter.Zeros(sinter.I64, 1)), good()),
		"a position of i32":       a.ForwardStep(x, nn.At(sinter.Scalar(int32(0))), good()),
		"two positions":           a.ForwardStep(sinter.Ones(sinter.F32, 1, 2, 8), at, good()),
	} {
		if err := y.Err(); !errors.Is(err, sinter.ErrShape) && !errors.Is(err, sinter.ErrArgument) {
			t.Errorf("%s: %v", what, err)
		} else {
			t.Log(err)
		}
	}
	if negative.Length != -3 || (*nn.KVCache)(nil).Capacity() != 0 || (*nn.Place)(nil).Position() != nil {
		t.Error("a refused call changes something, or nothing has a capacity")
	}
	if y := a.ForwardStep(x, at, good()); y.Err() != nil {
		t.Error(y.Err())
	}
}
