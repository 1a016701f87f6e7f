package main

import (
	"bytes"
	"fmt"
	"image"
	"os"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/onnx"
)

// pictureFlags say how pictures become inputs.
type pictureFlags struct {
	Resize    string `name:"resize" placeholder:"WxH" help:"Scale pictures to this size. (default: what the model takes, else their own)"`
	Crop      bool   `name:"crop" help:"Cut off what a picture of another form has too much, instead of stretching it."`
	Normalize string `name:"normalize" placeholder:"MEAN/STD" help:"Make values (v - mean) / std: one number, or one for each channel, as 0.5/0.5 or 0.485,0.456,0.406/0.229,0.224,0.225; or \"imagenet\"."`
	Layout    string `name:"layout" placeholder:"nchw|nhwc" help:"Order of the axes of pictures. (default: by the model's extents)"`
}

func (f *pictureFlags) check() error {
	if f.Resize != "" {
		if _, _, err := parseSize(f.Resize); err != nil {
			return err
		}
	}
	if f.Normalize != "" {
		if _, _, err := parseNormalize(f.Normalize); err != nil {
			return err
		}
	}
	switch f.Layout {
	case "", "nchw", "nhwc":
		return nil
	}
	return usage("--layout is %q, expected nchw or nhwc", f.Layout)
}

func parseSize(s string) (w, h int, err error) {
	a, b, ok := strings.Cut(s, "x")
	w, err1 := strconv.Atoi(a)
	h, err2 := strconv.Atoi(b)
	if !ok || err1 != nil || err2 != nil || w < 1 || h < 1 || w > data.MaxPixels/h {
		return 0, 0, usage("--resize is %q, expected WIDTHxHEIGHT, as 224x224", s)
	}
	return w, h, nil
}

func parseNormalize(s string) (mean, std []float32, err error) {
	if s == "imagenet" {
		s = "0.485,0.456,0.406/0.229,0.224,0.225"
	}
	a, b, ok := strings.Cut(s, "/")
	numbers := func(text string) (out []float32) {
		for _, word := range strings.Split(text, ",") {
			v, err := strconv.ParseFloat(word, 32)
			ok = ok && err == nil && v == v
			out = append(out, float32(v))
		}
		return out
	}
	mean, std = numbers(a), numbers(b)
	for _, v := range std {
		ok = ok && v != 0
	}
	if !ok || len(mean) != 1 && len(mean) != 3 || len(std) != 1 && len(std) != 3 {
		return nil, nil, usage("--normalize is %q, expected MEAN/STD with one number or three each, std not 0, or \"imagenet\"", s)
	}
	return mean, std, nil
}

// picture reads a picture for an input of the type.
func (f *pictureFlags) picture(path string, t *onnx.Type) (*onnx.Value, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	axes, last, err := f.axes(t)
	if err != nil {
		return nil, err
	}
	o := data.Images{Width: c.Width, Height: c.Height, Channels: axes[0], Last: last, Crop: f.Crop}
	if axes[1] > 0 {
		o.Height = axes[1]
	}
	if axes[2] > 0 {
		o.Width = axes[2]
	}
	if f.Resize != "" {
		if o.Width, o.Height, err = parseSize(f.Resize); err != nil {
			return nil, err
		}
	}
	if f.Normalize != "" {
		mean, std, err := parseNormalize(f.Normalize)
		if err != nil {
			return nil, err
		}
		o.Mean, o.Std = spread(mean, o.Channels), spread(std, o.Channels)
	}
	values, err := o.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	elem := onnx.Float
	if t != nil && t.Elem != onnx.Undefined {
		elem = t.Elem
	}
	e, err := encoderOf(elem, len(values))
	if err != nil {
		return nil, err
	}
	if e.elem == onnx.String {
		return nil, fmt.Errorf("a picture is numbers, not texts")
	}
	for _, v := range values {
		if e.dtype.IsFloat() {
			err = e.float(float64(v))
		} else {
			err = e.integer(int64(v*255 + 0.5))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	shape := o.Shape()
	if t == nil || !t.HasShape || len(t.Dims) == 4 {
		shape = append([]int{1}, shape...)
	}
	return checked(e.value(shape), t)
}

// spread repeats one number for all channels.
func spread(v []float32, channels int) []float32 {
	if len(v) == channels {
		return v
	}
	out := make([]float32, channels)
	for i := range out {
		out[i] = v[0]
	}
	return out
}

// axes returns channels, height and width of a type, 0 where they are free, and
// whether channels come last.
func (f *pictureFlags) axes(t *onnx.Type) (axes [3]int, last bool, err error) {
	last = f.Layout == "nhwc"
	if t == nil || !t.HasShape {
		return [3]int{3, 0, 0}, last, nil
	}
	if len(t.Dims) != 3 && len(t.Dims) != 4 {
		return axes, false, fmt.Errorf("a picture has three axes, or four with a batch of 1")
	}
	d := t.Dims[len(t.Dims)-3:]
	colours := func(d onnx.Dim) bool { return d.Size == 1 || d.Size == 3 }
	if f.Layout == "" {
		last = !colours(d[0]) && colours(d[2])
	}
	if last {
		d = []onnx.Dim{d[2], d[0], d[1]}
	}
	for i := range axes {
		axes[i] = int(max(0, d[i].Size))
	}
	switch {
	case axes[0] == 0:
		axes[0] = 3
	case !colours(d[0]):
		return axes, last, fmt.Errorf("%d channels; pictures have 1 or 3, --layout says where they are", axes[0])
	}
	return axes, last, nil
}
