// Package lint holds laws of the source as tests: sizes of files, imports between
// packages, one file per operation, no cgo, no stray panics or environment
// variables, generated files and documents that are up to date.
package lint
