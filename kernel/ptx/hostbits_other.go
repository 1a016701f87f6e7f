//go:build !amd64 || noasm || gccgo || safe

package ptx

const gonumAssembly = false
