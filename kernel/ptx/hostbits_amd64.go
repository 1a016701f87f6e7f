//go:build !noasm && !gccgo && !safe

package ptx

// gonumAssembly says that gonum is built with its assembly for amd64.
const gonumAssembly = true
