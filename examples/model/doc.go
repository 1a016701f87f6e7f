// Command model runs an ONNX model with an input "x" of three columns and prints
// its output "y". It is the program of the README.
package main
