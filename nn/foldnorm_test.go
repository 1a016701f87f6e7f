package nn_test

import (
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
)

// A model with its batch normalisations folded does at inference what it did
// before, with one layer less for each, also in sequences of sequences.
func TestFoldBatchNorms(t *testing.T) {
	g := sinter.NewGenerator(1)
	block := nn.Sequential{nn.NewConv2d(g, 4, 4, 3, nn.Pad(1), nn.Groups(2), nn.NoBias(), f64), nn.NewBatchNorm(4, f64), nn.ReLU}
	model := nn.Sequential{nn.NewConv2d(g, 2, 4, 3, nn.Stride(2), f64), nn.NewBatchNorm(4, nn.NoAffine(), f64), nn.ReLU, block, nn.NewConv2d(g, 4, 2, 1, f64)}
	for _, l := range model {
		stir(t, l)
	}
	folded, err := nn.FoldBatchNorms(model)
	if err != nil {
		t.Fatal(err)
	}
	x := wave(3, 2, 2, 9, 9)
	same(t, "folded", nn.Forward(nn.Mode{}, folded, x), arrayOf(t, nn.Forward(nn.Mode{}, model, x)))
	if s := folded.(nn.Sequential); len(s) != 4 || len(s[2].(nn.Sequential)) != 2 {
		t.Errorf("the layers are %v", folded)
	}
	if _, err := nn.FoldBatchNorm(nn.NewConv2d(g, 2, 4, 3), nn.NewBatchNorm(3)); err == nil || !strings.Contains(err.Error(), "4 channels before batch normalisation of 3") {
		t.Errorf("got %v", err)
	}
	if _, err := nn.FoldBatchNorm(&nn.Conv{}, nn.NewBatchNorm(3)); err == nil {
		t.Error("an empty layer is no error")
	}
}
