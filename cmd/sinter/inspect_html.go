package main

import (
	"fmt"
	"html"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/onnx"
)

// maxDrawn is the number of nodes up to which a graph is drawn.
const maxDrawn = 20_000

// page writes the page of --html.
func (x *inspection) page(w io.Writer) error {
	graph := template.HTML("<p>The graph has too many nodes to draw.</p>")
	if len(x.model.Graph.Nodes) <= maxDrawn {
		graph = x.drawGraph()
	}
	facts := [][2]string{
		{"nodes", fmt.Sprint(x.Nodes)}, {"IR version", fmt.Sprint(x.IR)},
		{"parameters", fmt.Sprint(x.Parameters)}, {"bytes of parameters", bytesText(x.Bytes)},
	}
	for _, d := range slices.Sorted(maps.Keys(x.Opsets)) {
		facts = append(facts, [2]string{"opset " + d, fmt.Sprint(x.Opsets[d])})
	}
	if x.Producer != "" {
		facts = append(facts, [2]string{"made by", x.Producer})
	}
	if x.Peak != nil {
		facts = append(facts, [2]string{"intermediate values at once", bytesText(*x.Peak)})
	}
	return inspectPage.Execute(w, struct {
		*inspection
		Facts [][2]string
		Graph template.HTML
	}{x, facts, graph})
}

// drawnNode is a box of the drawing.
type drawnNode struct {
	lines []string
	title string
	class string
}

const (
	charWidth  = 6.7 // of the font of boxes, at most
	lineHeight = 15
)

