// Package train runs the loop that trains a model: epochs of shuffled batches,
// evaluation, checkpoints, and a clean end when a context is cancelled.
//
// Invariants between packages: every step has a scope of its own, so memory is
// bounded; the loop reads from the device once an epoch, and records ahead of it
// between; batches depend on the seed, the epoch and their position alone, so a
// training that is resumed from the checkpoint of an epoch gives the bits that it
// would have given without the interruption. So do early stopping, which is a
// function of the reports so far, and the choice of the checkpoints that stay.
//
// Subpackage metric measures predictions, sink writes reports to logs and files.
package train
