package main

import (
	"fmt"
	"math"
	"strings"
)

// plot is a curve for a terminal, in Braille patterns: two by four dots a cell.
type plot struct {
	title  string
	values []float64
	share  bool
	color  string
}

// lines draws the curve: a title, height lines, and an axis, each of width columns.
func (p plot) lines(width, height int, paint func(code, text string) string) []string {
	low, high := p.bounds()
	const label = 8
	columns := max(width-label-1, 4)
	cells := p.cells(columns, height, low, high)
	pad := func(text string, n int) string { return text + strings.Repeat(" ", max(0, n-len([]rune(text)))) }
	out := []string{paint(bold, pad(cut(strings.Repeat(" ", label+1)+p.title, width), width))}
	for y, row := range cells {
		mark := ""
		switch {
		case len(p.values) == 0:
		case y == 0:
			mark = p.number(high)
		case y == height-1:
			mark = p.number(low)
		}
		text := make([]rune, columns)
		for x, bits := range row {
			text[x] = ' '
			if bits != 0 {
				text[x] = 0x2800 + rune(bits)
			}
		}
		out = append(out, paint(faint, fmt.Sprintf("%*s│", label, mark))+paint(p.color, string(text)))
	}
	axis := strings.Repeat("─", columns)
	if n := fmt.Sprint(len(p.values)); len(p.values) > 1 {
		axis = "─1" + strings.Repeat("─", max(columns-3-len(n), 0)) + n + "─"
	}
	return append(out, paint(faint, strings.Repeat(" ", label)+"└"+axis))
}

func (p plot) number(v float64) string {
	if p.share {
		return percent(v)
	}
	return fmt.Sprintf("%.3g", v)
}

// bounds are the least and the greatest value, apart.
func (p plot) bounds() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range p.values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			low, high = math.Min(low, v), math.Max(high, v)
		}
	}
	switch {
	case low > high:
		return 0, 1
	case low == high && p.share && high >= 0.5:
		return low - 0.5, high
	case low == high:
		return low, low + 1
	}
	return low, high
}

// dots are the bits of a Braille pattern, by row and column.
var dots = [4][2]byte{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

// cells sets the dots of a line through the values.
func (p plot) cells(columns, height int, low, high float64) [][]byte {
	cells := make([][]byte, height)
	for i := range cells {
		cells[i] = make([]byte, columns)
	}
	w, h := 2*columns-1, 4*height-1
	row := func(v float64) int { return h - int(math.Round((v-low)/(high-low)*float64(h))) }
	before := -1
	n := len(p.values)
	for x := 0; x <= w && n > 0; x++ {
		at := float64(x) / float64(w) * float64(n-1)
		i := min(int(at), n-1)
		v := p.values[i]
		if i+1 < n {
			v += (at - float64(i)) * (p.values[i+1] - v)
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			before = -1
			continue
		}
		y := min(max(row(v), 0), h)
		from, to := y, y
		if before >= 0 { // joined with the column before
			from, to = min(y, before+1), max(y, before-1)
			if y > before {
				from = min(before+1, y)
				to = y
			} else if y < before {
				from, to = y, before-1
			}
		}
		for d := from; d <= to; d++ {
			cells[d/4][x/2] |= dots[d%4][x%2]
		}
		before = y
	}
	return cells
}
