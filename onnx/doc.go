// Package onnx runs ONNX models: opsets 7 to the newest, with dynamic shapes,
// control flow, functions, sequences, optional values and external data.
//
//	model, err := onnx.Load("model.onnx")
//	prog, err := model.Compile()          // all that is not supported, at once
//	out, err := prog.Run(ctx, map[string]*sinter.Tensor{"x": x})
//
// A file is read without being trusted: sizes are checked before they are used,
// nesting is bounded, and what is made of a file is bounded by its size.
// [Model.Compile] checks the model and folds constants. [Program.Run] records the
// operators on the device of the inputs; any number of goroutines may call it,
// with any batch size. COVERAGE.md lists the operators.
//
// # How an operator is added
//
// An operator is an opDef in the table: register it in a package variable of the
// file of its family. Its run function sees a [Call] and computes the outputs
// with methods of sinter.Tensor, so that gradients, fusion and devices come by
// themselves:
//
//	var _ = register(opDef{name: "LeakyRelu", in: one, out: one,
//		attrs: []attrSpec{floatAttr("alpha", 0.01)},
//		run: func(c *Call) error {
//			c.Set(0, c.In(0).LeakyRelu(c.Float("alpha")))
//			return nil
//		}})
//
// Forms of several opsets are several opDefs with since. Errors that tensors
// carry are found when run returns. Shapes and other small integers come from
// [Call.HostInts], which waits for the device only if they were computed there.
// Tensors made by constructors go through [Call.Own]; scope.In, Track and Release
// are not for operators. An input may be set as an output as it is. keeps marks
// operators that only move elements; host computes small results on the host.
// [Call.RunGraph] runs graphs of attributes. Test: go test ./onnx/conformance
// with ONNX_CASES=test_leakyrelu picks cases by name.
package onnx
