package fusion_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/internal/metamorphic"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/lower"
)

// A paperTarget builds kernels and compiles none.
type paperTarget struct{}

func (paperTarget) Tiles(*lower.Piece) bool { return false }
func (paperTarget) Apart(*lower.Piece) bool { return false }

func (paperTarget) Kernel(p *lower.Piece) (*fusion.Kernel, error) {
	k, params, err := p.Build()
	if err != nil {
		return nil, err
	}
	return &fusion.Kernel{Code: paperCode{k}, Params: params}, nil
}

type paperCode struct{ k *kernel.Kernel }

func (c paperCode) Kernel() *kernel.Kernel { return c.k }
func (paperCode) Generated() bool          { return true }
func (paperCode) Release()                 {}

// A deviceTarget compiles for a device and keeps the kernels by key.
type deviceTarget struct {
	d       *cpu.Device
	kernels map[string]*fusion.Kernel
}

func newDeviceTarget(t testing.TB, opt cpu.Options) *deviceTarget {
	d, err := cpu.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return &deviceTarget{d: d, kernels: map[string]*fusion.Kernel{}}
}

func (x *deviceTarget) Tiles(p *lower.Piece) bool {
	k, _, err := p.Build()
	tiler, ok := backend.As[backend.Tiler](x.d)
	return err == nil && ok && tiler.Tiles(k, p.Extents)
}

func (x *deviceTarget) Apart(p *lower.Piece) bool {
	k, _, err := p.Build()
	tiler, ok := backend.As[backend.Tiler](x.d)
	return err == nil && ok && tiler.Apart(k, p.Results())
}

func (x *deviceTarget) Kernel(p *lower.Piece) (*fusion.Kernel, error) {
	key := p.Key()
	if k := x.kernels[key]; k != nil {
		return k, nil
	}
	k, params, err := p.Build()
	if err != nil {
		return nil, err
	}
	code, err := x.d.Compile(k)
	if err != nil {
		return nil, err
	}
	x.kernels[key] = &fusion.Kernel{Code: code, Params: params}
	return x.kernels[key], nil
}

