package kernel

// Divided is an executable that divides its own launches, because its tasks share
// what slices would each do again: operands that are packed once, the results of
// chunks of one long row.
type Divided interface {
	Executable

	// Divide returns the work of a launch, for up to so many goroutines at once, or
	// nil: then the launch is run, whole or in slices. The results have the bits
	// that Run gives, whatever the number of goroutines.
	Divide(l *Launch, threads int) *Work
}

// Work is a launch that was divided. Release, if there is one, is called once
// when its phases are through, or are given up.
type Work struct {
	Phases  []Phase
	Release func()
}

// Phase is a step of a work: it begins when the phase before it is done, and its
// tasks run in any order or at once. A task is short, some tens of microseconds if
// it can be: generated code is not preempted.
type Phase struct {
	Tasks int64
	Cost  int64 // of all tasks together, in instructions times elements
	Do    func(task int64)
}
