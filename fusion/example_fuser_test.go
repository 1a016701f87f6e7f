package fusion_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
)

// A doubleNeg fuser recognises neg after neg and runs a routine of its own.
type doubleNeg struct{}

func (doubleNeg) Name() string { return "double neg" }

func (doubleNeg) Start(s *fusion.Segment, node int) fusion.Builder {
	if s.Nodes[node].Row.Name != "neg" {
		return nil
	}
	return &doubleNegBuilder{s: s, nodes: []int{node}}
}

func (doubleNeg) Restore([]byte) (fusion.Optimization, error) { return copyOnce{}, nil }

type doubleNegBuilder struct {
	s     *fusion.Segment
	nodes []int
}

// Add takes a second neg of what the first gives, and nothing else.
func (b *doubleNegBuilder) Add(node int) *fusion.Refusal {
	first, n := &b.s.Nodes[b.nodes[0]], &b.s.Nodes[node]
	if n.Row.Name != "neg" || n.In[0].ID != first.Out[0].ID || b.s.Keep(first.Out[0].ID) {
		return &fusion.Refusal{Rule: "not the neg of a neg"}
	}
	b.nodes = append(b.nodes, node)
	return nil
}

func (b *doubleNegBuilder) Undo() { b.nodes = b.nodes[:len(b.nodes)-1] }

func (b *doubleNegBuilder) Status() fusion.Status {
	if len(b.nodes) == 2 {
		return fusion.Closed
	}
	return fusion.Open
}

func (b *doubleNegBuilder) Properties() fusion.Properties {
	return fusion.Properties{Ready: len(b.nodes) == 2, Score: 1 << 10}
}

func (b *doubleNegBuilder) Finish() (fusion.Optimization, error) { return copyOnce{}, nil }

// copyRow is what the optimization submits: a row that the device has a routine for.
var copyRow = &ir.Row{
	Name: "example/copy@1", Access: ir.Opaque, Doc: "y = x.",
	Operands: []ir.Operand{{Name: "x", Class: ir.FloatClass}},
	Infer:    func(_ *ir.Row, in []ir.Type, _ ir.Attrs) ([]ir.Type, error) { return in, nil },
}

type copyOnce struct{}

func (copyOnce) Name() string           { return "copy once" }
func (copyOnce) Len() int               { return 2 }
func (copyOnce) MaxDim() int            { return -1 }
func (copyOnce) State() ([]byte, error) { return nil, nil }

// Execute computes the result of the second node from the operand of the first.
func (copyOnce) Execute(ctx context.Context, ops *fusion.Operations) error {
	first, second := &ops.Nodes[0], &ops.Nodes[1]
	return ops.Device.Submit(ctx, []ir.Node{{Row: copyRow, In: first.In, Out: second.Out, Site: second.Site}})
}

// A fuser is given to the planner of a client. Here the plan is made by hand, and its
// one block run on the processor.
func ExampleFuser() {
	device, err := cpu.New(cpu.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer device.Close()
	_ = device.AddRoutine(copyRow.Name, func(c *backend.Call) error {
		copy(c.Out[0].Data, c.In[0].Data)
		return nil
	})
	program, _ := ir.ParseProgram("program p\n  in %1 f32[2]\n  %2 = neg %1\n  %3 = neg %2\n  out %3\n", nil)
	segment := &fusion.Segment{Inputs: program.Inputs, Nodes: program.Nodes, Keep: func(id ir.ID) bool { return id == 3 }}
	planner := &fusion.Planner{Target: paperTarget{}, Fusers: []fusion.Fuser{doubleNeg{}}}
	plan, err := planner.Plan(segment)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(plan.Blocks), "block by", plan.Blocks[0].Fuser)

	ctx := context.Background()
	_ = device.Upload(segment.Inputs[0], binary.NativeEndian.AppendUint32(
		binary.NativeEndian.AppendUint32(nil, math.Float32bits(1.5)), math.Float32bits(-2)))
	ops := &fusion.Operations{Nodes: segment.Nodes, Device: submitter{device}}
	if err := plan.Blocks[0].Optimization.Execute(ctx, ops); err != nil {
		fmt.Println(err)
		return
	}
	data, _, _ := device.Read(ctx, 3)
	for i := range 2 {
		fmt.Println(math.Float32frombits(binary.NativeEndian.Uint32(data[0].Bytes[4*i:])))
	}
	// Output:
	// 1 block by double neg
	// 1.5
	// -2
}

// submitter is a device as an optimization sees it.
type submitter struct{ backend.Backend }

func (submitter) Fresh(t ir.Type) ir.Tensor { return ir.Tensor{ID: 1 << 30, Type: t} }
