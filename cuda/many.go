package cuda

import (
	"math"

	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/cuda/driver"
	"github.com/sinter-go/sinter/kernel/ptx"
)

// Parts of a launch do not depend on each other. Those whose plans take the same steps run
// together: each step of all of them is one step, of the entry that is made for many. Each has
// scratch memory of its own then.

// sharedScratch is what parts that run together have of it at most.
const sharedScratch = 64 << 20

// group is parts that run together, by number; those of a group of one run as they are.
type group struct {
	parts   []int
	scratch int64 // of all of them
	blocks  int64 // most of one step

	functions []*function // of its steps, of parts that run together and are ready
}

// together divides parts into groups, in order of what comes first, or leaves each alone. mu is
// held.
func (g *gpu) together(plans []*planned, alone bool) []group {
	groups := g.groups[:0]
	for i, made := range plans {
		room, blocks := scratchOf(made), int64(0)
		most := 1
		if len(plans) > 1 && !alone && !g.noMany {
			most = g.mostTogether(made)
		}
		for j := range made.Steps {
			blocks = max(blocks, made.Steps[j].Blocks())
		}
		at := -1
		for j := range groups {
			x := &groups[j]
			if len(x.parts) < most && sameSteps(plans[x.parts[0]], made) && x.scratch+room <= sharedScratch && x.blocks+blocks <= math.MaxInt32 {
				at = j
				break
			}
		}
		if at < 0 {
			if at = len(groups); at < cap(groups) {
				groups = groups[:at+1]
				groups[at] = group{parts: groups[at].parts[:0], functions: groups[at].functions[:0]}
			} else {
				groups = append(groups, group{})
			}
		}
		x := &groups[at]
		x.parts, x.scratch, x.blocks = append(x.parts, i), x.scratch+room, x.blocks+blocks
	}
	g.groups = groups
	return groups
}

// scratchOf is what a plan takes beside others.
func scratchOf(made *planned) int64 { return (made.Scratch + 255) &^ 255 }

// mostTogether is how many parts of a plan run together.
func (g *gpu) mostTogether(made *planned) int {
	most := math.MaxInt
	for i := range made.Steps {
		e := made.Steps[i].Entry
		if g.alone[e] {
			return 1
		}
		most = min(most, e.Capacity())
	}
	return most
}

func sameSteps(a, b *planned) bool {
	if len(a.Steps) != len(b.Steps) {
		return false
	}
	for i := range a.Steps {
		if a.Steps[i].Entry != b.Steps[i].Entry {
			return false
		}
	}
	return true
}

// entries are those that groups of plans need.
func entriesOf(plans []*planned, groups []group) (out []*ptx.Entry) {
	for i := range groups {
		made := plans[groups[i].parts[0]]
		for j := range made.Steps {
			e := made.Steps[j].Entry
			if n := len(groups[i].parts); n > 1 {
				e = e.Many(n)
			}
			out = append(out, e)
		}
	}
	return out
}

// readyTogether loads what groups of plans need. Where the driver does not take what many
// parts run as, they run alone from then on: again is true.
func (g *gpu) readyTogether(plans []*planned, groups []group) (again bool, err error) {
	fresh, scratch := 0, int64(0)
	for i := range groups {
		x := &groups[i]
		scratch = max(scratch, x.scratch)
		made := plans[x.parts[0]]
		for j := range made.Steps {
			if len(x.parts) == 1 && made.age != g.age || len(x.parts) > 1 && g.many[made.Steps[j].Entry.Many(len(x.parts))] == nil {
				fresh++
			}
		}
	}
	if err := g.roomFor(fresh); err != nil {
		return false, err
	}
	for i := range groups {
		x := &groups[i]
		made := plans[x.parts[0]]
		if len(x.parts) == 1 {
			if err := g.load(made); err != nil {
				return false, err
			}
			continue
		}
		for j := range made.Steps {
			e := made.Steps[j].Entry
			f, err := g.functionOfMany(e, len(x.parts))
			if x.functions = append(x.functions, f); err != nil {
				if g.refusals[e.Many(len(x.parts)).Text] == nil { // want of memory, say, which passes
					return false, refused(err)
				}
				if g.alone == nil {
					g.alone = map[*ptx.Entry]bool{}
				}
				g.alone[e] = true
				again = true
			}
		}
	}
	return again, g.needScratch(scratch)
}

// functionOfMany is the function of so many launches of an entry.
func (g *gpu) functionOfMany(e *ptx.Entry, n int) (*function, error) {
	many := e.Many(n)
	if f := g.many[many]; f != nil {
		return f, nil
	}
	f, err := g.function(many)
	if err != nil {
		return nil, err
	}
	if g.many == nil {
		g.many = map[*ptx.Entry]*function{}
	}
	g.many[many] = f
	return f, nil
}

// appendTogether holds back the steps of parts that run together.
func (g *gpu) appendTogether(parts []cpu.Bound, x *group, fault driver.Ptr) error {
	first := g.plans[x.parts[0]]
	for len(g.merged) < len(first.Steps) {
		g.merged = append(g.merged, ptx.Step{})
	}
	for j := range first.Steps {
		s, e := &g.merged[j], first.Steps[j].Entry
		g.blocks = g.blocks[:0]
		s.GridX = 0
		for _, i := range x.parts {
			n := uint32(g.plans[i].Steps[j].Blocks())
			g.blocks = append(g.blocks, n)
			s.GridX += n
		}
		s.Entry, s.GridY = e.Many(len(x.parts)), 1
		s.Params = e.AppendMany(s.Params[:0], g.blocks)
	}
	at := int64(0)
	for _, i := range x.parts { // parts may share a plan: each is moved right before it is read
		made := g.plans[i]
		p := parts[i].Program.(*program)
		made.Rebind(parts[i].Launch, p.bases(parts[i].Launch))
		made.Bind(uint64(g.scratch)+uint64(at), uint64(fault))
		at += scratchOf(made)
		for j := range made.Steps {
			g.merged[j].Params = made.Steps[j].AppendTo(g.merged[j].Params)
		}
	}
	for j := range first.Steps {
		s := &g.merged[j]
		for len(s.Params) < s.Entry.ParamBytes()/8 {
			s.Params = append(s.Params, 0)
		}
		if err := g.batch.add(g, s, x.functions[j]); err != nil {
			return refused(err)
		}
	}
	return nil
}
