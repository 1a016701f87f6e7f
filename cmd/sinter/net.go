package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/safetensors"
)

// The data that the network is for.
const (
	features = 64 // pixels of a digit, row by row
	side     = 8
	classes  = 10
	darkest  = 16 // pixel values are 0 to 16
)

// Limits of --hidden.
const (
	maxWidth  = 4096
	maxLayers = 8
)

// net is the network that is trained: linear layers with ReLU between them. In
// files its parameters are layers.0.weight, layers.0.bias, layers.2.weight, …
type net struct {
	Layers nn.Sequential
	hidden []int
}

// newNet makes a network with initial weights that depend on the seed alone.
func newNet(d *sinter.Device, seed uint64, hidden []int) *net {
	g := sinter.NewGenerator(seed)
	n := &net{hidden: hidden}
	in := features
	for _, width := range hidden {
		n.Layers = append(n.Layers, nn.NewLinear(g, in, width, nn.On(d)), nn.ReLU)
		in = width
	}
	n.Layers = append(n.Layers, nn.NewLinear(g, in, classes, nn.On(d)))
	return n
}

// Forward returns logits [batch, 10] of pixels [batch, 64] from 0 to 1.
func (n *net) Forward(x *sinter.Tensor) *sinter.Tensor { return n.ForwardMode(nn.Mode{}, x) }

// ForwardMode is Forward in a mode.
func (n *net) ForwardMode(m nn.Mode, x *sinter.Tensor) *sinter.Tensor {
	return n.Layers.ForwardMode(m, x)
}

// shape describes the network: 64-128-64-10.
func (n *net) shape() string {
	s := strconv.Itoa(features)
	for _, w := range n.hidden {
		s += "-" + strconv.Itoa(w)
	}
	return s + "-" + strconv.Itoa(classes)
}

// Metadata of model files and checkpoints.
const (
	keyModel  = "sinter.model"
	keyHidden = "sinter.hidden"
	modelName = "digits-mlp/1"
)

// metadata is what a file says about the network.
func (n *net) metadata() map[string]string {
	return map[string]string{keyModel: modelName, keyHidden: formatHidden(n.hidden)}
}

// loadNet makes a network of the form and values of a model file.
func loadNet(d *sinter.Device, path string) (*net, error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	m := f.Metadata()
	if err := f.Close(); err != nil {
		return nil, err
	}
	if m[keyModel] != modelName {
		return nil, fmt.Errorf("%s is not a model that \"sinter train\" saved: its %q is %q, expected %q", path, keyModel, m[keyModel], modelName)
	}
	hidden, err := parseHidden(m[keyHidden])
	if err != nil {
		return nil, fmt.Errorf("%s: %q: %w", path, keyHidden, err)
	}
	n := newNet(d, 0, hidden)
	if _, err := nn.Load(path, n); err != nil {
		return nil, err
	}
	return n, nil
}

func formatHidden(hidden []int) string {
	s := make([]string, len(hidden))
	for i, w := range hidden {
		s[i] = strconv.Itoa(w)
	}
	return strings.Join(s, ",")
}

// parseHidden reads widths such as "128,64"; none is a network without hidden
// layers.
func parseHidden(s string) ([]int, error) {
	if s == "" {
		return nil, nil
	}
	var hidden []int
	for _, part := range strings.Split(s, ",") {
		w, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("%q is not a width, expected numbers such as 128,64", part)
		}
		hidden = append(hidden, w)
	}
	return hidden, checkHidden(hidden)
}

func checkHidden(hidden []int) error {
	if len(hidden) > maxLayers {
		return fmt.Errorf("%d layers, expected at most %d", len(hidden), maxLayers)
	}
	for _, w := range hidden {
		if w < 1 || w > maxWidth {
			return fmt.Errorf("width %d, expected 1 to %d", w, maxWidth)
		}
	}
	return nil
}

var errNoModel = errors.New("run \"sinter train\" to make one, or name another with --model")
