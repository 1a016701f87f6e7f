package cpu

import (
	"cmp"
	"slices"
	"sort"

	"github.com/sinter-go/sinter/ir"
)

func init() {
	builtinRoutines["sort"] = func(n *ir.Node, in, out []Host) error {
		return sortLanes(n, in[0], out, n.Attr("descending").Bool())
	}
	builtinRoutines["topk"] = func(n *ir.Node, in, out []Host) error {
		return sortLanes(n, in[0], out, n.Attr("largest").Bool())
	}
	builtinRoutines["searchsorted"] = searchSorted
	builtinRoutines["unique"] = unique
}

// keyed is the order of an element and its place. Places differ, so every sort of
// them is stable.
type keyed struct {
	key uint64
	at  int
}

func ascending(a, b keyed) int {
	if c := cmp.Compare(a.key, b.key); c != 0 {
		return c
	}
	return a.at - b.at
}

func descending(a, b keyed) int {
	if c := cmp.Compare(b.key, a.key); c != 0 {
		return c
	}
	return a.at - b.at
}

// sortLanes sorts each lane along the axis and writes as many of its elements,
// and their places, as the result has room for.
func sortLanes(n *ir.Node, x Host, out []Host, down bool) error {
	shape := x.Type.Shape
	axis, err := ir.Axis(int(n.Attr("axis").Int), len(shape))
	if err != nil {
		return err
	}
	outer, extent, inner := split(shape, axis, 1)
	room := out[0].Type.Shape[axis]
	order := ascending
	if down {
		order = descending
	}
	size := x.Type.DType.Size()
	key, places := keysOf(x), view[int64](out[1].Data)
	lane := make([]keyed, extent)
	for o := 0; o < outer; o++ {
		for j := 0; j < inner; j++ {
			for i := range lane {
				lane[i] = keyed{key((o*extent+i)*inner + j), i}
			}
			slices.SortFunc(lane, order)
			for i, e := range lane[:room] {
				to, from := (o*room+i)*inner+j, (o*extent+e.at)*inner+j
				copy(out[0].Data[to*size:][:size], x.Data[from*size:])
				places[to] = int64(e.at)
			}
		}
	}
	return nil
}

func searchSorted(n *ir.Node, in, out []Host) error {
	right := n.Attr("right").Bool()
	x, z := in[0].Type.Shape, in[1].Type.Shape
	extent, each := x[len(x)-1], z.Size() // the z that one row of x serves
	if len(x) > 1 {
		each = z[len(z)-1]
	}
	sorted, wanted, y := keysOf(in[0]), keysOf(in[1]), view[int64](out[0].Data)
	for i := range y {
		row, v := i/each*extent, wanted(i)
		y[i] = int64(sort.Search(extent, func(j int) bool {
			k := sorted(row + j)
			return k > v || k == v && !right
		}))
	}
	return nil
}

func unique(n *ir.Node, in, out []Host) error {
	size := in[0].Type.DType.Size()
	most := out[0].Type.Shape[0]
	inverse, counts := view[int64](out[1].Data), view[int64](out[2].Data)
	all := make([]keyed, in[0].Type.Shape.Size())
	key := keysOf(in[0])
	for i := range all {
		all[i] = keyed{key(i), i}
	}
	slices.SortFunc(all, ascending)
	clear(out[0].Data)
	clear(counts)
	count := -1
	for i, e := range all {
		if i == 0 || e.key != all[i-1].key {
			if count++; count < most { // the first of equal ones stands for all
				copy(out[0].Data[count*size:][:size], in[0].Data[e.at*size:])
			}
		}
		inverse[e.at] = int64(count)
		if count < most {
			counts[count]++
		}
	}
	view[int64](out[3].Data)[0] = int64(count + 1)
	return nil
}
