// Package fusion plans how a segment of recorded nodes becomes kernels, and
// explains the plan.
//
// A [Segment] is what a stream submits at once. A [Plan] covers it with blocks in
// a legal order: kernels of one or more pieces, views that cost nothing, nodes left
// to routines of the device, and groups that a third party's [Fuser] runs.
//
// The planner sees the segment as a graph of computations: views that strides
// express are no work, and come back as index maps inside kernels or as aliases of
// what is stored. Groups merge with the producers of what they read, near ones
// first and of these the pair that saves most bytes; then those over one iteration
// space that read the same; then kernels of equal height share a launch. What package lower takes is legal; what costs more, or raises the peak, is
// refused; the tree of merges is kept, so that one can be taken back alone. The
// baseline, one block per node in recorded order, is exceeded in modelled bytes,
// launches and peak memory by no plan. Plans carry what an explanation needs, so
// that text, page, tests and tools read one structure.
//
// Plans outlive the process ([Client.SavePlans], [Client.LoadPlans]): a file holds the
// segments and how they were grouped, and every plan is laid out anew from that, so a
// file decides how fast work runs and never what it computes. Machine code is in it
// only by [WithCode] and runs only by [WithTrustedCode]. Work that comes again runs
// without being recorded ([Stream.StartCapture], [Launches.Replay]).
//
// Invariants between packages: blocks are lowered by package lower, which also
// serves devices that run nodes one by one; a plan never changes what a node
// computes, only what is stored between.
package fusion