func parse(t testing.TB, text string) *ir.Program {
	t.Helper()
	p, err := ir.ParseProgram(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// segmentOf makes the segment of a program: its outputs are kept.
func segmentOf(p *ir.Program) *fusion.Segment {
	keep := map[ir.ID]bool{}
	for _, id := range p.Outputs {
		keep[id] = true
	}
	return &fusion.Segment{Inputs: p.Inputs, Nodes: p.Nodes, Keep: func(id ir.ID) bool { return keep[id] }}
}

func planOf(t testing.TB, s *fusion.Segment, opt fusion.PlanOptions) *fusion.Plan {
	t.Helper()
	planner := &fusion.Planner{Target: paperTarget{}, Options: opt}
	plan, err := planner.Plan(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := verify(plan); err != nil {
		t.Fatalf("%v\n%s", err, plan.Explain())
	}
	return plan
}

// verify checks a plan against its segment, by the rules of plans alone: blocks in
// order read only what is stored and not freed, every result that outlives the
// segment is there at the end, every base is freed once, and nothing is modelled
// worse than one block per node.
func verify(p *fusion.Plan) error {
	s := p.Segment
	type place struct{ base ir.ID }
	at := map[ir.ID]place{}
	live := map[ir.ID]bool{}
	dies := map[ir.ID]bool{}
	for i, t := range s.Inputs {
		base := t.ID
		if s.Bases != nil && s.Bases[i] != 0 {
			base = s.Bases[i]
		}
		at[t.ID] = place{base}
		live[base] = true
		if s.Dies != nil && s.Dies[i] {
			dies[base] = true
		}
	}
	input := map[ir.ID]bool{}
	for id := range live {
		input[id] = true
	}
	keep := func(id ir.ID) bool { return s.Keep == nil || s.Keep(id) }
	covered := make([]bool, len(s.Nodes))
	for k, b := range p.Blocks {
		inside := map[ir.ID]bool{}
		if !slices.IsSorted(b.Nodes) {
			return fmt.Errorf("block %d: nodes %v are not in recorded order", k, b.Nodes)
		}
		for _, i := range b.Nodes {
			covered[i] = true
			n := &s.Nodes[i]
			if b.Kind == fusion.DeadBlock {
				for _, t := range n.Out {
					if keep(t.ID) {
						return fmt.Errorf("block %d: %%%d is kept, and called dead", k, t.ID)
					}
				}
				continue
			}
			for _, t := range n.In {
				if inside[t.ID] {
					continue
				}
				where, ok := at[t.ID]
				if !ok {
					return fmt.Errorf("block %d: node %d reads %%%d, which is not there", k, i, t.ID)
				}
				if b.Kind != fusion.ViewBlock && !live[where.base] {
					return fmt.Errorf("block %d: node %d reads %%%d after its base %%%d was freed", k, i, t.ID, where.base)
				}
			}
			for _, t := range n.Out {
				inside[t.ID] = true
			}
		}
		for _, id := range b.Stored {
			if _, ok := at[id]; ok {
				return fmt.Errorf("block %d: %%%d is stored twice", k, id)
			}
			if !inside[id] {
				return fmt.Errorf("block %d: %%%d is stored, and not computed", k, id)
			}
			at[id], live[id] = place{id}, true
		}
		for _, v := range b.Views {
			where, ok := at[v.Of]
			if !ok {
				return fmt.Errorf("block %d: %%%d shows %%%d, which is not there", k, v.ID, v.Of)
			}
			at[v.ID] = where
		}
		for _, piece := range b.Pieces {
			for j, a := range piece.Piece.Args {
				where, ok := at[a.Tensor]
				if !ok {
					return fmt.Errorf("block %d: an argument is %%%d, which is not there", k, a.Tensor)
				}
				if !live[where.base] {
					return fmt.Errorf("block %d: an argument is %%%d, whose base was freed", k, a.Tensor)
				}
				if over := piece.Over[j]; over != 0 && !slices.Contains(b.Last, over) {
					return fmt.Errorf("block %d: %%%d is overwritten and does not die there", k, over)
				}
			}
		}
		for _, id := range b.Last {
			switch {
			case !live[id]:
				return fmt.Errorf("block %d: %%%d is freed, and was not alive", k, id)
			case input[id] && !dies[id]:
				return fmt.Errorf("block %d: the input %%%d is freed, and does not die", k, id)
			}
			delete(live, id)
		}
	}
	for i, c := range covered {
		if !c {
			return fmt.Errorf("no block covers node %d (%s)", i, s.Nodes[i].Row.Name)
		}
		for _, t := range s.Nodes[i].Out {
			where, ok := at[t.ID]
			if keep(t.ID) && (!ok || !live[where.base]) {
				return fmt.Errorf("%%%d outlives the segment, and is not there at the end", t.ID)
			}
			if keep(t.ID) {
				dies[where.base] = false
				input[where.base] = true
			}
		}
	}
	for id := range live {
		if !input[id] || dies[id] && len(p.Blocks) > 0 {
			return fmt.Errorf("%%%d is never freed", id)
		}
	}
	f, u := p.Fused, p.Unfused
	if f.Launches > u.Launches || f.Read+f.Written > u.Read+u.Written || f.Peak > u.Peak {
		return fmt.Errorf("the plan costs %+v, unfused %+v", f, u)
	}
	return nil
}

// execute runs a plan on a device and returns the kept results, by id.
func execute(p *fusion.Plan, d *cpu.Device, inputs [][]byte, first ir.ID) (map[ir.ID]backend.Data, map[ir.ID]error, error) {
	s := p.Segment
	ctx := context.Background()
	next := first
	fresh := func(t ir.Type) ir.Tensor {
		next++
		return ir.Tensor{ID: next, Type: t}
	}
	base := map[ir.ID]ir.Tensor{} // of the device, by id of the segment
	def := map[ir.ID]int{}
	for i := range s.Nodes {
		for _, t := range s.Nodes[i].Out {
			def[t.ID] = i
		}
	}
	for i, t := range s.Inputs {
		if s.Bases != nil && s.Bases[i] != t.ID {
			base[t.ID] = base[s.Bases[i]]
			continue
		}
		base[t.ID] = fresh(t.Type)
		if err := d.Upload(base[t.ID], inputs[i]); err != nil {
			return nil, nil, err
		}
	}
	// name returns the tensor of the device that an operand is, and the views to
	// submit before it can be used.
	var views []ir.Node
	of := map[ir.ID]ir.ID{} // what aliases show
	local := map[ir.ID]ir.Tensor{}
	var name func(t ir.Tensor) ir.Tensor
	name = func(t ir.Tensor) ir.Tensor {
		if x, ok := local[t.ID]; ok {
			return x
		}
		if x, ok := base[t.ID]; ok {
			return x
		}
		n := s.Nodes[def[t.ID]]
		n.In = []ir.Tensor{name(n.In[0])}
		n.Out = []ir.Tensor{fresh(t.Type)}
		views = append(views, n)
		local[t.ID] = n.Out[0]
		return n.Out[0]
	}
	owner := func(id ir.ID) ir.Tensor {
		if x, ok := of[id]; ok {
			id = x
		}
		return base[id]
	}
	for _, b := range p.Blocks {
		views, local = nil, map[ir.ID]ir.Tensor{}
		for _, v := range b.Views {
			of[v.ID] = v.Of
		}
		var consumes []ir.ID
		for _, id := range b.Last {
			consumes = append(consumes, base[id].ID)
		}
		for _, id := range b.Stored {
			for _, i := range b.Nodes {
				for _, t := range s.Nodes[i].Out {
					if t.ID == id {
						base[id] = fresh(t.Type)
					}
				}
			}
		}
		var nodes []ir.Node
		for _, i := range b.Nodes {
			if b.Kind != fusion.KernelBlock && b.Kind != fusion.RoutineBlock {
				continue
			}
			n := s.Nodes[i]
			n.In = slices.Clone(n.In)
			for j := range n.In {
				n.In[j] = name(n.In[j])
			}
			n.Out = slices.Clone(n.Out)
			for j, t := range n.Out {
				if slices.Contains(b.Stored, t.ID) {
					n.Out[j] = base[t.ID]
				} else {
					n.Out[j] = fresh(t.Type)
				}
				local[t.ID] = n.Out[j]
			}
			nodes = append(nodes, n)
		}
		switch b.Kind {
		case fusion.RoutineBlock:
			if err := d.Submit(ctx, append(views, nodes...)); err != nil {
				return nil, nil, err
			}
			for _, v := range views {
				d.Free(v.Out[0].ID)
			}
			d.Free(consumes...)
		case fusion.KernelBlock:
			l := backend.Launch{Nodes: backend.NodesOf(append(views, nodes...)...), Consumes: consumes}
			for _, x := range b.Pieces {
				p := backend.Piece{Kernel: x.Kernel.Code, Extents: x.Piece.Extents, Start: x.Piece.Start, Full: x.Piece.Full, Params: x.Piece.Bind(x.Kernel.Params)}
				for j, a := range x.Piece.Args {
					arg := backend.LaunchArg{Tensor: owner(a.Tensor), Offset: a.Offset, Strides: a.Strides, GatherStride: a.GatherStride, GatherExtent: a.GatherExtent}
					if x.Over[j] != 0 {
						arg.Over = base[x.Over[j]].ID
					}
					p.Args = append(p.Args, arg)
				}
				l.Pieces = append(l.Pieces, p)
			}
			if err := d.Launch(ctx, []backend.Launch{l}); err != nil {
				return nil, nil, err
			}
		default:
			d.Free(consumes...)
		}
	}
	// Kept results, views made explicit.
	views, local = nil, map[ir.ID]ir.Tensor{}
	out, errs := map[ir.ID]backend.Data{}, map[ir.ID]error{}
	for i := range s.Nodes {
		for _, t := range s.Nodes[i].Out {
			if !s.Keep(t.ID) {
				continue
			}
			views = nil
			x := name(t)
			if err := d.Submit(ctx, views); err != nil {
				return nil, nil, err
			}
			data, es, err := d.Read(ctx, x.ID)
			if err != nil {
				return nil, nil, err
			}
			out[t.ID], errs[t.ID] = data[0], es[0]
		}
	}
	return out, errs, nil
}

// unfusedBits runs a program node by node.
func unfusedBits(p *ir.Program, d *cpu.Device, inputs [][]byte, first ir.ID) (map[ir.ID]backend.Data, map[ir.ID]error, error) {
	ctx := context.Background()
	move := func(ts []ir.Tensor) []ir.Tensor {
		out := slices.Clone(ts)
		for i := range out {
			out[i].ID += first
		}
		return out
	}
	for i, t := range move(p.Inputs) {
		if err := d.Upload(t, inputs[i]); err != nil {
			return nil, nil, err
		}
	}
	for _, n := range p.Nodes {
		n.In, n.Out = move(n.In), move(n.Out)
		if err := d.Submit(ctx, []ir.Node{n}); err != nil {
			return nil, nil, err
		}
	}
	out, errs := map[ir.ID]backend.Data{}, map[ir.ID]error{}
	for _, id := range p.Outputs {
		data, es, err := d.Read(ctx, id+first)
		if err != nil {
			return nil, nil, err
		}
		out[id], errs[id] = data[0], es[0]
	}
	return out, errs, nil
}

// compare returns how two runs of a program differ, "" if they do not.
func compare(p *ir.Program, a, b map[ir.ID]backend.Data, ea, eb map[ir.ID]error) string {
	var x, y metamorphic.Outcome
	for _, id := range p.Outputs {
		x.Data, x.Errs = append(x.Data, a[id]), append(x.Errs, ea[id])
		y.Data, y.Errs = append(y.Data, b[id]), append(y.Errs, eb[id])
	}
	return metamorphic.Compare(p, x, y)
}
