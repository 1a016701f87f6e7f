package onnx

import (
	"fmt"
	"sort"
	"strings"

	"github.com/sinter-go/sinter/ir"
)

// checkInputs compares values with the declared inputs and lists all that is
// wrong.
func (p *Program) checkInputs(inputs map[string]*Value) error {
	var wrong []string
	known := map[string]bool{}
	for _, d := range p.inputs {
		known[d.Name] = true
		v := inputs[d.Name]
		if v == nil {
			if p.defaults[d.Name] == nil && (d.Type == nil || d.Type.Optional == nil) {
				wrong = append(wrong, fmt.Sprintf("input %q (%s) is missing", d.Name, d.Type))
			}
			continue
		}
		if why := v.mismatch(d.Type); why != "" {
			wrong = append(wrong, fmt.Sprintf("input %q is %s, expected %s", d.Name, why, d.Type))
		}
	}
	var extra []string
	for name := range inputs {
		if !known[name] {
			extra = append(extra, name)
		}
	}
	sort.Strings(extra)
	for _, name := range extra {
		wrong = append(wrong, fmt.Sprintf("the model has no input %q", name))
	}
	if wrong != nil {
		return ir.Errorf(ir.ErrArgument, "onnx: %s", strings.Join(wrong, "; "))
	}
	return nil
}

// mismatch says what a value is if that does not fit a declared type.
func (v *Value) mismatch(t *Type) string {
	switch {
	case t == nil:
		return ""
	case t.Optional != nil:
		if v.isNone {
			return ""
		}
		return v.mismatch(t.Optional)
	case v.isNone || v.isSeq != (t.Sequence != nil):
		return v.kind()
	case v.isSeq:
		for _, e := range v.seq {
			if why := e.mismatch(t.Sequence); why != "" {
				return "a sequence with " + why
			}
		}
		return ""
	}
	shape := v.Shape()
	bad := t.Elem != Undefined && v.Elem != t.Elem || t.HasShape && len(shape) != len(t.Dims)
	for i := range shape {
		bad = bad || t.HasShape && i < len(t.Dims) && t.Dims[i].Size >= 0 && t.Dims[i].Size != int64(shape[i])
	}
	if bad {
		return v.kind()
	}
	return ""
}

func (p *Program) typeOf(input string) *Type {
	for _, d := range p.inputs {
		if d.Name == input {
			return d.Type
		}
	}
	return nil
}
