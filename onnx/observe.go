package onnx

import "time"

// Step is a node that a run has just executed.
type Step struct {
	Op     string // with its domain, unless that is ai.onnx
	Label  string // names the node as errors do
	Node   *Node
	Depth  int  // of graphs (of If, Loop, Scan) that it is in: 0 in the main one
	Host   bool // nothing was recorded on the device: the results are known on the host
	Inputs []*Value
	// Outputs are nil where nothing needs them. They may be used during the call
	// only.
	Outputs []*Value
	Took    time.Duration // until the node was recorded; steps inside of it included
}

// Observe makes runs call f after each node, on the goroutine of the run: for
// profiles and explanations. f may wait for the device. Steps inside of a node
// come before it.
func Observe(f func(Step)) Option { return func(o *options) { o.observe = f } }

// observed runs a step and reports it.
func (f *frame) observed(s *step) error {
	began := time.Now()
	if err := f.exec(s); err != nil {
		return err
	}
	r := Step{Op: s.op.name, Label: s.label, Node: s.node, Depth: f.run.depth, Took: time.Since(began), Host: true}
	if s.op.domain != "" {
		r.Op = s.op.domain + "." + r.Op
	}
	for _, in := range s.in {
		r.Inputs = append(r.Inputs, f.at(in))
	}
	for _, slot := range s.out {
		var v *Value
		if slot >= 0 {
			v = f.vals[slot]
			r.Host = r.Host && (v == nil || v.host != nil && v.tensor == nil)
		}
		r.Outputs = append(r.Outputs, v)
	}
	f.run.observe(r)
	return nil
}
