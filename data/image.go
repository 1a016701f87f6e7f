package data

import (
	"bufio"
	"bytes"
	"fmt"
	"image"
	_ "image/gif" // formats that Decode knows
	_ "image/jpeg"
	_ "image/png"
	"io"
	"math"
)

// MaxPixels is the largest number of pixels of an image that [Images.Decode]
// decodes, which bounds what a small hostile file can ask for.
const MaxPixels = 1 << 26

// Images says how pictures become samples.
type Images struct {
	Width, Height int

	// Channels is 1 for shades of grey (BT.601 luma), 3 for red, green, blue.
	// Transparent parts show black.
	Channels int

	// Last puts channels last, [height, width, channels]; the rule is
	// [channels, height, width], as convolutions take them.
	Last bool

	// Crop cuts what a picture of another form has too much, equally at both
	// sides; else it is stretched.
	Crop bool

	// Values are (v - Mean) / Std, for v from 0 to 1: one number for each
	// channel, or none.
	Mean, Std []float32
}

// Shape returns the extents of a sample.
func (o Images) Shape() []int {
	if o.Last {
		return []int{o.Height, o.Width, o.Channels}
	}
	return []int{o.Channels, o.Height, o.Width}
}

func (o Images) check() error {
	if o.Width < 1 || o.Height < 1 || o.Width > MaxPixels/o.Height || o.Channels != 1 && o.Channels != 3 {
		return fmt.Errorf("data: images of %d×%d with %d channels", o.Width, o.Height, o.Channels)
	}
	for _, list := range [][]float32{o.Mean, o.Std} {
		if len(list) != 0 && len(list) != o.Channels {
			return fmt.Errorf("data: %d numbers for %d channels", len(list), o.Channels)
		}
	}
	return nil
}

// Decode reads a PNG, JPEG or GIF picture and returns its values. Programs that
// import other decoders of package image have them too.
func (o Images) Decode(r io.Reader) ([]float32, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	var head bytes.Buffer
	c, _, err := image.DecodeConfig(io.TeeReader(bufio.NewReader(r), &head))
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	if c.Width < 1 || c.Height < 1 || c.Width > MaxPixels/c.Height {
		return nil, fmt.Errorf("data: a picture of %d×%d pixels, at most %d are read", c.Width, c.Height, MaxPixels)
	}
	img, _, err := image.Decode(io.MultiReader(&head, r))
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	return o.Values(img)
}

// Values returns the values of a picture, scaled to the size: by linear
// interpolation, and by averages over what falls on a pixel when it is made
// smaller. Equal pictures give equal bits on every machine.
func (o Images) Values(img image.Image) ([]float32, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	b := img.Bounds()
	if b.Empty() {
		return nil, fmt.Errorf("data: a picture without pixels")
	}
	if o.Crop {
		b = o.crop(b)
	}
	w, h := b.Dx(), b.Dy()
	planes := make([][]float32, o.Channels)
	for i := range planes {
		planes[i] = make([]float32, w*h)
	}
	for y := range h {
		for x := range w {
			r, g, bl, _ := img.At(b.Min.X+x, b.Min.Y+y).RGBA()
			at := y*w + x
			if o.Channels == 1 {
				planes[0][at] = float32((19595*r+38470*g+7471*bl+1<<15)>>16) / 0xffff
				continue
			}
			planes[0][at], planes[1][at], planes[2][at] = float32(r)/0xffff, float32(g)/0xffff, float32(bl)/0xffff
		}
	}
	across, down := filters(w, o.Width), filters(h, o.Height)
	out := make([]float32, o.Channels*o.Height*o.Width)
	for c, p := range planes {
		p = resize(p, w, h, across, down)
		mean, std := float32(0), float32(1)
		if len(o.Mean) > 0 {
			mean = o.Mean[c]
		}
		if len(o.Std) > 0 {
			std = o.Std[c]
		}
		for i, v := range p {
			out[o.index(c, i)] = (v - mean) / std
		}
	}
	return out, nil
}

// index is where channel c of pixel i is.
func (o Images) index(c, i int) int {
	if o.Last {
		return i*o.Channels + c
	}
	return c*o.Height*o.Width + i
}

// crop returns the middle of a rectangle that has the form of samples.
func (o Images) crop(b image.Rectangle) image.Rectangle {
	w, h := b.Dx(), b.Dy()
	if w*o.Height > h*o.Width {
		n := max(1, h*o.Width/o.Height)
		b.Min.X += (w - n) / 2
		b.Max.X = b.Min.X + n
	} else {
		n := max(1, w*o.Height/o.Width)
		b.Min.Y += (h - n) / 2
		b.Max.Y = b.Min.Y + n
	}
	return b
}

// Image makes a picture of values as Values returns them; what is outside of 0 to
// 1 is shown as the nearest of both.
func (o Images) Image(values []float32) (image.Image, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if len(values) != o.Channels*o.Width*o.Height {
		return nil, fmt.Errorf("data: %d values for a picture of shape %v", len(values), o.Shape())
	}
	img := image.NewNRGBA(image.Rect(0, 0, o.Width, o.Height))
	for i := range o.Width * o.Height {
		for c := range 3 {
			from := min(c, o.Channels-1)
			v := values[o.index(from, i)]
			if len(o.Std) > 0 {
				v = float32(v * o.Std[from])
			}
			if len(o.Mean) > 0 {
				v += o.Mean[from]
			}
			if !(v > 0) { // NaN too
				v = 0
			}
			img.Pix[4*i+c] = uint8(math.Round(float64(min(v, 1)) * 255))
		}
		img.Pix[4*i+3] = 255
	}
	return img, nil
}

// filter is the weights with which pixels from a position on make one pixel.
type filter struct {
	from    int
	weights []float64
}

// filters returns those that scale a row of n pixels to m: a triangle as wide as a
// pixel of the smaller of both.
func filters(n, m int) []filter {
	scale := float64(n) / float64(m)
	reach := max(scale, 1)
	out := make([]filter, m)
	for i := range out {
		// The conversions forbid to contract, which would differ between machines.
		center := float64((float64(i) + 0.5) * scale)
		from, to := max(int(math.Floor(center-reach)), 0), min(int(math.Ceil(center+reach)), n)
		f, sum := filter{from: from}, 0.0
		for j := from; j < to; j++ {
			w := max(0, 1-math.Abs(float64(j)+0.5-center)/reach)
			f.weights = append(f.weights, w)
			sum += w
		}
		for j := range f.weights {
			f.weights[j] /= sum
		}
		out[i] = f
	}
	return out
}

// resize scales a plane of w×h pixels.
func resize(p []float32, w, h int, across, down []filter) []float32 {
	if len(across) == w && len(down) == h {
		return p
	}
	rows := make([]float64, h*len(across))
	for y := range h {
		for x, f := range across {
			sum := 0.0
			for j, weight := range f.weights {
				sum += float64(weight * float64(p[y*w+f.from+j]))
			}
			rows[y*len(across)+x] = sum
		}
	}
	out := make([]float32, len(down)*len(across))
	for y, f := range down {
		for x := range across {
			sum := 0.0
			for j, weight := range f.weights {
				sum += float64(weight * rows[(f.from+j)*len(across)+x])
			}
			out[y*len(across)+x] = float32(sum)
		}
	}
	return out
}
