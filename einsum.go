package sinter

import (
	"slices"
	"strings"

	"github.com/sinter-go/sinter/internal/callsite"
	"github.com/sinter-go/sinter/ir"
)

// Einsum sums products of elements as a spec says, with one group of letters for
// each operand and one for the result: "bij,bjk->bik" is a batched matrix
// product. A letter that the result lacks is summed over; one that an operand
// has twice takes its diagonal. "..." stands for any axes, which broadcast; the
// result has them if an operand does. Without "->" the result has the axes of
// "...", and in alphabetical order the letters that occur once. Spaces do not
// count. All operands have one dtype, which the result has too.
//
// Operands are combined in pairs, in the order that takes the fewest
// multiplications (of up to 8 operands the best of all orders, of more the cheapest
// pair again and again); so for three and more operands it depends on the extents
// which products are summed first. A pair is one MatMul over views of its operands,
// or a Mul where nothing is summed, which runs over the summed letters in the order
// of the earlier operand. What only one operand has and the result lacks is summed
// before.
func Einsum(spec string, ts ...*Tensor) *Tensor {
	for _, t := range ts {
		if err := t.failure(); err != nil {
			return errored(err)
		}
	}
	e, err := parseEinsum(spec, ts)
	if err != nil {
		return raised("einsum", err, ts)
	}
	return e.run()
}

// raised is a failed operation on several operands.
func raised(op string, err error, ts []*Tensor) *Tensor {
	e := *ir.AsError(err)
	e.Op, e.Site, e.Operands = op, callsite.Find(), typesOf(ts)
	return errored(&e)
}

// label names an axis: a letter, or minus the place from the end of an axis that
// "..." stands for.
type label int

type labelled struct {
	t      *Tensor
	labels []label
}

type einsum struct {
	operands []labelled
	result   []label
	extents  map[label]int
}

