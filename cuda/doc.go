// Package cuda has NVIDIA GPUs as devices: kernels as PTX text of package
// [github.com/sinter-go/sinter/kernel/ptx], loaded through the driver, without cgo and
// without the toolkit.
//
// A device is one of package cpu with a [cpu.Accelerator], which this package has: what
// a queue, a store, an error or a launch means is decided there. Elementwise kernels,
// reductions, row programs, scans and products give the bits of the processors, and so do
// scatters, sorting, attention of f32, Fourier transforms and factorisations, by kernels
// of their own. Products of bf16 and f16 run on matrix units, and so does attention of both
// in heads of up to 128 on Hopper; they have the bits of the units of that kind of device,
// whatever the shape, the layout, the batch and what is fused. Other rows with routines,
// gradients of a bias of attention and what the generator refuses run on the host over
// copies. A user may have NVIDIA's cuBLASLt multiply matrices instead; see [Products].
//
// Invariants: everything happens on one stream, in the order in which the device asked
// for it, so that memory may be used again as soon as its last use was asked for.
// Kernels are held back until the end of a segment ([batch]); whatever else touches the
// stream lets them go first. Those of a graph may begin before the one before them has
// ended, and then wait for it before they touch memory. A failure of the driver loses the device: every later call
// returns that error, and the process lives on.
package cuda
