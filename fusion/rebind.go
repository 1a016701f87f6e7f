package fusion

import "github.com/sinter-go/sinter/ir"

// Rebind makes the plan of a segment from the plan of one that differs only in
// sizes and in the values of attributes: the same groups in the same order, laid
// out and compiled for the new sizes. An error says which guard failed: what of
// the old plan does not hold for the new sizes.
func (p *Planner) Rebind(old *Plan, s *Segment) (*Plan, error) {
	return nil, ir.Errorf(ir.ErrUnsupported, "the plan does not fit other sizes")
}
