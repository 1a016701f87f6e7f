package workload

import (
	"context"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/bench/peers"
	"github.com/sinter-go/sinter/onnx"
)

// operatorModel is a model of one operator: constants among its operands have the
// values of args, the others are its inputs, in order.
func (w *Workload) operatorModel(ctx context.Context, operands []input, args []*sinter.Tensor, given []peers.Input) (*onnx.Model, error) {
	node := w.of.operator(w.Sizes)
	node.Name, node.Outputs = w.Op, []string{"y"}
	g := &onnx.Graph{Name: w.Op, Nodes: []*onnx.Node{node},
		Outputs: []*onnx.ValueInfo{{Name: "y", Type: &onnx.Type{Elem: onnx.ElemOf(w.DType)}}}}
	for i, p := range operands {
		if !p.constant {
			name := given[0].Name
			given = given[1:]
			t := &onnx.Type{Elem: onnx.ElemOf(p.t), HasShape: true}
			for _, n := range p.shape {
				t.Dims = append(t.Dims, onnx.Dim{Size: int64(n)})
			}
			g.Inputs = append(g.Inputs, &onnx.ValueInfo{Name: name, Type: t})
			node.Inputs = append(node.Inputs, name)
			continue
		}
		values, err := sinter.Read(ctx, args[i])
		if err != nil {
			return nil, err
		}
		c, err := onnx.MakeTensor("constant", values[0])
		if err != nil {
			return nil, err
		}
		g.Initializers = append(g.Initializers, c)
		node.Inputs = append(node.Inputs, c.Name)
	}
	return &onnx.Model{IRVersion: 9, Opsets: map[string]int64{"": 20}, Graph: g}, nil
}
