package main

import (
	"cmp"
	"math"
	"slices"
)

// graphLayout places the boxes of a graph without cycles in layers, each below
// all that it needs, with few crossings of edges.
type graphLayout struct {
	boxes  []layoutBox
	edges  [][2]int // from a box to another
	layers [][]int
	up     [][]int // neighbours in the layer above and below
	down   [][]int
	paths  [][]int // of each edge: its boxes, bends included
}

// layoutBox is a box, or a bend of an edge that passes a layer.
type layoutBox struct {
	w, h  float64
	x, y  float64 // of the middle
	layer int
	bend  bool
}

const (
	layoutGapX = 24
	layoutGapY = 40
	bendWidth  = 6
	// maxSpan is how many layers an edge passes with bends; longer ones are drawn
	// straight, which bounds the number of bends.
	maxSpan = 40
)

// place computes the positions.
func (g *graphLayout) place() (width, height float64) {
	g.assignLayers()
	g.addBends()
	g.order()
	return g.positions()
}

// assignLayers gives each box the layer after the last one of what it needs, and
// moves boxes without inputs down to where they are needed.
func (g *graphLayout) assignLayers() {
	n := len(g.boxes)
	out, in := make([][]int, n), make([][]int, n)
	waits := make([]int, n)
	for _, e := range g.edges {
		out[e[0]] = append(out[e[0]], e[1])
		in[e[1]] = append(in[e[1]], e[0])
		waits[e[1]]++
	}
	var ready []int
	for i := range n {
		if waits[i] == 0 {
			ready = append(ready, i)
		}
	}
	for at := 0; at < len(ready); at++ {
		i := ready[at]
		for _, j := range out[i] {
			g.boxes[j].layer = max(g.boxes[j].layer, g.boxes[i].layer+1)
			if waits[j]--; waits[j] == 0 {
				ready = append(ready, j)
			}
		}
	}
	for i := range n {
		if len(in[i]) == 0 && len(out[i]) > 0 {
			first := g.boxes[out[i][0]].layer
			for _, j := range out[i] {
				first = min(first, g.boxes[j].layer)
			}
			g.boxes[i].layer = max(0, first-1)
		}
	}
}

// addBends splits edges over several layers, and fills layers and neighbours.
func (g *graphLayout) addBends() {
	link := func(a, b int) {
		for len(g.up) < len(g.boxes) {
			g.up, g.down = append(g.up, nil), append(g.down, nil)
		}
		g.down[a] = append(g.down[a], b)
		g.up[b] = append(g.up[b], a)
	}
	g.up, g.down = make([][]int, len(g.boxes)), make([][]int, len(g.boxes))
	for _, e := range g.edges {
		path := []int{e[0]}
		from, to := g.boxes[e[0]].layer, g.boxes[e[1]].layer
		if to-from <= maxSpan {
			for l := from + 1; l < to; l++ {
				g.boxes = append(g.boxes, layoutBox{w: bendWidth, layer: l, bend: true})
				path = append(path, len(g.boxes)-1)
			}
			path = append(path, e[1])
			for i := 1; i < len(path); i++ {
				link(path[i-1], path[i])
			}
		} else {
			path = append(path, e[1])
		}
		g.paths = append(g.paths, path)
	}
	for len(g.up) < len(g.boxes) {
		g.up, g.down = append(g.up, nil), append(g.down, nil)
	}
	for i, b := range g.boxes {
		for len(g.layers) <= b.layer {
			g.layers = append(g.layers, nil)
		}
		g.layers[b.layer] = append(g.layers[b.layer], i)
	}
}

// order sorts each layer by the mean place of the neighbours, downwards and
// upwards in turn.
func (g *graphLayout) order() {
	place := make([]float64, len(g.boxes))
	note := func(layer []int) {
		for i, b := range layer {
			place[b] = float64(i) - float64(len(layer)-1)/2
		}
	}
	for _, l := range g.layers {
		note(l)
	}
	for sweep := range 8 {
		near := g.up
		if sweep%2 == 1 {
			near = g.down
		}
		for k := range g.layers {
			l := g.layers[k]
			if sweep%2 == 1 {
				l = g.layers[len(g.layers)-1-k]
			}
			key := make(map[int]float64, len(l))
			for _, b := range l {
				if key[b] = place[b]; len(near[b]) > 0 {
					key[b] = mean(place, near[b])
				}
			}
			slices.SortStableFunc(l, func(a, b int) int { return cmp.Compare(key[a], key[b]) })
			note(l)
		}
	}
}

func mean(of []float64, at []int) float64 {
	sum := 0.0
	for _, i := range at {
		sum += of[i]
	}
	return sum / float64(len(at))
}

// positions moves boxes under and over their neighbours, as near as the gaps
// between boxes of a layer allow.
func (g *graphLayout) positions() (width, height float64) {
	x := make([]float64, len(g.boxes))
	for _, l := range g.layers {
		at := 0.0
		for _, b := range l {
			x[b] = at + g.boxes[b].w/2
			at += g.boxes[b].w + layoutGapX
		}
		for _, b := range l {
			x[b] -= at / 2
		}
	}
	for sweep := range 12 {
		near := g.up
		if sweep%2 == 1 {
			near = g.down
		}
		for k := range g.layers {
			l := g.layers[k]
			if sweep%2 == 1 {
				l = g.layers[len(g.layers)-1-k]
			}
			g.spread(l, x, near)
		}
	}
	y := 0.0
	low, high := math.Inf(1), math.Inf(-1)
	for _, l := range g.layers {
		tall := 0.0
		for _, b := range l {
			tall = max(tall, g.boxes[b].h)
		}
		for _, b := range l {
			g.boxes[b].x, g.boxes[b].y = x[b], y+tall/2
			low, high = min(low, x[b]-g.boxes[b].w/2), max(high, x[b]+g.boxes[b].w/2)
		}
		y += tall + layoutGapY
	}
	if len(g.boxes) == 0 {
		return 0, 0
	}
	for i := range g.boxes {
		g.boxes[i].x += layoutGapX - low
		g.boxes[i].y += layoutGapX
	}
	return high - low + 2*layoutGapX, y - layoutGapY + 2*layoutGapX
}

// spread places a layer: the least sum of squared distances to the wished places
// that keeps order and gaps (pooling of adjacent violators).
func (g *graphLayout) spread(layer []int, x []float64, near [][]int) {
	type pool struct {
		sum, weight float64
		n           int
	}
	offset := 0.0 // of a box if all stood side by side
	offsets := make([]float64, len(layer))
	var pools []pool
	for i, b := range layer {
		if i > 0 {
			offset += (g.boxes[layer[i-1]].w+g.boxes[b].w)/2 + layoutGapX
		}
		offsets[i] = offset
		wish, weight := x[b], 0.1
		if len(near[b]) > 0 {
			wish, weight = mean(x, near[b]), 1
			if g.boxes[b].bend {
				weight = 4 // straight edges
			}
		}
		pools = append(pools, pool{(wish - offset) * weight, weight, 1})
		for len(pools) > 1 {
			a, c := pools[len(pools)-2], pools[len(pools)-1]
			if a.sum/a.weight <= c.sum/c.weight {
				break
			}
			pools = append(pools[:len(pools)-2], pool{a.sum + c.sum, a.weight + c.weight, a.n + c.n})
		}
	}
	i := 0
	for _, p := range pools {
		for range p.n {
			x[layer[i]] = p.sum/p.weight + offsets[i]
			i++
		}
	}
}
