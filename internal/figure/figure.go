// Package figure draws the few kinds of figures that reports of trainings show:
// curves, a confusion matrix, small pictures. A figure is drawn on a [Canvas], which
// is an SVG text or a picture of pixels.
package figure

import (
	"fmt"
	"image/color"
	"math"
	"strconv"
)

// Canvas is what figures are drawn on. Coordinates are in pixels from the top left.
type Canvas interface {
	Rect(x, y, w, h float64, c color.NRGBA)
	Line(points []Point, width float64, c color.NRGBA)
	// Text draws a line of text whose baseline is at y.
	Text(x, y, size float64, anchor Anchor, text string, c color.NRGBA)
}

// Point is a place on a canvas.
type Point struct{ X, Y float64 }

// Anchor is which part of a text is at its x.
type Anchor int

// The parts of a text.
const (
	Left Anchor = iota
	Center
	Right
)

// The colours of figures.
var (
	Ink   = color.NRGBA{0x22, 0x2a, 0x35, 0xff}
	Faint = color.NRGBA{0x6b, 0x76, 0x85, 0xff}
	grid  = color.NRGBA{0xe3, 0xe7, 0xec, 0xff}
	Blue  = color.NRGBA{0x1f, 0x6f, 0xc4, 0xff}
	Green = color.NRGBA{0x1a, 0x8a, 0x5b, 0xff}
	Red   = color.NRGBA{0xc4, 0x36, 0x2f, 0xff}
)

// Box is a part of a canvas.
type Box struct{ X, Y, W, H float64 }

// Curve is a chart of one row of values, the first of which is at 1.
type Curve struct {
	Title   string
	Values  []float64
	Percent bool // values are shares
	Color   color.NRGBA
}

// Draw draws the chart: title, scale, axis, line, and the last value. Values that
// are no numbers leave a gap.
func (c Curve) Draw(to Canvas, b Box) {
	to.Text(b.X, b.Y+15, 14, Left, c.Title, Ink)
	const left, right, top, bottom = 48, 56, 30, 24
	p := Box{b.X + left, b.Y + top, b.W - left - right, b.H - top - bottom}
	low, high, step := scale(c.Values, c.Percent)
	y := func(v float64) float64 { return p.Y + p.H*(1-(v-low)/(high-low)) }
	n := len(c.Values)
	x := func(i int) float64 { return p.X + p.W*float64(i)/math.Max(float64(n-1), 1) }
	for i := 0; ; i++ {
		v := low + float64(i)*step
		if v > high+step/2 {
			break
		}
		to.Line([]Point{{p.X, y(v)}, {p.X + p.W, y(v)}}, 1, grid)
		to.Text(p.X-6, y(v)+4, 11, Right, c.number(v, step), Faint)
	}
	every := niceStep(float64(max(n, 1))/6, true)
	for i := 0; i < n; i += int(every) {
		at := max(i, 1) // 1, 5, 10, 15 rather than 1, 6, 11, 16
		to.Text(x(at-1), p.Y+p.H+17, 11, Center, strconv.Itoa(at), Faint)
	}
	var run []Point
	flush := func() {
		if len(run) == 1 {
			to.Rect(run[0].X-2, run[0].Y-2, 4, 4, c.Color)
		} else if len(run) > 1 {
			to.Line(run, 2, c.Color)
		}
		run = nil
	}
	for i, v := range c.Values {
		if !finite(v) {
			flush()
			continue
		}
		run = append(run, Point{x(i), y(v)})
	}
	flush()
	if n > 0 && finite(c.Values[n-1]) {
		v := c.Values[n-1]
		to.Rect(x(n-1)-2.5, y(v)-2.5, 5, 5, c.Color)
		to.Text(x(n-1)+7, y(v)+4, 12, Left, c.number(v, step/10), c.Color)
	}
}

func (c Curve) number(v, step float64) string {
	unit := ""
	if c.Percent {
		v, step, unit = v*100, step*100, " %"
	}
	digits := max(0, int(math.Ceil(-math.Log10(step)-1e-9)))
	return strconv.FormatFloat(v, 'f', digits, 64) + unit
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// scale returns round bounds that hold all values, and the distance of marks.
func scale(values []float64, share bool) (low, high, step float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if finite(v) {
			low, high = math.Min(low, v), math.Max(high, v)
		}
	}
	if low > high || !finite(high-low) {
		low, high = 0, 1
	}
	if low > 0 && (low < high/2 || low == high) && !share {
		low = 0
	}
	if low == high {
		low, high = low-0.5, high+0.5
	}
	step = niceStep((high-low)/4, false)
	low, high = math.Floor(low/step+1e-9)*step, math.Ceil(high/step-1e-9)*step
	if share {
		low, high = math.Max(low, 0), math.Min(high, 1)
		low = high - math.Round((high-low)/step)*step
	}
	return low, high, step
}

