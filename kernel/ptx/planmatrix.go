package ptx

import (
	"math"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// planMatrix launches a product on the matrix units, if the device has those of
// Hopper and both operands are bf16 or f16 matrices that the copy engine takes.
func (m *Module) planMatrix(p *Plan, l *kernel.Launch, base []uint64, z sizes, batch int64) (done bool, err error) {
	if !m.target.Matrix || m.target.Major != 9 || len(m.form.rows) != 1 || len(m.form.cols) != 1 || len(m.form.reduced) != 1 || len(m.form.batch) > 1 {
		return false, nil
	}
	x, z1 := m.plainOperand(0), m.plainOperand(1)
	if x < 0 || z1 < 0 || m.k.Args[x].Type != m.k.Args[z1].Type {
		return false, nil
	}
	f := matrixForm{cols: 256}
	tiles := func(cols int64) int64 {
		return batch * ((z.rows + matrixRows - 1) / matrixRows) * ((z.cols + cols - 1) / cols)
	}
	if tiles(256) < m.target.sms() {
		f.cols = 128
	}
	var maps [2]TensorMap
	var ok bool
	if maps[0], f.turnX, ok = m.tensorMap(l, base, x, m.form.rows[0], matrixRows); !ok {
		return false, nil
	}
	if maps[1], f.turnZ, ok = m.tensorMap(l, base, z1, m.form.cols[0], int32(f.cols)); !ok {
		return false, nil
	}
	n := tiles(int64(f.cols))
	if n > math.MaxInt32 {
		return false, nil
	}
	f.pairs = m.vectorResults(l, base)
	e, err := m.matrixEntry(f)
	if err != nil {
		return false, err
	}
	z.items = batch
	p.add(m, e, l, base, z, min(n, m.target.sms()), 1)
	p.Steps[len(p.Steps)-1].Maps = maps[:]
	return true, nil
}

// plainOperand returns the argument that an operand of the product is, converted, or
// -1.
func (m *Module) plainOperand(which int) int {
	dot := &m.k.Body[m.form.dot]
	r := dot.A
	if which == 1 {
		r = dot.B
	}
	cvt := &m.k.Body[r]
	if cvt.Op != kernel.OpCvt || cvt.Type != ir.F32 {
		return -1
	}
	ld := &m.k.Body[cvt.A]
	if ld.Op != kernel.OpLoad || ld.Type != ir.BF16 && ld.Type != ir.F16 {
		return -1
	}
	return int(ld.Imm)
}

// tensorMap describes an operand with lines along an axis of the result. turned says
// that the elements of a line, not those of the group, lie apart.
func (m *Module) tensorMap(l *kernel.Launch, base []uint64, arg, axis int, lines int32) (t TensorMap, turned, ok bool) {
	a, o := &m.k.Args[arg], &l.Args[arg]
	k := m.form.reduced[0]
	side, across := k, axis
	if turned = a.Access[k] != kernel.Unit; turned {
		side, across = axis, k
	}
	t = TensorMap{Arg: arg, Type: a.Type, Base: base[arg] + uint64(2*o.Offset)}
	if a.Access[side] != kernel.Unit || t.Base%16 != 0 {
		return t, turned, false
	}
	t.Extents = [3]int64{l.Extents[side], l.Extents[across], 1}
	t.Strides = [2]int64{2 * o.Strides[across], 2 * o.Strides[across] * l.Extents[across]}
	t.Box = [3]int32{matrixDepth, lines, 1}
	if turned {
		t.Box[1] = matrixDepth
	}
	if len(m.form.batch) == 1 {
		b := m.form.batch[0]
		if o.Strides[b] == 0 && l.Extents[b] > 1 {
			return t, turned, false
		}
		t.Extents[2] = l.Extents[b]
		if l.Extents[b] > 1 {
			t.Strides[1] = 2 * o.Strides[b]
		}
	}
	for _, s := range t.Strides {
		if s <= 0 || s%16 != 0 || s >= 1<<40 {
			return t, turned, false
		}
	}
	return t, turned, true
}

// vectorResults reports whether results are stored eight at a time, and what goes with
// them is read in pairs.
func (m *Module) vectorResults(l *kernel.Launch, base []uint64) bool {
	for i := range m.outside() {
		if a := &m.k.Args[i]; a.Dir == kernel.Out && (a.Type.Size() != 2 && a.Type.Size() != 4 || a.Access[m.form.cols[0]] != kernel.Unit) {
			return false
		}
	}
	return m.neighbours(8, l, base, m.outside(), m.form.cols)
}
