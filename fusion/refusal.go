package fusion

import "fmt"

// Refusal is a fusion that was considered and not done. Producer and Consumer are
// positions in the segment, equal if a node could not become a kernel at all. Rule
// is one of the constants of this package, a [lower.Rule] as text, or a third
// party's.
type Refusal struct {
	Producer int     `json:"producer"`
	Consumer int     `json:"consumer"`
	Rule     string  `json:"rule"`
	Got      float64 `json:"got,omitempty"`
	Limit    float64 `json:"limit,omitempty"`
	Detail   string  `json:"detail,omitempty"`
}

// The rules by which the planner refuses what package lower would take.
const (
	RulePeak         = "peak"               // more bytes would be alive at once
	RuleBytes        = "bytes"              // more bytes would be moved
	RuleWork         = "work"               // recomputation costs more than it saves
	RuleCycle        = "cycle"              // the block would depend on itself
	RuleNotGenerated = "not generated"      // the device would interpret the kernel, and generate its parts
	RuleApart        = "faster apart"       // a product and the rest, as kernels of their own
	RuleRoutine      = "routine"            // the device runs it by a routine
	RuleSize         = "block size"         // more nodes than a block may have
	RuleFixed        = "fixed"              // a fuser holds it, or an operand is empty
	RuleArguments    = "too many arguments" // more than a kernel may have
	RuleGather       = "gathered value is computed"
	RuleGroups       = "another reduced group"
	RuleLowering     = "not lowered"   // for another reason than a rule of package lower
	RuleFuser        = "fuser"         // a fuser found a group ready and did not finish it
	RuleBudget       = "search budget" // the search ended before it was tried
)

// Error describes the refusal in one line.
func (r *Refusal) Error() string { return r.text() }

func (r Refusal) text() string {
	s := fmt.Sprintf("%d not fused with %d: %s", r.Producer, r.Consumer, r.Rule)
	if r.Producer == r.Consumer {
		s = fmt.Sprintf("%d is no kernel: %s", r.Producer, r.Rule)
	}
	if r.Got != 0 || r.Limit != 0 {
		s += fmt.Sprintf(" (%g, limit %g)", r.Got, r.Limit)
	}
	if r.Detail != "" {
		s += ": " + r.Detail
	}
	return s
}
