package metamorphic

import (
	"fmt"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// Truth is what every tensor of a program holds, or its error, by the reference:
// whatever a way reads at any moment is compared with it.
type Truth map[ir.ID]Value

// Value is the contents of a tensor, or its error.
type Value struct {
	Data backend.Data
	Err  error
}

// TruthOf runs a program by a way, with all its tensors as outputs.
func (w Way) TruthOf(p *ir.Program, inputs [][]byte) (Truth, error) {
	all := &ir.Program{Name: p.Name, Inputs: p.Inputs, Nodes: p.Nodes}
	for _, t := range p.Inputs {
		all.Outputs = append(all.Outputs, t.ID)
	}
	for i := range p.Nodes {
		for _, t := range p.Nodes[i].Out {
			all.Outputs = append(all.Outputs, t.ID)
		}
	}
	out, err := w.Run(all, inputs)
	if err != nil {
		return nil, err
	}
	truth := Truth{}
	for i, id := range all.Outputs {
		truth[id] = Value{out.Data[i], out.Errs[i]}
	}
	return truth, nil
}

// Compare describes the first output that is not what the truth says, "" if there
// is none: which NaN aside, and of errors the device and with
// what the operation was fused aside.
func (t Truth) Compare(p *ir.Program, out Outcome) string {
	for i, id := range p.Outputs {
		if d := t.compare(id, Value{out.Data[i], out.Errs[i]}); d != "" {
			return "output " + d
		}
	}
	return ""
}

// compare describes how what was read of a tensor differs.
func (t Truth) compare(id ir.ID, got Value) string {
	want, ok := t[id]
	if !ok {
		return fmt.Sprintf("%%%d is no tensor of the program", id)
	}
	switch x, y := want.Err, got.Err; {
	case (x == nil) != (y == nil):
		return fmt.Sprintf("%%%d: errors %v and %v", id, x, y)
	case x != nil:
		e, f := *ir.AsError(x), *ir.AsError(y)
		e.Device, f.Device, e.Detail, f.Detail = "", "", "", ""
		if e.Error() != f.Error() || e.Kind != f.Kind {
			return fmt.Sprintf("%%%d: errors %q (%v) and %q (%v)", id, x, e.Kind, y, f.Kind)
		}
		return ""
	case !want.Data.Type.Equal(got.Data.Type):
		return fmt.Sprintf("%%%d: types %v and %v", id, want.Data.Type, got.Data.Type)
	case len(want.Data.Bytes) != len(got.Data.Bytes):
		return fmt.Sprintf("%%%d: %d and %d bytes", id, len(want.Data.Bytes), len(got.Data.Bytes))
	}
	if at := differ(want.Data, got.Data); at >= 0 {
		n := want.Data.Type.DType.Size()
		return fmt.Sprintf("%%%d %v, element %d: bytes %x and %x", id, want.Data.Type, at, want.Data.Bytes[at*n:][:n], got.Data.Bytes[at*n:][:n])
	}
	return ""
}

// Compare describes the first difference of two outcomes of a program, as
// [Truth.Compare] does.
func Compare(p *ir.Program, want, got Outcome) string {
	truth := Truth{}
	for i, id := range p.Outputs {
		truth[id] = Value{want.Data[i], want.Errs[i]}
	}
	return truth.Compare(p, got)
}
