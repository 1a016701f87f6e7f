// Package cpu is the device made of the host's processors: kernels are generated
// as machine code where there is a generator, and interpreted elsewhere, with the
// same bits.
//
// Each device has one goroutine, which owns its tensors and runs its queue in
// order, and a pool of workers which it lends to one kernel at a time. Results
// never depend on the number of workers: work is split along parallel axes only.
//
// The same device drives another processor that is an [Accelerator]: package cuda has
// that of NVIDIA GPUs.
package cpu
