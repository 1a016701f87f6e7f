package lower

import (
	"errors"
	"fmt"
)

// Rule names a reason why nodes are not lowered to one function.
type Rule string

// The rules.
const (
	NotLowered      Rule = "not lowered"                         // a routine: scatter, opaque, rows made of others
	NotAffine       Rule = "index map is not affine"             // a coordinate is no sum of multiples of the axes
	AnotherGroup    Rule = "another reduced group"               // reductions over different numbers of elements
	AlongAnother    Rule = "order along another axis"            // a scan or row program that runs otherwise than the group
	RowSpread       Rule = "row value is spread over other axes" // a reduction would be computed again and again
	RowVaries       Rule = "row value varies along the group"    // a reduction depends on the index it reduces
	MixedTrees      Rule = "sums along different trees"
	NotAlone        Rule = "contraction beside other reductions"
	GatherComputed  Rule = "gathered operand is computed"
	JoinAlongGroup  Rule = "joined along the reduced axis"
	JoinStep        Rule = "joined in steps" // a part that is no box
	ManyPieces      Rule = "too many pieces"
	ManyArguments   Rule = "too many arguments"
	ManyAxes        Rule = "too many axes"
	Recomputed      Rule = "computed again under too many maps"
	NotCovered      Rule = "result is not covered" // a stored result is not written whole by the iteration space
	FaultHidden     Rule = "values that may fault are left out"
	ResultsOfShapes Rule = "results of one node of different shapes"
)

// The limits of a block.
const (
	MaxPieces    = 16
	MaxArguments = 24
	maxSteps     = 512 // nodes emitted per piece, each map counted
	maxRestarts  = 64  // splits and cuts of one block
)

// Refusal says why nodes are not lowered to one function. It is no fault: the
// nodes run in smaller groups.
type Refusal struct {
	Rule       Rule
	Node       int     // position in the group
	Got, Limit float64 // where the rule is about a number
	Detail     string
}

func (r *Refusal) Error() string {
	s := fmt.Sprintf("node %d: %s", r.Node, r.Rule)
	if r.Got != 0 || r.Limit != 0 {
		s += fmt.Sprintf(": %v against %v", r.Got, r.Limit)
	}
	if r.Detail != "" {
		s += ": " + r.Detail
	}
	return s
}

// errNotAffine becomes a Refusal where the node is known.
var errNotAffine = errors.New("index map is not affine")