// niceStep is the least 1, 2 or 5 times a power of ten that is not below v, at
// least 1 for whole numbers.
func niceStep(v float64, whole bool) float64 {
	if whole && v <= 1 {
		return 1
	}
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*p >= v*(1-1e-9) {
			return m * p
		}
	}
	return 10 * p
}

// Matrix is a confusion matrix: Counts[label*Classes+predicted].
type Matrix struct {
	Title   string
	Classes int
	Counts  []int64
}

// Draw draws the matrix with a row for each label; right answers are green, wrong
// ones red, darker where there are more of a row's.
func (m Matrix) Draw(to Canvas, b Box) {
	to.Text(b.X, b.Y+15, 14, Left, m.Title, Ink)
	if m.Classes < 1 {
		return
	}
	const left, top = 40, 58
	size := math.Min((b.W-left)/float64(m.Classes), (b.H-top)/float64(m.Classes))
	to.Text(b.X+left+size*float64(m.Classes)/2, b.Y+36, 11, Center, "taken for", Faint)
	to.Text(b.X, b.Y+top-8, 11, Left, "label", Faint)
	for r := range m.Classes {
		row := m.Counts[r*m.Classes:][:m.Classes]
		total := int64(0)
		for _, v := range row {
			total += v
		}
		y := b.Y + top + float64(r)*size
		to.Text(b.X+left-10, y+size/2+4, 12, Right, strconv.Itoa(r), Faint)
		to.Text(b.X+left+(float64(r)+0.5)*size, b.Y+top-8, 12, Center, strconv.Itoa(r), Faint)
		for c, v := range row {
			x := b.X + left + float64(c)*size
			fill, text := color.NRGBA{0xf4, 0xf6, 0xf8, 0xff}, Faint
			if v > 0 {
				share := float64(v) / float64(total)
				deep := Red
				if c == r {
					deep = Green
				} else {
					share = 0.2 + 0.8*share // one error must be seen
				}
				fill, text = mix(fill, deep, share), Ink
				if share > 0.55 {
					text = color.NRGBA{0xff, 0xff, 0xff, 0xff}
				}
			}
			to.Rect(x+1, y+1, size-2, size-2, fill)
			if v > 0 {
				to.Text(x+size/2, y+size/2+4, 12, Center, fmt.Sprint(v), text)
			}
		}
	}
}

func mix(a, b color.NRGBA, share float64) color.NRGBA {
	m := func(x, y uint8) uint8 { return uint8(math.Round(float64(x) + share*(float64(y)-float64(x)))) }
	return color.NRGBA{m(a.R, b.R), m(a.G, b.G), m(a.B, b.B), 0xff}
}

// Picture is a small grey picture with a line of text below.
type Picture struct {
	Width   int
	Values  []float32 // rows of Width values from 0, paper, to 1, ink
	Caption string
	Wrong   bool // the caption is red
}

// Gallery is pictures in rows.
type Gallery struct {
	Title    string
	Pictures []Picture
}

// Draw draws as many pictures as fit.
func (g Gallery) Draw(to Canvas, b Box) {
	to.Text(b.X, b.Y+15, 14, Left, g.Title, Ink)
	const side, gap, below, top = 84, 16, 26, 30
	columns := max(1, int((b.W+gap)/(side+gap)))
	for i, p := range g.Pictures {
		x, y := b.X+float64(i%columns*(side+gap)), b.Y+top+float64(i/columns*(side+below+gap))
		if y+side+below > b.Y+b.H || p.Width < 1 {
			return
		}
		pixel := float64(side) / float64(p.Width)
		to.Rect(x, y, side, side, color.NRGBA{0xf4, 0xf6, 0xf8, 0xff})
		for j, v := range p.Values {
			if v > 0 {
				c := Ink
				c.A = uint8(math.Round(255 * math.Min(float64(v), 1)))
				to.Rect(x+float64(j%p.Width)*pixel, y+float64(j/p.Width)*pixel, pixel, pixel, c)
			}
		}
		c := Green
		if p.Wrong {
			c = Red
		}
		to.Text(x+side/2, y+side+17, 12, Center, p.Caption, c)
	}
}
