// Package metamorphic runs one random program in many ways and compares bits:
// other generators and numbers of threads, submission in batches, kernels of
// several nodes, a trip through wire form and text, aliases, early frees, reads
// at odd moments. A program that tells two ways apart is shrunk and printed, to
// become a golden case.
package metamorphic
