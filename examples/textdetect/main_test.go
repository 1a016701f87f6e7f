package main

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	xdraw "golang.org/x/image/draw"
	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"

	"github.com/sinter-go/sinter/internal/cases"
)

// write draws a line of text, enlarged, and returns the box that it fills.
func write(to draw.Image, text string, at image.Point, scale int) image.Rectangle {
	face := basicfont.Face7x13
	small := image.NewRGBA(image.Rect(0, 0, 7*len(text), 13))
	d := font.Drawer{Dst: small, Src: image.NewUniform(color.Black), Face: face, Dot: fixed.P(0, 11)}
	d.DrawString(text)
	box := image.Rectangle{at, at.Add(small.Bounds().Size().Mul(scale))}
	xdraw.BiLinear.Scale(to, box, small, small.Bounds(), draw.Over, nil)
	return box
}

func TestDetect(t *testing.T) {
	model := cases.RealModel(t, 2, "ch_PP-OCRv4_det_infer")
	img := image.NewRGBA(image.Rect(0, 0, 480, 320))
	draw.Draw(img, img.Bounds(), image.NewUniform(color.RGBA{245, 244, 240, 255}), image.Point{}, draw.Src)
	boxes := []image.Rectangle{
		write(img, "SINTER FUSES", image.Pt(40, 40), 4),
		write(img, "Tensors for Go", image.Pt(90, 150), 3),
		write(img, "2026", image.Pt(300, 250), 3),
	}
	file, marked := filepath.Join(t.TempDir(), "page.png"), filepath.Join(t.TempDir(), "marked.png")
	f, err := os.Create(file)
	if err == nil {
		err = png.Encode(f, img)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), &out, model, file, marked); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", &out)
	if n := strings.Count(out.String(), "\n"); n != len(boxes) {
		t.Errorf("%d lines of text, the picture has %d", n, len(boxes))
	}
	found, err := detect(t.Context(), model, img)
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range boxes {
		best := 0.0
		for _, l := range found {
			common := l.box.Intersect(b)
			both := float64(common.Dx() * common.Dy())
			best = max(best, both/(float64(l.box.Dx()*l.box.Dy()+b.Dx()*b.Dy())-both))
		}
		if best < 0.5 {
			t.Errorf("line %d at %v: the best box shares %.2f with it", i, b, best)
		}
	}
	if b, err := os.ReadFile(marked); err != nil || !bytes.HasPrefix(b, []byte("\x89PNG")) {
		t.Error(err)
	}
	blank := image.NewUniform(color.White)
	draw.Draw(img, img.Bounds(), blank, image.Point{}, draw.Src)
	if found, err := detect(t.Context(), model, img); err != nil || len(found) != 0 {
		t.Errorf("an empty page: %v, %v", found, err)
	}
}

// TestLines: two blobs, one of them too faint.
func TestLines(t *testing.T) {
	p := make([]float32, 20*10)
	for y := 2; y < 5; y++ {
		for x := 3; x < 9; x++ {
			p[20*y+x] = 0.9
			p[20*(y+4)+x+8] = 0.4
		}
	}
	got := lines(p, 20, 10, image.Pt(40, 20))
	// 18 pixels in a box of 6×3 grow by 1.5·18/18 = 1, then everything doubles.
	if len(got) != 1 || got[0].box != image.Rect(4, 2, 20, 12) {
		t.Errorf("%v", got)
	}
}
