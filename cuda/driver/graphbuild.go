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

// depend is the list of nodes that the next one follows.
func (x *Chain) depend() (list *[1]uintptr, n uintptr) {
	list = &[1]uintptr{x.last}
	if x.last != 0 {
		n = 1
	}
	return list, n
}

func (x *Chain) added(node uintptr) {
	x.last = node
	x.nodes = append(x.nodes, node)
}

func describe(f Function, grid, block Dim, shared uint32, p *Params) *kernelNode {
	each, extra := p.point()
	return &kernelNode{function: f.handle, grid: grid, block: block, shared: shared, params: each, extra: extra}
}

// Kernel appends a kernel. The driver copies the parameters.
func (x *Chain) Kernel(f Function, grid, block Dim, shared uint32, p *Params) error {
	d, node := x.ctx.d, new(uintptr)
	list, n := x.depend()
	err := d.check("cuGraphAddKernelNode", call(d.fn.graphAddKernel, uintptr(unsafe.Pointer(node)), x.graph,
		uintptr(unsafe.Pointer(list)), n, uintptr(unsafe.Pointer(describe(f, grid, block, shared, p)))))
	runtime.KeepAlive(p)
	if err == nil {
		x.added(*node)
	}
	return err
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
