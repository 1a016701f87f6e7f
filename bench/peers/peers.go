// Package peers has the programs that other systems are measured with. Sinter
// does not depend on any of them.
package peers

import _ "embed"

// ORT is a program for node that measures a model with ONNX Runtime, from the npm
// package onnxruntime-node. It takes the model and a number of threads as
// arguments, and requests as lines of JSON.
//
//go:embed ort.mjs
var ORT []byte
