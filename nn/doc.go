// Package nn builds models. A model is a plain Go struct whose exported fields
// hold parameters ([sinter.Var]) and layers; nothing is registered and nothing is
// inherited:
//
//	type Net struct {
//		Hidden, Out *nn.Linear
//	}
//
//	func (n *Net) Forward(x *sinter.Tensor) *sinter.Tensor {
//		return n.Out.Forward(n.Hidden.Forward(x).Relu())
//	}
//
// [Params] finds the parameters by reflection and names them after the fields:
// "hidden.weight", "hidden.bias", "out.weight", … [Save] and [Load] use the same
// names, and shapes as other frameworks have them, so that files can be exchanged.
//
// Layers that do something else while training, such as [Dropout] and [BatchNorm],
// have a method ForwardMode that takes a [Mode]; [Forward] passes it on, and
// refuses to train a layer that would drop it. Running statistics are buffers:
// part of [Params] and of files, not trained. Functions without parameters are in
// package [github.com/sinter-go/sinter/nn/fn], more losses in
// [github.com/sinter-go/sinter/nn/loss].
//
// Invariants between packages: a layer never waits and never fails on its own; a
// wrong shape becomes an error of the result, as everywhere in package sinter. A
// layer takes its parameters through [Use], so that they join the scope of its
// input: results go when that scope ends, and a new value of a parameter returns
// the memory of the old one at once. Initial values are a function of the
// generator's seed and the order of construction alone.
package nn
