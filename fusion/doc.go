// Package fusion plans how a segment of recorded nodes becomes kernels, and
// explains the plan.
//
// A [Segment] is what a stream submits at once. A [Plan] covers it with blocks in
// a legal order; each block is one kernel, view, join or routine. Today's planner
// makes blocks of one node ([Unfused]): the baseline that no later planner may
// exceed in modelled bytes, launches or peak memory. Plans carry what an
// explanation needs, so that text, tests and tools read one structure.
//
// Invariants between packages: blocks are lowered by package lower, which also
// serves devices that run nodes one by one; a plan never changes what a node
// computes, only what is stored between.
package fusion
