//go:build linux && (amd64 || arm64)

package drivertest

import "slices"

// Codes of errors.
const (
	invalidValue = 1
	notSupported = 801
)

// graph is a graph of kernels.
type graph struct{ nodes []node }

// node is a kernel of a graph, and the one that it follows.
type node struct {
	handle   uintptr
	function uintptr
	name     string
	after    uintptr // 0 if it follows none
	early    bool    // by a programmatic edge
}

// node finds one by its handle.
func (g *graph) node(h uintptr) *node {
	for i := range g.nodes {
		if g.nodes[i].handle == h {
			return &g.nodes[i]
		}
	}
	return nil
}

// chained reports whether each kernel follows the one that was added before it.
func (g *graph) chained() bool {
	last := uintptr(0)
	for _, n := range g.nodes {
		if n.after != last {
			return false
		}
		last = n.handle
	}
	return true
}

func (g *graph) names() (list []string) {
	for _, n := range g.nodes {
		list = append(list, n.name)
	}
	return list
}

func (g *graph) early() (list []bool) {
	for _, n := range g.nodes {
		list = append(list, n.early)
	}
	return list
}

// Early tells of each kernel of the graph that was launched last whether it follows the one
// before it by a programmatic edge.
func (f *Fake) Early() []bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.early)
}

// addKernel adds a kernel behind at most one other.
func (f *Fake) addKernel(out uintptr, g *graph, list, number, kernel uintptr) uintptr {
	n := node{handle: f.handle(), function: *address[uintptr](kernel)}
	n.name = f.names[n.function]
	if number > 1 {
		return invalidValue
	}
	if number == 1 {
		n.after = *address[uintptr](list)
		if g.node(n.after) == nil {
			return invalidValue
		}
	}
	g.nodes = append(g.nodes, n)
	return set(out, n.handle)
}

// addEdge adds a programmatic edge to a kernel that follows none. Its description is of 8
// bytes: the port that it leaves by, 1 for programmatic ones, the port that it comes to, its
// kind, 1 likewise, and five zeros.
func (f *Fake) addEdge(g *graph, from, to, description, number uintptr) uintptr {
	if f.RefuseEdges {
		return notSupported
	}
	if number != 1 || string(bytesAt(description, 8)) != "\x01\x00\x01\x00\x00\x00\x00\x00" {
		return invalidValue
	}
	before, n := g.node(*address[uintptr](from)), g.node(*address[uintptr](to))
	if before == nil || n == nil || before == n || n.after != 0 {
		return invalidValue
	}
	n.after, n.early = before.handle, true
	return 0
}

// setKernel changes what a kernel is launched with, but for its function.
func (f *Fake) setKernel(g *graph, h, kernel uintptr) uintptr {
	if f.RefuseChanges {
		return notSupported
	}
	if n := g.node(h); n == nil || n.function != *address[uintptr](kernel) {
		return invalidValue
	}
	return 0
}
