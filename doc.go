// Package sinter is tensors for Go, built to fuse.
//
// Programs are written in ordinary, eager-looking Go. Operations are recorded on
// a stream and run on the device that their tensors live on:
//
//	x := sinter.FromSlice([]float32{1, 2, 3, 4}, 2, 2)
//	y := x.MatMul(x).Add(1).Relu()
//	fmt.Println(y)
//
// A [Tensor] has a dtype at run time and a shape; shapes broadcast as numpy's do;
// tensors never promote their dtype by themselves, Go constants adapt to it.
// Bad input is no panic: an operation that cannot be done gives a tensor that carries an
// error with operation, shapes and the caller's file and line, passes it on to
// everything computed from it, and returns it when read ([Data], [Read],
// [Tensor.Err]). Only calls that wait take a context.
//
// Memory is returned when a tensor is released, when its [Scope] ends, or when
// the garbage collector finds it unreachable. Training loops and services use
// scopes.
//
// Every result has the same bits on every run, thread count and processor, any
// NaN counting as any NaN (linear algebra and Fourier transforms: per processor
// architecture); see ARCHITECTURE.md for how, and RATIONALE.md for why.
package sinter

//go:generate go run ./internal/gen tensor_ops.go
