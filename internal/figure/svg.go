package figure

import (
	"fmt"
	"html"
	"image/color"
	"strings"
)

// SVG is a canvas that becomes the text of an SVG element.
type SVG struct {
	Width, Height int
	Label         string // for those who cannot see it
	b             strings.Builder
}

// String returns the element.
func (s *SVG) String() string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`+"\n%s</svg>",
		s.Width, s.Height, s.Width, s.Height, html.EscapeString(s.Label), s.b.String())
}

func hex(c color.NRGBA) string {
	if c.A == 0xff {
		return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
	}
	return fmt.Sprintf("#%02x%02x%02x%02x", c.R, c.G, c.B, c.A)
}

// Rect draws a rectangle.
func (s *SVG) Rect(x, y, w, h float64, c color.NRGBA) {
	fmt.Fprintf(&s.b, `<rect x="%.4g" y="%.4g" width="%.4g" height="%.4g" fill="%s" shape-rendering="crispEdges"/>`+"\n", x, y, w, h, hex(c))
}

// Line draws a line through points.
func (s *SVG) Line(points []Point, width float64, c color.NRGBA) {
	s.b.WriteString(`<polyline points="`)
	for i, p := range points {
		if i > 0 {
			s.b.WriteByte(' ')
		}
		fmt.Fprintf(&s.b, "%.1f,%.1f", p.X, p.Y)
	}
	fmt.Fprintf(&s.b, `" fill="none" stroke="%s" stroke-width="%.4g" stroke-linejoin="round" stroke-linecap="round"/>`+"\n", hex(c), width)
}

// Text draws a text.
func (s *SVG) Text(x, y, size float64, anchor Anchor, text string, c color.NRGBA) {
	fmt.Fprintf(&s.b, `<text x="%.1f" y="%.1f" font-size="%.4g" font-family="system-ui,sans-serif" text-anchor="%s" fill="%s">%s</text>`+"\n",
		x, y, size, [...]string{"start", "middle", "end"}[anchor], hex(c), html.EscapeString(text))
}
