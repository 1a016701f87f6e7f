package fusion

import "fmt"

// Refusal is a fusion that was considered and not done. Producer and Consumer are
// positions in the segment; Rule is one of the constants of this package or a
// [lower.Rule] as text.
type Refusal struct {
	Producer, Consumer int
	Rule               string
	Got, Limit         float64
	Detail             string `json:",omitempty"`
}

// The rules by which the planner refuses what package lower would take.
const (
	RulePeak         = "peak"            // more bytes would be alive at once
	RuleBytes        = "bytes"           // more bytes would be moved
	RuleWork         = "work"            // recomputation costs more than it saves
	RuleCycle        = "cycle"           // the block would depend on itself
	RuleEffects      = "effects"         // the order of effects would change
	RuleNotGenerated = "not generated"   // the device would interpret the kernel
	RuleRoutine      = "routine"         // the device runs it by a routine
	RuleSize         = "block size"      // more nodes than a block may have
	RulePieces       = "too many pieces" // more pieces than a launch may have
	RuleFixed        = "fixed"           // a fuser, or an empty tensor, holds the group as it is
	RuleArguments    = "too many arguments"
	RuleLowering     = "not lowered"   // for another reason than a rule of package lower
	RuleFuser        = "fuser"         // no fuser takes it
	RuleBudget       = "search budget" // the search ended before it was tried
)

// Error describes the refusal in one line.
func (r *Refusal) Error() string {
	s := fmt.Sprintf("not fused with %d: %s (%g, limit %g)", r.Consumer, r.Rule, r.Got, r.Limit)
	if r.Detail != "" {
		s += ": " + r.Detail
	}
	return s
}
