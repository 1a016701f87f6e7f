package onnx

import (
	"fmt"
	"sort"
)

// opDef is one form of an operator: the unit of the table.
type opDef struct {
	name   string
	domain string // "" is ai.onnx
	since  int    // the first version of the domain with this form; 0 is 1
	until  int    // the last version that has the operator; 0 means the newest
	in     arity
	out    arity
	attrs  []attrSpec
	// optional are inputs that may be left out although others come after them, of
	// those that in counts as the least.
	optional []int
	// run computes the outputs. Errors need not name the node.
	run func(c *Call) error
	// host computes the outputs on the host. It is asked first if all inputs are
	// known there and have at most hostLimit elements; errNotHost passes the
	// node on to run.
	host func(c *Call) error
	// keeps says that the outputs have the element type of input 0, whatever it
	// is: the operator only moves elements. Others take narrow types only if
	// narrow is set.
	keeps, narrow bool
	// random says that results differ from call to call: the node is not folded.
	random bool
}

// arity is the least and the greatest number of inputs or outputs; a greatest
// number of -1 is any.
type arity struct{ least, most int }

func (a arity) holds(n int) bool { return n >= a.least && (a.most < 0 || n <= a.most) }

func (a arity) String() string {
	switch {
	case a.most < 0:
		return fmt.Sprintf("at least %d", a.least)
	case a.most == a.least:
		return fmt.Sprint(a.least)
	}
	return fmt.Sprintf("%d to %d", a.least, a.most)
}

var (
	one    = arity{1, 1}
	two    = arity{2, 2}
	three  = arity{3, 3}
	oneTwo = arity{1, 2}
	some   = arity{1, -1}
)

// attrSpec is an attribute of an operator.
type attrSpec struct {
	name     string
	kind     AttrKind
	def      any // int64, float32, string, []int64, []float32, nil for none
	required bool
}

func intAttr(name string, def int64) attrSpec { return attrSpec{name: name, kind: AttrInt, def: def} }
func floatAttr(name string, def float32) attrSpec {
	return attrSpec{name: name, kind: AttrFloat, def: def}
}
func strAttr(name, def string) attrSpec { return attrSpec{name: name, kind: AttrString, def: def} }
func intsAttr(name string, def ...int64) attrSpec {
	return attrSpec{name: name, kind: AttrInts, def: def}
}

// plainAttr is an attribute without a default: ask [Call.HasAttr].
func plainAttr(name string, kind AttrKind) attrSpec { return attrSpec{name: name, kind: kind} }

// need is an attribute that must be there.
func need(name string, kind AttrKind) attrSpec {
	return attrSpec{name: name, kind: kind, required: true}
}

type opKey struct{ domain, name string }

// table has the forms of each operator, in order of their versions.
var table = map[opKey][]*opDef{}

// register adds operators to the table. Files of operators call it for a package
// variable: var _ = register(...).
func register(defs ...opDef) struct{} {
	for i := range defs {
		d := &defs[i]
		d.since = max(d.since, 1)
		k := opKey{d.domain, d.name}
		table[k] = append(table[k], d)
		sort.SliceStable(table[k], func(i, j int) bool { return table[k][i].since < table[k][j].since })
	}
	return struct{}{}
}

// lookup returns the form of an operator in a version of its domain, or why
// there is none.
func lookup(domain, name string, version int64) (*opDef, error) {
	forms := table[opKey{domain, name}]
	if len(forms) == 0 {
		if why := outOfScope(domain, name); why != "" {
			return nil, fmt.Errorf("the operator is out of scope: %s", why)
		}
		return nil, fmt.Errorf("the operator is not supported")
	}
	var found *opDef
	for _, f := range forms {
		if int64(f.since) <= version {
			found = f
		}
	}
	switch {
	case found == nil:
		return nil, fmt.Errorf("the operator is of opset %d, the model imports %d", forms[0].since, version)
	case found.until != 0 && version > int64(found.until):
		return nil, fmt.Errorf("the operator ended with opset %d, the model imports %d", found.until, version)
	}
	return found, nil
}
