// Package divide divides kernels that reduce, or scan, a long axis into kernels
// over its chunks, which run at once. A kernel whose kept axes are short has no
// other parallelism, and as one native call it would hold up the collector.
//
// Where a kernel makes one pass over the reduced axes after another, the divided
// form makes steps: the first kernel of a step writes the results of all chunks of
// the reductions of a pass, then those are folded as the tree of the reduction
// says, and what follows reads them as values of the row. Scans are computed in
// each chunk alone and carried over. Chunks are those of the tree, so the bits are
// those of the undivided kernel.
//
// The package derives kernels and plans launches; whoever runs them compiles the
// kernels and decides by how much a launch gains ([Form.Plan]).
package divide
