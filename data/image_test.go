package data_test

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/data"
)

// picture has red rising to the right and green rising downwards.
func picture(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(5, 3, 5+w, 3+h)) // not at the origin
	for y := range h {
		for x := range w {
			img.Set(5+x, 3+y, color.NRGBA{uint8(255 * x / max(w-1, 1)), uint8(255 * y / max(h-1, 1)), 51, 255})
		}
	}
	return img
}

func TestImageLayouts(t *testing.T) {
	o := data.Images{Width: 4, Height: 2, Channels: 3}
	v, err := o.Values(picture(4, 2))
	if err != nil || len(v) != 24 {
		t.Fatal(len(v), err)
	}
	if v[3] != 1 || v[8+4] != 1 || v[8] != 0 || v[16] != 0.2 {
		t.Errorf("channels first: %v", v)
	}
	o.Last = true
	last, _ := o.Values(picture(4, 2))
	for c := range 3 {
		for i := range 8 {
			if last[3*i+c] != v[8*c+i] {
				t.Fatalf("channels last: %v", last)
			}
		}
	}
	o = data.Images{Width: 1, Height: 1, Channels: 1, Mean: []float32{0.5}, Std: []float32{0.25}}
	for c, want := range map[color.Color]float64{color.White: 2, color.Black: -2, color.Transparent: -2, color.NRGBA{R: 255, A: 255}: (0.299 - 0.5) * 4} {
		img := image.NewNRGBA(image.Rect(0, 0, 3, 3))
		for i := range 9 {
			img.Set(i%3, i/3, c)
		}
		if v, err := o.Values(img); err != nil || math.Abs(float64(v[0])-want) > 1e-4 {
			t.Errorf("%v: %v, %v, want %v", c, v, err, want)
		}
	}
}

func TestImageResize(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 4, 1))
	copy(img.Pix, []uint8{0, 0, 255, 255})
	v, err := data.Images{Width: 2, Height: 1, Channels: 1}.Values(img)
	if err != nil || math.Abs(float64(v[0])-1.0/7) > 1e-6 || math.Abs(float64(v[0]+v[1])-1) > 1e-6 {
		t.Errorf("half: %v, %v", v, err) // weights 3, 3, 1 of a triangle that the edge cuts
	}
	v, _ = data.Images{Width: 8, Height: 1, Channels: 1}.Values(img)
	for i, want := range []float32{0, 0, 0, 0.25, 0.75, 1, 1, 1} {
		if math.Abs(float64(v[i]-want)) > 1e-6 {
			t.Errorf("double: %v", v)
			break
		}
	}
	// A checkerboard made much smaller is grey, not a sample of it.
	board := image.NewGray(image.Rect(0, 0, 64, 64))
	for i := range board.Pix {
		board.Pix[i] = uint8((i + i/64) % 2 * 255)
	}
	v, _ = data.Images{Width: 5, Height: 7, Channels: 1}.Values(board)
	for _, x := range v {
		if math.Abs(float64(x)-0.5) > 0.02 {
			t.Fatalf("checkerboard: %v", v)
		}
	}
	// The middle of a wide picture.
	v, _ = data.Images{Width: 2, Height: 2, Channels: 3, Crop: true}.Values(picture(10, 2))
	if want := float32(255*4/9) / 255; v[0] != want || v[2] != want {
		t.Errorf("cropped: %v, want %v first", v, want)
	}
}

func TestImageDecode(t *testing.T) {
	o := data.Images{Width: 16, Height: 8, Channels: 3, Mean: []float32{0.5, 0.5, 0.5}, Std: []float32{0.5, 0.5, 0.5}}
	want, err := o.Values(picture(16, 8))
	if err != nil {
		t.Fatal(err)
	}
	var p, j bytes.Buffer
	png.Encode(&p, picture(16, 8))
	jpeg.Encode(&j, picture(16, 8), &jpeg.Options{Quality: 100})
	for name, b := range map[string][]byte{"png": p.Bytes(), "jpeg": j.Bytes()} {
		v, err := o.Decode(bytes.NewReader(b))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i := range v {
			if d := math.Abs(float64(v[i] - want[i])); name == "png" && d != 0 || d > 0.2 {
				t.Fatalf("%s: value %d is %v, want %v", name, i, v[i], want[i])
			}
		}
		if _, err := o.Decode(bytes.NewReader(b[:len(b)/2])); err == nil {
			t.Errorf("%s: half a file", name)
		}
	}
	back, err := o.Image(want)
	if err != nil {
		t.Fatal(err)
	}
	for y := range 8 {
		for x := range 16 {
			if got, w := back.At(x, y), picture(16, 8).At(5+x, 3+y); got != w {
				t.Fatalf("pixel %d, %d: %v, want %v", x, y, got, w)
			}
		}
	}
	// A header that claims many pixels.
	huge := bytes.Clone(p.Bytes())
	copy(huge[16:], []byte{0, 0, 0x80, 0, 0, 0, 0x80, 0, 8, 6, 0, 0, 0, 0xe2, 0x89, 0x15, 0x8b})
	if _, err := o.Decode(bytes.NewReader(huge)); err == nil {
		t.Error("a huge picture")
	}
	for _, bad := range []data.Images{{}, {Width: 1, Height: 1, Channels: 2}, {Width: 1 << 20, Height: 1 << 20, Channels: 1}, {Width: 1, Height: 1, Channels: 1, Mean: []float32{1, 2}}} {
		if _, err := bad.Values(picture(1, 1)); err == nil {
			t.Errorf("%+v", bad)
		}
	}
	if _, err := o.Decode(strings.NewReader("GIF89a")); err == nil {
		t.Error("no picture")
	}
	if _, err := o.Image(want[1:]); err == nil {
		t.Error("a value is missing")
	}
	if _, err := o.Values(image.NewGray(image.Rectangle{})); err == nil {
		t.Error("an empty picture")
	}
}