func isLabel(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// group splits a group into the letters before and after "...".
func group(spec, text string) (before, after []label, dots bool, err error) {
	head, tail, dots := strings.Cut(text, "...")
	for i, part := range []string{head, tail} {
		for j := 0; j < len(part); j++ {
			if !isLabel(part[j]) {
				return nil, nil, false, ir.Errorf(ir.ErrArgument, "spec %q: %q is neither a letter nor one \"...\" of the group %q", spec, part[j], text)
			}
			if i == 0 {
				before = append(before, label(part[j]))
			} else {
				after = append(after, label(part[j]))
			}
		}
	}
	return before, after, dots, nil
}

// dotted is the labels of n axes that "..." stands for.
func dotted(n int) []label {
	out := make([]label, n)
	for i := range out {
		out[i] = label(i - n)
	}
	return out
}

func parseEinsum(spec string, ts []*Tensor) (*einsum, error) {
	left, right, explicit := strings.Cut(strings.ReplaceAll(spec, " ", ""), "->")
	groups := strings.Split(left, ",")
	if len(groups) != len(ts) {
		return nil, ir.Errorf(ir.ErrArgument, "spec %q has %d groups for %d operands", spec, len(groups), len(ts))
	}
	e := &einsum{extents: map[label]int{}}
	times := map[label]int{}
	wide := 0 // axes that "..." stands for
	for i, t := range ts {
		before, after, dots, err := group(spec, groups[i])
		if err != nil {
			return nil, err
		}
		shape := t.shape()
		n := len(shape) - len(before) - len(after)
		if n < 0 || n > 0 && !dots {
			return nil, ir.Errorf(ir.ErrShape, "spec %q: operand %d has shape %v, but its group %q has %d letters", spec, i, shape, groups[i], len(before)+len(after))
		}
		wide = max(wide, n)
		labels := slices.Concat(before, dotted(n), after)
		for axis, l := range labels {
			times[l]++
			have, seen := e.extents[l]
			switch d := shape[axis]; {
			case !seen || l < 0 && have == 1:
				e.extents[l] = d
			case d == have || l < 0 && d == 1:
			case l < 0:
				return nil, ir.Errorf(ir.ErrShape, "spec %q: axis %d from the end of \"...\" has extent %d, but %d in operand %d", spec, -l, have, d, i)
			default:
				return nil, ir.Errorf(ir.ErrShape, "spec %q: index %c has extent %d, but %d in operand %d", spec, rune(l), have, d, i)
			}
		}
		e.operands = append(e.operands, labelled{t, labels})
	}
	if !explicit {
		e.result = dotted(wide)
		for l := label('A'); l <= 'z'; l++ {
			if times[l] == 1 {
				e.result = append(e.result, l)
			}
		}
		return e, nil
	}
	before, after, dots, err := group(spec, right)
	if err != nil {
		return nil, err
	}
	if wide > 0 && !dots {
		return nil, ir.Errorf(ir.ErrArgument, "spec %q: the result lacks the \"...\" of its operands", spec)
	}
	e.result = slices.Concat(before, dotted(wide), after)
	for i, l := range e.result {
		switch {
		case times[l] == 0:
			return nil, ir.Errorf(ir.ErrArgument, "spec %q: index %c of the result is in no operand", spec, rune(l))
		case slices.Contains(e.result[:i], l):
			return nil, ir.Errorf(ir.ErrArgument, "spec %q: index %c is in the result twice", spec, rune(l))
		}
	}
	return e, nil
}

func (e *einsum) run() *Tensor {
	for i := range e.operands {
		e.operands[i] = e.prepared(i)
	}
	return e.multiplied(e.order(), e.result).ordered(e.result).t
}

// multiplied multiplies the operands of a tree; needed is what the result and the
// operands outside of the tree have.
func (e *einsum) multiplied(c *contraction, needed []label) labelled {
	if c.left == nil {
		return e.operands[c.operand]
	}
	x := e.multiplied(c.left, e.under(c.right, needed))
	z := e.multiplied(c.right, e.under(c.left, needed))
	return e.paired(x, z, needed)
}

// under adds the labels of the operands of a tree to others.
func (e *einsum) under(c *contraction, labels []label) []label {
	if c.left == nil {
		return slices.Concat(labels, e.operands[c.operand].labels)
	}
	return e.under(c.right, e.under(c.left, labels))
}

// prepared takes the diagonals of an operand, drops axes of extent 1 that
// broadcast, and sums over what nothing else has.
func (e *einsum) prepared(i int) labelled {
	o := e.operands[i]
	labels := slices.Clone(o.labels)
	for a := 0; a < len(labels); a++ {
		if b := slices.Index(labels[a+1:], labels[a]); b >= 0 {
			b += a + 1
			o.t = o.t.Diagonal(0, a, b)
			l := labels[a]
			labels = append(slices.Delete(slices.Delete(labels, b, b+1), a, a+1), l)
			a = -1
		}
	}
	others := slices.Clone(e.result)
	for j, other := range e.operands {
		if j != i {
			others = append(others, other.labels...)
		}
	}
	var alone, broad []int
	var kept []label
	for a, l := range labels {
		switch {
		case l < 0 && o.t.shape()[a] != e.extents[l]:
			broad = append(broad, a)
		case !slices.Contains(others, l):
			alone = append(alone, a)
		default:
			kept = append(kept, l)
		}
	}
	if len(alone) > 0 {
		d := o.t.DType()
		if d == Bool {
			return labelled{o.t.raise("einsum", ir.Errorf(ir.ErrDType, "bool elements are not summed; cast them")), kept}
		}
		o.t = o.t.Sum(Over(alone...).KeepDims()).Cast(d)
	}
	if drop := append(alone, broad...); len(drop) > 0 {
		o.t = o.t.Squeeze(drop...)
	}
	return labelled{o.t, kept}
}

// ordered permutes the axes, if they are not in order.
func (o labelled) ordered(labels []label) labelled {
	if slices.Equal(o.labels, labels) {
		return o
	}
	axes := make([]int, len(labels))
	for i, l := range labels {
		axes[i] = slices.Index(o.labels, l)
	}
	return labelled{o.t.Permute(axes...), labels}
}

// merged reshapes to the extents of some labels, and the products of others.
func (e *einsum) merged(t *Tensor, batch []label, groups ...[]label) *Tensor {
	var shape ir.Shape
	for _, l := range batch {
		shape = append(shape, e.extents[l])
	}
	for _, g := range groups {
		n := 1
		for _, l := range g {
			n *= e.extents[l]
		}
		shape = append(shape, n)
	}
	if t.shape().Equal(shape) {
		return t
	}
	return t.Reshape(shape...)
}

// paired multiplies two operands and sums over what both have and nothing needs.
// The operand whose own labels come first in keep gives the rows of the product, so
// that a result in that order is not transposed.
func (e *einsum) paired(x, z labelled, keep []label) labelled {
	var batch, onlyX, onlyZ, sum []label
	for _, l := range x.labels {
		switch {
		case !slices.Contains(z.labels, l):
			onlyX = append(onlyX, l)
		case slices.Contains(keep, l):
			batch = append(batch, l)
		default:
			sum = append(sum, l)
		}
	}
	for _, l := range z.labels {
		if !slices.Contains(x.labels, l) {
			onlyZ = append(onlyZ, l)
		}
	}
	for _, l := range keep {
		if slices.Contains(onlyX, l) {
			break
		}
		if slices.Contains(onlyZ, l) {
			x, z, onlyX, onlyZ = z, x, onlyZ, onlyX
			break
		}
	}
	labels := slices.Concat(batch, onlyX, onlyZ)
	if len(sum) == 0 {
		if slices.Equal(x.labels, z.labels) {
			return labelled{x.t.Mul(z.t), x.labels}
		}
		a := x.ordered(slices.Concat(batch, onlyX)).t
		b := z.ordered(slices.Concat(batch, onlyZ)).t
		for range onlyZ {
			a = a.Unsqueeze(-1)
		}
		for range onlyX {
			b = b.Unsqueeze(len(batch))
		}
		return labelled{a.Mul(b), labels}
	}
	a := e.merged(x.ordered(slices.Concat(batch, onlyX, sum)).t, batch, onlyX, sum)
	b := e.merged(z.ordered(slices.Concat(batch, sum, onlyZ)).t, batch, sum, onlyZ)
	var each [][]label
	for _, l := range slices.Concat(onlyX, onlyZ) {
		each = append(each, []label{l})
	}
	return labelled{e.merged(a.MatMul(b), batch, each...), labels}
}
