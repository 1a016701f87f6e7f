// Package data holds samples for training and evaluation as plain Go slices:
// reading them, splitting them, walking over them in shuffled batches. It
// depends on no other package of the project, and no tensor appears in it:
// whoever trains gathers the rows of a batch and hands them to a device. A [Loader]
// makes batches of anything ahead of its consumer; subpackage npy has numpy's files.
//
// Everything random here depends on its seed alone: splits and batches are the
// same on every machine, whatever its word size, and stay the same.
//
// The package embeds one small data set, see [Digits]: "Optical Recognition of
// Handwritten Digits", E. Alpaydin and C. Kaynak (1998), UCI Machine Learning
// Repository, https://archive.ics.uci.edu/dataset/80, licensed under CC BY 4.0
// (https://creativecommons.org/licenses/by/4.0/). DIGITS.md says more.
package data
