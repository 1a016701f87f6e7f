// Package cublaslttest has a library that stands in for cuBLASLt where there is no GPU:
// functions of C with its signatures, over memory of the host. It computes what it is asked
// for by the definition, columns first, and notes every call that breaks a rule of the
// library's.
package cublaslttest
