package driver

import "unsafe"

// Graph is a recorded sequence of work, ready to be launched as a whole. A
// launch of many kernels costs the host about as much as one.
type Graph struct {
	d     *Driver
	graph uintptr
	exec  uintptr
}

// captureThreadLocal forbids unsafe calls only on the capturing thread.
const captureThreadLocal = 1

// Capture records the work that f submits to the stream instead of running it.
func (s Stream) Capture(f func() error) (*Graph, error) {
	if err := s.d.check("cuStreamBeginCapture", call(s.d.fn.streamBeginCapture, s.handle, captureThreadLocal)); err != nil {
		return nil, err
	}
	ferr := f()
	g, x := new(uintptr), new(uintptr)
	// The capture is ended even after an error, so that the stream is usable.
	if err := s.d.check("cuStreamEndCapture", call(s.d.fn.streamEndCapture, s.handle, uintptr(unsafe.Pointer(g)))); err != nil && ferr == nil {
		ferr = err
	}
	if ferr != nil {
		if *g != 0 {
			call(s.d.fn.graphDestroy, *g)
		}
		return nil, ferr
	}
	if err := s.d.check("cuGraphInstantiateWithFlags", call(s.d.fn.graphInstantiate, uintptr(unsafe.Pointer(x)), *g, 0)); err != nil {
		call(s.d.fn.graphDestroy, *g)
		return nil, err
	}
	return &Graph{d: s.d, graph: *g, exec: *x}, nil
}

// Launch queues the whole graph on a stream.
func (g *Graph) Launch(s Stream) error {
	return g.d.check("cuGraphLaunch", call(g.d.fn.graphLaunch, g.exec, s.handle))
}

// Destroy frees the graph once no launch of it is pending.
func (g *Graph) Destroy() error {
	err := g.d.check("cuGraphExecDestroy", call(g.d.fn.graphExecDestroy, g.exec))
	if err2 := g.d.check("cuGraphDestroy", call(g.d.fn.graphDestroy, g.graph)); err == nil {
		err = err2
	}
	return err
}
