// Command sinter trains a small network on handwritten digits, classifies digits
// with it, runs, inspects, verifies and measures ONNX models, and lists the
// devices of the machine:
//
//	go run github.com/sinter-go/sinter/cmd/sinter train
//	go run github.com/sinter-go/sinter/cmd/sinter run model.onnx --input x=x.npy
//
// Results go to standard output, progress and errors to standard error. It exits
// with 0 if all went well, 1 if something failed, 2 if it was called wrongly, and
// 130 if it was interrupted.
package main

import "os"

func main() {
	ctx, stop := interruptible()
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
