package main

import (
	"fmt"
	"strings"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/train"
)

// shades show how dark a pixel is, from paper to ink. A pixel is two columns
// wide, so that it is about square.
var shades = []string{"  ", "░░", "▒▒", "▓▓", "██"}

const (
	pictureWidth = 2 * side
	pictureGap   = 3
	maxPictures  = 5
)

// showDigits draws a few digits side by side, as many as fit, with what was
// predicted: one that is wrong among them, if there is any.
func showDigits(c *console, set *data.Set, p train.Predictions) {
	n := min(maxPictures, (c.width()+pictureGap)/(pictureWidth+pictureGap), set.N)
	rows := chooseDigits(set, p, max(n, 1))
	gap := strings.Repeat(" ", pictureGap)
	for y := range side {
		line := make([]string, len(rows))
		for i, r := range rows {
			for _, v := range set.Row(r)[y*side : (y+1)*side] {
				line[i] += shades[shade(v)]
			}
		}
		c.printf("%s\n", strings.TrimRight(strings.Join(line, gap), " "))
	}
	line := make([]string, len(rows))
	for i, r := range rows {
		text, code := fmt.Sprintf("%d  %s", p.Class[r], percent(float64(p.Probability[r]))), green
		if p.Class[r] != set.Labels[r] {
			text, code = fmt.Sprintf("%d? no, %d", p.Class[r], set.Labels[r]), red
		}
		line[i] = c.paint(code, text) + strings.Repeat(" ", max(0, pictureWidth-len(text)))
	}
	c.printf("%s\n", strings.TrimRight(strings.Join(line, gap), " "))
}

// shade is the index of the shade of a pixel from 0 to 1.
func shade(v float32) int {
	return min(max(int(v*float32(len(shades))), 0), len(shades)-1)
}

// chooseDigits picks n rows: right ones of different digits, and, if there is
// any, a wrong one as the last.
func chooseDigits(set *data.Set, p train.Predictions, n int) []int {
	var out []int
	wrong := -1
	seen := map[int64]bool{}
	for i := range set.N {
		switch right := p.Class[i] == set.Labels[i]; {
		case !right && wrong < 0:
			wrong = i
		case right && len(out) < n && !seen[set.Labels[i]]:
			seen[set.Labels[i]] = true
			out = append(out, i)
		}
	}
	if wrong >= 0 {
		if len(out) == n {
			out = out[:n-1]
		}
		out = append(out, wrong)
	}
	return out
}
