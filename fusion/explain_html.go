package fusion

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"strings"
)

// WriteHTML writes the explanation as one page that needs nothing else: the graph
// coloured by kernel, a table of kernels, and what was refused.
func (e Explanation) WriteHTML(w io.Writer) error { return WriteHTML(w, []Explanation{e}) }

// WriteHTML writes explanations as one page, a section each.
func WriteHTML(w io.Writer, list []Explanation) error {
	b := bufio.NewWriter(w)
	b.WriteString(pageHead)
	for i, e := range list {
		p := page{Writer: b, e: e, section: i}
		p.write()
	}
	b.WriteString("</body></html>\n")
	return b.Flush()
}

const pageHead = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Fusion plan</title><style>
body{font:14px/1.45 system-ui,sans-serif;margin:2em;color:#222;background:#fff}
h1{font-size:1.3em}h2{font-size:1.1em;margin-top:1.6em}
table{border-collapse:collapse}th,td{padding:.25em .7em;text-align:left;vertical-align:top;border-bottom:1px solid #ddd}
td.n{text-align:right;font-variant-numeric:tabular-nums}
.graph{overflow:auto;border:1px solid #ddd;max-height:80vh}
svg text{font:11px system-ui,sans-serif}svg .t{fill:#555}
.chip{display:inline-block;width:.9em;height:.9em;border-radius:2px;margin-right:.4em;vertical-align:-.1em;border:1px solid #888}
.site{color:#666}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#1b1b1b}th,td,.graph{border-color:#444}.site{color:#aaa}svg{background:#fff}}
</style></head><body>
`

type page struct {
	*bufio.Writer
	e       Explanation
	section int
}

func (p *page) f(format string, args ...any) {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = html.EscapeString(s)
		}
	}
	fmt.Fprintf(p, format, args...)
}

func (p *page) write() {
	e := &p.e
	p.f("<h1>Segment %d", p.section)
	if e.Cut != "" {
		p.f(", cut by %s", string(e.Cut))
	}
	p.f("</h1>\n<table><tr><th></th><th>launches</th><th>read</th><th>written</th><th>peak</th></tr>\n")
	p.f("<tr><td>fused</td><td class=n>%d</td><td class=n>%s</td><td class=n>%s</td><td class=n>%s</td></tr>\n",
		e.Launches, byteCount(e.Read), byteCount(e.Written), byteCount(e.Peak))
	p.f("<tr><td>unfused</td><td class=n>%d</td><td class=n>%s</td><td class=n>%s</td><td class=n>%s</td></tr></table>\n",
		e.Unfused.Launches, byteCount(e.Unfused.Read), byteCount(e.Unfused.Written), byteCount(e.Unfused.Peak))
	p.graph()
	p.kernels()
	p.refusals()
}

// hue gives each block a colour of its own; what does not run is grey.
func (e *Explanation) hue(block int) string {
	if k := e.Blocks[block].Kind; k == ViewBlock || k == DeadBlock {
		return "#eee"
	}
	return fmt.Sprintf("hsl(%d,60%%,%d%%)", block*137%360, 78+block%3*5)
}

// maxDrawn is the most operations that a graph is drawn of.
const maxDrawn = 1500

// The sizes of the drawing.
const (
	boxWidth, boxHeight = 132, 34
	gapX, gapY          = 14, 26
)

// graph draws each operation in the row of its depth, in the block that runs it
// first.
func (p *page) graph() {
	type place struct {
		op          ExplainOp
		block, x, y int
	}
	var places []place
	at := map[int]int{}
	for k, b := range p.e.Blocks {
		for _, op := range b.Ops {
			if _, ok := at[op.Node]; !ok {
				at[op.Node] = len(places)
				places = append(places, place{op: op, block: k})
			}
		}
	}
	p.f("<h2>Graph</h2>\n")
	if len(places) > maxDrawn {
		p.f("<p>%d operations are too many to draw.</p>\n", len(places))
		return
	}
	depth := map[int]int{}
	var deep func(node int) int
	deep = func(node int) int { // nodes read earlier nodes only
		if d, ok := depth[node]; ok {
			return d
		}
		d := 0
		for _, f := range places[at[node]].op.From {
			if _, ok := at[f]; ok {
				d = max(d, deep(f)+1)
			}
		}
		depth[node] = d
		return d
	}
	for n := range len(places) + 1 { // ascending, so that no chain recurses deeply
		if _, ok := at[n]; ok {
			deep(n)
		}
	}
	columns := map[int]int{}
	width, height := 0, 0
	for i := range places {
		d := deep(places[i].op.Node)
		places[i].x, places[i].y = gapX+columns[d]*(boxWidth+gapX), gapY+d*(boxHeight+gapY)
		columns[d]++
		width, height = max(width, places[i].x+boxWidth+gapX), max(height, places[i].y+boxHeight+gapY)
	}
	p.f("<div class=graph><svg width=%d height=%d xmlns=\"http://www.w3.org/2000/svg\">\n", width, height)
	for _, to := range places {
		for _, f := range to.op.From {
			if i, ok := at[f]; ok {
				from := places[i]
				colour := "#bbb"
				if from.block == to.block {
					colour = "#444"
				}
				p.f("<line x1=%d y1=%d x2=%d y2=%d stroke=%s />\n", from.x+boxWidth/2, from.y+boxHeight, to.x+boxWidth/2, to.y, colour)
			}
		}
	}
	for _, x := range places {
		p.f("<g><title>%s</title><rect x=%d y=%d width=%d height=%d rx=4 fill=\"%s\" stroke=\"#777\"/>", p.title(x.op, x.block), x.x, x.y, boxWidth, boxHeight, p.e.hue(x.block))
		p.f("<text x=%d y=%d>%s</text><text class=t x=%d y=%d>%s</text></g>\n", x.x+6, x.y+14, shorten(x.op.Op, 20), x.x+6, x.y+27, shorten(x.op.Type, 20))
	}
	p.f("</svg></div>\n")
}

func (p *page) title(op ExplainOp, block int) string {
	s := fmt.Sprintf("%d: %s %s, block %d", op.Node, op.Op, op.Type, block)
	if op.Site != "" {
		s += ", " + op.Site
	}
	return s
}

func (p *page) kernels() {
	p.f("<h2>Blocks</h2>\n<table><tr><th></th><th>kind</th><th>operations</th><th>launches</th><th>read</th><th>written</th><th>time</th></tr>\n")
	for i, b := range p.e.Blocks {
		p.f("<tr><td><span class=chip style=\"background:%s\"></span>%d</td><td>%s", p.e.hue(i), i, string(b.Kind))
		if b.Fuser != "" {
			p.f("<br>%s", b.Fuser)
		}
		if b.Engine != "" {
			p.f("<br>on %s", b.Engine)
		}
		if b.InPlace > 0 {
			p.f("<br>%d in place", b.InPlace)
		}
		if b.Pieces > 1 {
			p.f("<br>%d pieces", b.Pieces)
		}
		p.f("</td><td>")
		for _, op := range b.Ops {
			p.f("%d: %s %s <span class=site>%s</span><br>", op.Node, op.Op, op.Type, op.Site)
		}
		time := ""
		if b.Time > 0 {
			time = b.Time.String()
		}
		p.f("</td><td class=n>%d</td><td class=n>%s</td><td class=n>%s</td><td class=n>%s</td></tr>\n", b.Launches, byteCount(b.Read), byteCount(b.Written), time)
	}
	p.f("</table>\n")
}

func (p *page) refusals() {
	if len(p.e.Refusals) == 0 {
		return
	}
	ops := map[int]ExplainOp{}
	for _, b := range p.e.Blocks {
		for _, op := range b.Ops {
			ops[op.Node] = op
		}
	}
	p.f("<h2>Not fused</h2>\n<table><tr><th>producer</th><th>consumer</th><th>rule</th><th>got</th><th>limit</th><th></th></tr>\n")
	for _, r := range p.e.Refusals {
		a, b := ops[r.Producer], ops[r.Consumer]
		p.f("<tr><td>%d: %s <span class=site>%s</span></td><td>%d: %s <span class=site>%s</span></td><td>%s</td><td class=n>%g</td><td class=n>%g</td><td>%s</td></tr>\n",
			r.Producer, a.Op, a.Site, r.Consumer, b.Op, b.Site, r.Rule, r.Got, r.Limit, r.Detail)
	}
	p.f("</table>\n")
}

func shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// byteCount writes a number of bytes with a unit.
func byteCount(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	x, i := float64(n), 0
	for x >= 1024 && i < len(units)-1 {
		x /= 1024
		i++
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", x), ".0") + " " + units[i]
}
