// Package conformance runs models in the test layout of ONNX: folders with
// model.onnx, test_data_set_N/input_I.pb and output_I.pb, and perhaps tol.txt
// with a relative and an absolute tolerance.
//
// A case is unsupported if the model does not compile, because of operators,
// types or attributes that package onnx lacks; it fails if anything else goes
// wrong, above all if an element is out of tolerance.
package conformance
