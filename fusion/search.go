package fusion

import "github.com/sinter-go/sinter/ir"

// Plan finds a plan of the segment.
func (p *Planner) Plan(s *Segment) (*Plan, error) {
	g, err := newGraph(s)
	if err != nil {
		return nil, err
	}
	return p.unfused(g)
}

// Rebind makes the plan of a segment from the plan of one that differs only in
// sizes and in the values of bound attributes.
func (p *Planner) Rebind(old *Plan, s *Segment) (*Plan, error) {
	return nil, ir.Errorf(ir.ErrUnsupported, "the plan does not fit other sizes")
}
