package figure

import (
	"image"
	"image/color"
	"image/draw"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// Raster is a canvas of pixels: Scale of them for one of the figure's.
type Raster struct {
	Image *image.NRGBA
	scale float64
	fnt   *opentype.Font
	faces map[float64]font.Face
}

// NewRaster makes a white canvas.
func NewRaster(width, height int, scale float64) (*Raster, error) {
	f, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return nil, err
	}
	r := &Raster{Image: image.NewNRGBA(image.Rect(0, 0, int(float64(width)*scale), int(float64(height)*scale))), scale: scale, fnt: f, faces: map[float64]font.Face{}}
	draw.Draw(r.Image, r.Image.Bounds(), image.White, image.Point{}, draw.Src)
	return r, nil
}

// Rect draws a rectangle whose edges are on whole pixels.
func (r *Raster) Rect(x, y, w, h float64, c color.NRGBA) {
	at := func(v float64) int { return int(math.Round(v * r.scale)) }
	draw.Draw(r.Image, image.Rect(at(x), at(y), at(x+w), at(y+h)), image.NewUniform(c), image.Point{}, draw.Over)
}

// Line draws a line through points.
func (r *Raster) Line(points []Point, width float64, c color.NRGBA) {
	b := r.Image.Bounds()
	z := vector.NewRasterizer(b.Dx(), b.Dy())
	half := width * r.scale / 2
	for i, p := range points {
		p.X, p.Y = p.X*r.scale, p.Y*r.scale
		if i > 0 {
			q := points[i-1]
			q.X, q.Y = q.X*r.scale, q.Y*r.scale
			if d := math.Hypot(p.X-q.X, p.Y-q.Y); d > 0 {
				nx, ny := (q.Y-p.Y)/d*half, (p.X-q.X)/d*half
				polygon(z, Point{q.X + nx, q.Y + ny}, Point{q.X - nx, q.Y - ny}, Point{p.X - nx, p.Y - ny}, Point{p.X + nx, p.Y + ny})
			}
		}
		if width > 1 { // round joints and ends
			var circle []Point
			for k := range 12 {
				sin, cos := math.Sincos(2 * math.Pi * float64(k) / 12)
				circle = append(circle, Point{p.X + half*cos, p.Y - half*sin})
			}
			polygon(z, circle...)
		}
	}
	z.Draw(r.Image, b, image.NewUniform(c), image.Point{})
}

// polygon adds a closed path. All go around in the same way, so that where they
// overlap they add up.
func polygon(z *vector.Rasterizer, points ...Point) {
	area := 0.0
	for i, p := range points {
		q := points[(i+1)%len(points)]
		area += p.X*q.Y - q.X*p.Y
	}
	z.MoveTo(float32(points[0].X), float32(points[0].Y))
	for i := 1; i < len(points); i++ {
		p := points[i]
		if area < 0 {
			p = points[len(points)-i]
		}
		z.LineTo(float32(p.X), float32(p.Y))
	}
	z.ClosePath()
}

// Text draws a text.
func (r *Raster) Text(x, y, size float64, anchor Anchor, text string, c color.NRGBA) {
	face := r.faces[size]
	if face == nil {
		var err error
		face, err = opentype.NewFace(r.fnt, &opentype.FaceOptions{Size: size * r.scale, DPI: 72, Hinting: font.HintingNone})
		if err != nil {
			return
		}
		r.faces[size] = face
	}
	d := font.Drawer{Dst: r.Image, Src: image.NewUniform(c), Face: face}
	width := float64(d.MeasureString(text)) / 64
	left := x*r.scale - width*float64(anchor)/2
	d.Dot = fixed.Point26_6{X: fixed.Int26_6(left * 64), Y: fixed.Int26_6(y * r.scale * 64)}
	d.DrawString(text)
}