// drawGraph draws the main graph: inputs, nodes and outputs with the values
// between them.
func (x *inspection) drawGraph() template.HTML {
	var nodes []drawnNode
	var layout graphLayout
	makers := map[string]int{} // of values, by box
	add := func(n drawnNode) int {
		wide := 0
		for _, l := range n.lines {
			wide = max(wide, len([]rune(l)))
		}
		nodes = append(nodes, n)
		layout.boxes = append(layout.boxes, layoutBox{w: charWidth*float64(wide) + 20, h: lineHeight*float64(len(n.lines)) + 10})
		return len(nodes) - 1
	}
	for _, v := range x.Inputs {
		makers[v.Name] = add(drawnNode{[]string{shorten(v.Name, 32), shorten(v.Type, 40)}, "input " + v.Name + " " + v.Type, "in"})
	}
	constants := map[string]*onnx.Tensor{}
	for _, t := range x.model.Graph.Initializers {
		constants[t.Name] = t
	}
	for _, n := range x.model.Graph.Nodes {
		if t := constantOf(n); t != nil {
			constants[n.Outputs[0]] = t
		}
	}
	bad := map[string]string{}
	for _, o := range x.Operators {
		if !o.Supported {
			bad[o.Op] = o.Reason
		}
	}
	type use struct {
		name string
		box  int
	}
	var uses []use
	for _, n := range x.model.Graph.Nodes {
		if constantOf(n) != nil { // shown in the nodes that use it
			continue
		}
		d := x.drawNode(n, constants)
		if why, ok := bad[opName(n.Domain, n.Op)]; ok {
			d.class, d.title = "bad", d.title+"\nnot supported: "+why
		}
		box := add(d)
		for _, name := range slices.Sorted(maps.Keys(usedNames(n))) {
			uses = append(uses, use{name, box})
		}
		for _, o := range n.Outputs {
			if o != "" {
				makers[o] = box
			}
		}
	}
	for _, v := range x.Outputs {
		uses = append(uses, use{v.Name, add(drawnNode{[]string{shorten(v.Name, 32), shorten(v.Type, 40)}, "output " + v.Name + " " + v.Type, "out"})})
	}
	var names []string
	seen := map[[2]int]bool{}
	for _, u := range uses {
		from, ok := makers[u.name]
		e := [2]int{from, u.box}
		if !ok || from == u.box || seen[e] {
			continue
		}
		seen[e] = true
		layout.edges = append(layout.edges, e)
		names = append(names, u.name)
	}
	width, height := layout.place()

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img" aria-label="The graph of the model">`+"\n", width, height, width, height)
	for i, path := range layout.paths {
		title := names[i]
		if s := x.shapes[names[i]]; s != "" {
			title += " " + s
		}
		fmt.Fprintf(&b, `<path d="%s"><title>%s</title></path>`+"\n", layout.curve(path), html.EscapeString(title))
	}
	for i, n := range nodes {
		p := layout.boxes[i]
		fmt.Fprintf(&b, `<g class="%s"><title>%s</title><rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="5"/>`, n.class, html.EscapeString(n.title), p.x-p.w/2, p.y-p.h/2, p.w, p.h)
		for k, l := range n.lines {
			class := ""
			if k > 0 {
				class = ` class="more"`
			}
			fmt.Fprintf(&b, `<text x="%.1f" y="%.1f"%s>%s</text>`, p.x, p.y-p.h/2+lineHeight*float64(k)+16, class, html.EscapeString(l))
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// constantOf returns the tensor of a Constant node, nil of others.
func constantOf(n *onnx.Node) *onnx.Tensor {
	if a := n.Attr("value"); n.Op == "Constant" && len(n.Outputs) == 1 && a != nil {
		return a.Tensor
	}
	return nil
}

// drawNode describes a node: its operator, the shape it makes, constants and
// attributes.
func (x *inspection) drawNode(n *onnx.Node, constants map[string]*onnx.Tensor) drawnNode {
	d := drawnNode{class: "op", lines: []string{shorten(opName(n.Domain, n.Op), 40)}}
	var title strings.Builder
	fmt.Fprintf(&title, "%s", opName(n.Domain, n.Op))
	if n.Name != "" {
		fmt.Fprintf(&title, " %q", n.Name)
	}
	for i, in := range n.Inputs {
		text := x.shapes[in]
		if t := constants[in]; t != nil {
			text = fmt.Sprintf("constant %s%s", t.Elem, extents(t.Dims))
			if d.class == "op" && len(t.Dims) > 1 {
				d.lines = append(d.lines, shorten(fmt.Sprintf("%s %s", in, extents(t.Dims)), 40))
				d.class = "op weights"
			}
		}
		fmt.Fprintf(&title, "\ninput %d: %s %s", i, in, text)
	}
	for i, o := range n.Outputs {
		fmt.Fprintf(&title, "\noutput %d: %s %s", i, o, x.shapes[o])
	}
	for _, a := range n.Attrs {
		fmt.Fprintf(&title, "\n%s = %s", a.Name, attrText(a))
	}
	d.title = title.String()
	return d
}

// attrText writes an attribute for people.
func attrText(a *onnx.Attr) string {
	switch {
	case a.Ref != "":
		return "attribute " + a.Ref + " of the function"
	case a.Kind == onnx.AttrFloat:
		return fmt.Sprint(a.Float)
	case a.Kind == onnx.AttrInt:
		return fmt.Sprint(a.Int)
	case a.Kind == onnx.AttrString:
		return fmt.Sprintf("%q", shorten(a.Str, 60))
	case a.Kind == onnx.AttrFloats:
		return shorten(fmt.Sprint(a.Floats), 80)
	case a.Kind == onnx.AttrInts:
		return shorten(fmt.Sprint(a.Ints), 80)
	case a.Kind == onnx.AttrTensor && a.Tensor != nil:
		return fmt.Sprintf("%s%s", a.Tensor.Elem, extents(a.Tensor.Dims))
	case a.Kind == onnx.AttrGraph && a.Graph != nil:
		return fmt.Sprintf("a graph of %d nodes", len(a.Graph.Nodes))
	}
	return a.Kind.String()
}

// shorten cuts a text to n characters.
func shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// curve returns the path of an edge, from the bottom of a box to the top of
// another.
func (g *graphLayout) curve(path []int) string {
	var b strings.Builder
	a := g.boxes[path[0]]
	px, py := a.x, a.y+a.h/2
	fmt.Fprintf(&b, "M%.1f %.1f", px, py)
	for _, i := range path[1:] {
		q := g.boxes[i]
		qy := q.y
		if !q.bend {
			qy -= q.h / 2
		}
		mid := (py + qy) / 2
		fmt.Fprintf(&b, " C%.1f %.1f %.1f %.1f %.1f %.1f", px, mid, q.x, mid, q.x, qy)
		px, py = q.x, qy
	}
	return b.String()
}

var inspectPage = template.Must(template.New("inspect").Parse(`<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{{.Model}}</title>
<style>
body { margin: 2rem auto; max-width: 1200px; padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif; color: #222a35; background: #fff }
h1 { font-size: 1.6rem; margin: 0 0 1rem; overflow-wrap: anywhere } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(180px, 1fr)); gap: .5rem 1.5rem; margin: 0 }
dt { color: #6b7685; font-size: .8rem } dd { margin: 0 }
table { border-collapse: collapse } td, th { text-align: left; padding: .1rem 1rem .1rem 0; font-weight: normal } th { color: #6b7685; font-size: .8rem }
.no, pre { color: #b3261e } pre { white-space: pre-wrap }
.graph { overflow: auto; max-height: 85vh; border: 1px solid #d9dee5; border-radius: 6px }
.columns { display: flex; flex-wrap: wrap; gap: 0 3rem }
svg { font: 12px ui-monospace, monospace; display: block; margin: 0 auto }
svg path { fill: none; stroke: #8a94a3; stroke-width: 1.2 } svg path:hover { stroke: #1f6feb; stroke-width: 3 }
svg text { text-anchor: middle; fill: #222a35 } svg text.more { fill: #6b7685 }
svg rect { fill: #f4f6f9; stroke: #8a94a3 } svg g:hover rect { stroke: #1f6feb; stroke-width: 2 }
svg .in rect, svg .out rect { fill: #e3f1e6; stroke: #4c8a5b } svg .weights rect { fill: #e7eefb; stroke: #5a7fc0 } svg .bad rect { fill: #fbe5e3; stroke: #b3261e }
</style>
<h1>{{.Model}}</h1>
<dl>{{range .Facts}}<div><dt>{{index . 0}}</dt><dd>{{index . 1}}</dd></div>{{end}}</dl>
{{if .Problems}}<h2 class="no">It does not run</h2><pre>{{.Problems}}</pre>{{end}}
<div class="columns">
<div><h2>Inputs</h2><table>{{range .Inputs}}<tr><td>{{.Name}}<td>{{.Type}}{{end}}</table>
<h2>Outputs</h2><table>{{range .Outputs}}<tr><td>{{.Name}}<td>{{.Type}}{{end}}</table>
{{if .Largest}}<h2>Largest constants</h2><table>{{range .Largest}}<tr><td>{{.Name}}<td>{{.Type}}<td>{{.Bytes}} bytes{{end}}</table>{{end}}</div>
<div><h2>Operators</h2><table><tr><th>operator<th>nodes<th>{{range .Operators}}<tr><td>{{.Op}}<td>{{.Count}}<td>{{if not .Supported}}<span class="no">{{.Reason}}</span>{{else if .Function}}function of the model{{end}}{{end}}</table></div>
</div>
<h2>Graph</h2>
<div class="graph">
{{.Graph}}
</div>
</html>
`))
