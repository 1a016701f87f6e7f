package fusion

// Cost is what a plan or a block is modelled to take.
type Cost struct {
	Launches      int
	Read, Written int64   // bytes, each distinct base once per block
	Peak          int64   // bytes of results alive at once
	Work          float64 // scalar instructions
}

// The prices of the model, in bytes moved.
const (
	launchBytes = 16 << 10 // of one launch
	workBytes   = 0.25     // of one scalar instruction
)

// Total returns the cost as a number of bytes.
func (c Cost) Total() float64 {
	return float64(c.Launches)*launchBytes + float64(c.Read) + float64(c.Written) + c.Work*workBytes
}
