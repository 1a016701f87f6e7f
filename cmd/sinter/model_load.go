package main

import (
	"errors"
	"io/fs"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/onnx"
)

// modelFlags name a model and where it runs.
type modelFlags struct {
	deviceFlags
	Model string `arg:"" help:"ONNX model file."`
}

// load reads the model and opens the device. The function returned closes it.
func (f *modelFlags) load() (*onnx.Model, *sinter.Device, func(), error) {
	m, err := loadModel(f.Model)
	if err != nil {
		return nil, nil, nil, err
	}
	dev, closeDevice, err := f.open()
	return m, dev, closeDevice, err
}

func loadModel(path string) (*onnx.Model, error) {
	m, err := onnx.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usage("there is no model %s", path)
	}
	return m, err
}

// modelInput is an input that a program takes.
type modelInput struct {
	*onnx.ValueInfo
	optional bool
}

func modelInputs(p *onnx.Program) []modelInput {
	var out []modelInput
	for _, v := range p.Inputs() {
		out = append(out, modelInput{v, p.Optional(v.Name)})
	}
	return out
}
