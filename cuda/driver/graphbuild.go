package driver

import (
	"runtime"
	"unsafe"
)

// Chain is a graph that is built node by node, each behind the one before, and launched
// as a whole. Grids and parameters of its kernels can be changed from launch to launch.
type Chain struct {
	ctx   *Context
	graph uintptr
	exec  uintptr // once it is ready
	last  uintptr
	nodes []uintptr
}

// Edge says when a kernel of a chain is launched.
type Edge uint8

const (
	// Completion launches a kernel when what it follows has ended.
	Completion Edge = iota
	// Programmatic launches a kernel when all blocks of the one that it follows have let
	// their dependents come, or ended. It waits by itself for that one to end, and may only
	// follow a kernel that knows that: see [Context.HasProgrammaticEdges].
	Programmatic
)

// edgeData is the driver's description of an edge.
type edgeData struct {
	from, to, kind uint8
	_              [5]uint8
}

// The driver's numbers of programmatic edges: the port of a kernel that they leave, and
// their kind.
const (
	portProgrammatic = 1
	kindProgrammatic = 1
)

// HasProgrammaticEdges reports whether the driver knows programmatic edges, as those since
// CUDA 12.3 do. Kernels know of them since compute capability 9.0.
func (c *Context) HasProgrammaticEdges() bool { return c.d.fn.graphAddDependencies != 0 }

// kernelNode is the driver's description of a kernel in a graph.
type kernelNode struct {
	function    uintptr
	grid, block Dim
	shared      uint32
	params      unsafe.Pointer
	extra       unsafe.Pointer
	kernel      uintptr
	context     uintptr
}

// NewChain begins a graph. Drivers before CUDA 12 give an [*Unavailable] error.
func (c *Context) NewChain() (*Chain, error) {
	if c.d.fn.graphAddKernel == 0 || c.d.fn.graphExecKernelSetParams == 0 {
		return nil, &Unavailable{Library: library, Reason: "it lacks cuGraphAddKernelNode_v2"}
	}
	g := new(uintptr)
	if err := c.d.check("cuGraphCreate", call(c.d.fn.graphCreate, uintptr(unsafe.Pointer(g)), 0)); err != nil {
		return nil, err
	}
	return &Chain{ctx: c, graph: *g}, nil
}

func describe(f Function, grid, block Dim, shared uint32, p *Params) *kernelNode {
	each, extra := p.point()
	return &kernelNode{function: f.handle, grid: grid, block: block, shared: shared, params: each, extra: extra}
}

// Kernel appends a kernel, which follows the one before it by an edge; the first follows
// none. The driver copies the parameters. A chain that a kernel could not be appended to can
// only be destroyed.
func (x *Chain) Kernel(f Function, grid, block Dim, shared uint32, p *Params, e Edge) error {
	d, node := x.ctx.d, new(uintptr)
	last, follows := &[1]uintptr{x.last}, uintptr(0)
	if x.last != 0 && e == Completion {
		follows = 1
	}
	err := d.check("cuGraphAddKernelNode", call(d.fn.graphAddKernel, uintptr(unsafe.Pointer(node)), x.graph,
		uintptr(unsafe.Pointer(last)), follows, uintptr(unsafe.Pointer(describe(f, grid, block, shared, p)))))
	runtime.KeepAlive(p)
	if err == nil && x.last != 0 && e == Programmatic {
		err = x.followEarly(last, node)
	}
	if err != nil {
		return err
	}
	x.last = *node
	x.nodes = append(x.nodes, *node)
	return nil
}

// followEarly adds a programmatic edge between two nodes. Edges are added one by one: drivers
// are reported to take the description of the first for that of all.
func (x *Chain) followEarly(from *[1]uintptr, to *uintptr) error {
	d := x.ctx.d
	if d.fn.graphAddDependencies == 0 {
		return &Unavailable{Library: library, Reason: "it lacks cuGraphAddDependencies_v2"}
	}
	e := &edgeData{from: portProgrammatic, kind: kindProgrammatic}
	return d.check("cuGraphAddDependencies", call(d.fn.graphAddDependencies, x.graph,
		uintptr(unsafe.Pointer(from)), uintptr(unsafe.Pointer(to)), uintptr(unsafe.Pointer(e)), 1))
}

// Ready makes the graph one that can be launched.
func (x *Chain) Ready() error {
	e := new(uintptr)
	err := x.ctx.d.check("cuGraphInstantiateWithFlags", call(x.ctx.d.fn.graphInstantiate, uintptr(unsafe.Pointer(e)), x.graph, 0))
	x.exec = *e
	return err
}

// SetKernel changes what node i, a kernel, is launched with from now on. Launches that
// are under way keep what they had.
func (x *Chain) SetKernel(i int, f Function, grid, block Dim, shared uint32, p *Params) error {
	d := x.ctx.d
	err := d.check("cuGraphExecKernelNodeSetParams", call(d.fn.graphExecKernelSetParams, x.exec, x.nodes[i],
		uintptr(unsafe.Pointer(describe(f, grid, block, shared, p)))))
	runtime.KeepAlive(p)
	return err
}

// Launch queues the whole graph on a stream.
func (x *Chain) Launch(s Stream) error {
	return x.ctx.d.check("cuGraphLaunch", call(x.ctx.d.fn.graphLaunch, x.exec, s.handle))
}

// Destroy frees the graph; launches that are under way end.
func (x *Chain) Destroy() error {
	d := x.ctx.d
	var err error
	if x.exec != 0 {
		err = d.check("cuGraphExecDestroy", call(d.fn.graphExecDestroy, x.exec))
	}
	if err2 := d.check("cuGraphDestroy", call(d.fn.graphDestroy, x.graph)); err == nil {
		err = err2
	}
	return err
}
