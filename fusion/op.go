package fusion

import (
	"encoding/binary"
	"hash/fnv"
	"io"
	"sync"

	"github.com/sinter-go/sinter/ir"
)

// Op is an operation as a stream records it: a row with those of its attributes
// that decide the structure of a plan. Equal ops are one pointer.
// Sizes and values among the attributes are not part of it: they vary from one
// recording to the next under one plan.
type Op struct {
	Row *ir.Row

	id      uint32
	results int
	sizes   []int // attributes that are sizes: shapes, bounds of slices
	// recipe: results may be computed again from stored operands.
	recipe bool
	// faults: it may fail depending on data, so its line must be the right one.
	faults bool
}

// role is what an attribute is for a plan.
type role uint8

const (
	structural role = iota // part of the op
	sized                  // part of an instance of the plan
	valued                 // a launch parameter
)

func roleOf(s *ir.AttrSpec) role {
	switch {
	case s.Binding || s.Kind == ir.AttrFloat || s.Kind == ir.AttrScalar:
		return valued
	case s.Kind == ir.AttrInts && s.Name != "axes" && s.Name != "axis":
		return sized
	}
	return structural
}

// ops interns operations, for all clients.
var ops opTable

type opTable struct {
	plain sync.Map // *ir.Row -> *Op, of rows without structural attributes

	mu    sync.Mutex
	more  map[opKey]*Op
	taken map[uint32]bool
}

// number gives an operation its id: a hash, so that the order of what is recorded
// apart ([Stream.together]), and with it the key of a plan, is the same in every
// process.
func (o *opTable) number(k opKey) uint32 {
	h := fnv.New32a()
	io.WriteString(h, k.row.Name)
	h.Write([]byte{0, k.row.Version})
	io.WriteString(h, k.attrs)
	id := h.Sum32()
	for o.taken[id] {
		id++
	}
	if o.taken == nil {
		o.taken = map[uint32]bool{}
	}
	o.taken[id] = true
	return id
}

// maxOps bounds the operations that are interned. Beyond it all are forgotten:
// equal ones made before and after are then two, and have two plans.
const maxOps = 1 << 16

type opKey struct {
	row   *ir.Row
	attrs string
}

// OpOf returns the operation of a row with attributes, which [ir.Row.MakeAttrs]
// made.
func OpOf(r *ir.Row, a ir.Attrs) *Op {
	if op, ok := ops.plain.Load(r); ok {
		return op.(*Op)
	}
	key := opKey{row: r}
	plain := true
	var buf []byte
	for i := range r.Attrs {
		if roleOf(&r.Attrs[i]) == structural {
			plain = false
			buf = appendAttr(buf, a[i])
		}
	}
	key.attrs = string(buf)
	ops.mu.Lock()
	defer ops.mu.Unlock()
	if op := ops.more[key]; op != nil {
		return op
	}
	if ops.more == nil || len(ops.more) >= maxOps {
		ops.more = map[opKey]*Op{}
		ops.plain.Clear()
	}
	op := &Op{Row: r, id: ops.number(key), results: r.NumResults()}
	for i := range r.Attrs {
		if roleOf(&r.Attrs[i]) == sized {
			op.sizes = append(op.sizes, i)
		}
	}
	op.faults = r.Effects&ir.EffectFault != 0 || r.Access == ir.Scatter || r.Access == ir.Opaque
	switch r.Access {
	case ir.Scatter, ir.Opaque, ir.Recurrence:
	default:
		op.recipe = r.Effects&ir.EffectCollective == 0
	}
	ops.more[key] = op
	if plain {
		ops.plain.Store(r, op)
	}
	return op
}

func appendAttr(buf []byte, a ir.Attr) []byte {
	buf = append(buf, byte(a.Kind), byte(len(a.List)))
	buf = binary.LittleEndian.AppendUint64(buf, uint64(a.Int))
	buf = binary.LittleEndian.AppendUint64(buf, a.Bits)
	for _, v := range a.List {
		buf = binary.LittleEndian.AppendUint64(buf, uint64(v))
	}
	return buf
}
