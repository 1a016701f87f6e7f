package metamorphic

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/irtest"
	"github.com/sinter-go/sinter/lower"
)

// Way is how a program is run. None may change a bit of a result.
type Way struct {
	Name   string
	Open   func() (backend.Backend, error)
	Batch  int    // nodes per submission; 0 means all at once, -1 means random
	Fuse   bool   // runs of elementwise nodes of one shape become one kernel
	Wire   bool   // through wire form first
	Text   bool   // through text form first
	Alias  bool   // operands are used through aliases whose origin is freed
	Free   bool   // tensors are freed after their last use
	Peek   bool   // results are read and flushed between submissions
	Repeat int    // further runs on the same device, on cached kernels
	Seed   uint64 // of the choices above

	Ref     *Way   // gives the truth, for what needs it
	Resize  bool   // programs of other sizes first, whose plans are bound again
	Streams int    // values of a fusing client, recorded on so many streams; 0: ids, through its facade
	Forget  bool   // instead of being freed, values are left to the collector
	Disturb bool   // somebody else flushes all the time
	Script  string // what goes wrong under it, as package faulty says; the truth is computed under the same
}

// Outcome is what a program gives: contents or the error of each output.
type Outcome struct {
	Data []backend.Data
	Errs []error
}

// Run runs a program and returns its outputs.
func (w Way) Run(p *ir.Program, inputs [][]byte) (Outcome, error) {
	return w.RunKnowing(p, inputs, nil)
}

// RunKnowing is Run; what is read before the end is compared with the truth.
func (w Way) RunKnowing(p *ir.Program, inputs [][]byte, truth Truth) (out Outcome, err error) {
	if p, err = w.translated(p); err != nil {
		return out, err
	}
	b, err := w.Open()
	if err != nil {
		return out, err
	}
	defer func() {
		if e := b.Close(); err == nil {
			err = e
		}
	}()
	next := ir.ID(0)
	run := func(p *ir.Program, inputs [][]byte, truth Truth, i int) (Outcome, error) {
		next += 1_000_000
		return w.once(b, p, inputs, truth, next, i)
	}
	for i := 0; i <= w.Repeat; i++ {
		if w.Resize {
			if err := w.others(p, i, run); err != nil {
				return out, err
			}
		}
		if out, err = run(p, inputs, truth, i); err != nil {
			return out, err
		}
		if i < w.Repeat && truth != nil {
			if d := truth.Compare(p, out); d != "" {
				return out, fmt.Errorf("run %d: %s", i, d)
			}
		}
	}
	return out, w.empty(b)
}

// once runs a program on a device.
func (w Way) once(b backend.Backend, p *ir.Program, inputs [][]byte, truth Truth, next ir.ID, i int) (Outcome, error) {
	rng := rand.New(rand.NewPCG(w.Seed, uint64(i)))
	if c, ok := backend.As[*fusion.Client](b); ok && w.Streams > 0 {
		return (&recorder{Way: w, c: c, p: p, rng: rng, truth: truth}).run(inputs)
	}
	r := &runner{Way: w, b: b, p: p, rng: rng, truth: truth, names: map[ir.ID]ir.ID{}, next: next}
	return r.run(inputs)
}

// others runs programs of other sizes.
func (w Way) others(p *ir.Program, i int, run func(*ir.Program, [][]byte, Truth, int) (Outcome, error)) error {
	rng := rand.New(rand.NewPCG(w.Seed, uint64(1000+i)))
	q := Resized(rng, p)
	if q == nil {
		return nil
	}
	inputs := irtest.InputData(rng, q, 0)
	truth, err := w.Ref.TruthOf(q, inputs)
	if err != nil {
		return fmt.Errorf("of other sizes, the reference: %w", err)
	}
	out, err := run(q, inputs, truth, i)
	if err != nil {
		return fmt.Errorf("of other sizes: %w\n%s", err, q)
	}
	if d := truth.Compare(q, out); d != "" {
		return fmt.Errorf("of other sizes: %s\n%s", d, q)
	}
	return nil
}

// empty reports what is live on a device where all was freed or forgotten.
func (w Way) empty(b backend.Backend) error {
	m, ok := backend.As[backend.Memory](b)
	if !ok {
		return nil
	}
	for try := 0; ; try++ {
		u, err := m.MemoryUsage(context.Background())
		if err != nil {
			return fmt.Errorf("memory in use: %w", err)
		}
		if u.Tensors == 0 && u.InUse == 0 {
			return nil
		}
		if try == 20 || w.Streams == 0 && try == 1 { // with streams something may be on its way
			return fmt.Errorf("%d tensors and %d bytes are live at the end", u.Tensors, u.InUse)
		}
		runtime.GC()
		time.Sleep(time.Duration(try) * time.Millisecond)
	}
}

func (w Way) translated(p *ir.Program) (*ir.Program, error) {
	var err error
	if w.Wire {
		if p, err = ir.DecodeWire(p.AppendWire(nil), nil); err != nil {
			return nil, fmt.Errorf("wire form: %w", err)
		}
	}
	if w.Text {
		if p, err = ir.ParseProgram(p.String(), nil); err != nil {
			return nil, fmt.Errorf("text form: %w", err)
		}
	}
	return p, nil
}

type runner struct {
	Way
	b     backend.Backend
	p     *ir.Program
	rng   *rand.Rand
	truth Truth
	names map[ir.ID]ir.ID // of the program's tensors on the device
	next  ir.ID
	uses  map[ir.ID]int // still to come, outputs included
	live  map[ir.ID]bool
	types map[ir.ID]ir.Type // by device id
}

func (r *runner) run(inputs [][]byte) (Outcome, error) {
	r.uses, r.live, r.types = map[ir.ID]int{}, map[ir.ID]bool{}, map[ir.ID]ir.Type{}
	for i := range r.p.Nodes {
		for _, t := range r.p.Nodes[i].In {
			r.uses[t.ID]++
		}
	}
	for _, id := range r.p.Outputs {
		r.uses[id]++
	}
	for i, t := range r.p.Inputs {
		if err := r.b.Upload(r.fresh(t), inputs[i]); err != nil {
			return Outcome{}, err
		}
		r.drop(t.ID)
	}
	for from := 0; from < len(r.p.Nodes); {
		to := len(r.p.Nodes)
		switch {
		case r.Batch > 0:
			to = min(from+r.Batch, to)
		case r.Batch < 0:
			to = min(from+1+r.rng.IntN(5), to)
		}
		if err := r.submit(from, to); err != nil {
			return Outcome{}, err
		}
		from = to
	}
	return r.read()
}

// fresh gives a tensor of the program an id on the device.
func (r *runner) fresh(t ir.Tensor) ir.Tensor {
	r.next++
	r.names[t.ID] = r.next
	r.live[r.next] = true
	r.types[r.next] = t.Type
	return ir.Tensor{ID: r.next, Type: t.Type}
}

// operand returns the id to use a tensor by: now and then an alias, after which
// the old id is freed.
func (r *runner) operand(t ir.Tensor) (ir.Tensor, error) {
	id := r.names[t.ID]
	if r.Alias && r.rng.IntN(3) == 0 {
		y := r.fresh(t)
		if err := r.b.Alias(id, y.ID); err != nil {
			return y, err
		}
		r.b.Free(id)
		delete(r.live, id)
		id = y.ID
	}
	return ir.Tensor{ID: id, Type: t.Type}, nil
}

func (r *runner) submit(from, to int) error {
	var nodes []ir.Node
	flush := func() error {
		err := r.launch(nodes)
		nodes = nil
		return err
	}
	for i := from; i < to; i++ {
		n := r.p.Nodes[i]
		m := ir.Node{Row: n.Row, Attrs: n.Attrs, Site: n.Site}
		chosen := map[ir.ID]ir.Tensor{} // one id per node, however often it is an operand
		for _, t := range n.In {
			if x, ok := chosen[t.ID]; ok {
				m.In = append(m.In, x)
				continue
			}
			if r.Alias && len(nodes) > 0 { // aliases follow what is queued
				if err := flush(); err != nil {
					return err
				}
			}
			x, err := r.operand(t)
			if err != nil {
				return err
			}
			chosen[t.ID] = x
			m.In = append(m.In, x)
		}
		for _, t := range n.Out {
			m.Out = append(m.Out, r.fresh(t))
		}
		nodes = append(nodes, m)
	}
	if err := flush(); err != nil {
		return err
	}
	for i := from; i < to; i++ {
		for _, t := range r.p.Nodes[i].In {
			r.uses[t.ID]--
			r.drop(t.ID)
		}
		for _, t := range r.p.Nodes[i].Out {
			r.drop(t.ID)
		}
	}
	if r.Peek && r.rng.IntN(2) == 0 {
		return r.peek()
	}
	return nil
}

// drop frees a tensor that nobody will use.
func (r *runner) drop(id ir.ID) {
	if x := r.names[id]; r.Free && r.uses[id] == 0 && r.live[x] {
		r.b.Free(x)
		delete(r.live, x)
	}
}

// peek reads some live tensor, or flushes, and forgets what it saw.
func (r *runner) peek() error {
	if r.rng.IntN(2) == 0 {
		if err := r.b.Flush(); err != nil {
			return err
		}
	}
	ids := slices.Sorted(maps.Keys(r.names))
	r.rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, id := range ids {
		x := r.names[id]
		if !r.live[x] {
			continue
		}
		data, errs, err := r.b.Read(context.Background(), x)
		if err != nil || r.truth == nil {
			return err
		}
		if d := r.truth.compare(id, Value{data[0], errs[0]}); d != "" {
			return fmt.Errorf("read before the end: %s", d)
		}
		return nil
	}
	return nil
}

// launch hands nodes over: fusible runs as one kernel, the others as they are.
func (r *runner) launch(nodes []ir.Node) error {
	c, ok := backend.As[backend.Compiler](r.b)
	if !r.Fuse || !ok {
		if len(nodes) == 0 {
			return nil
		}
		return r.b.Submit(context.Background(), nodes)
	}
	for len(nodes) > 0 {
		n := 1
		for fusible(nodes[0]) && n < len(nodes) && n < 12 && fusible(nodes[n]) && nodes[n].Out[0].Shape.Equal(nodes[0].Out[0].Shape) {
			n++
		}
		var err error
		if n > 1 {
			err = r.fused(c, nodes[:n])
		} else {
			err = r.b.Submit(context.Background(), nodes[:1])
		}
		if err != nil {
			return err
		}
		nodes = nodes[n:]
	}
	return nil
}

// fusible reports whether a node may share a kernel.
func fusible(n ir.Node) bool {
	return n.Row.Access == ir.Elementwise && len(n.Out) == 1 && n.Out[0].Shape.Size() > 0
}

// fused runs nodes as one kernel. What comes from outside is made contiguous
// first: a client does not know the layout that a device gave a view.
func (r *runner) fused(c backend.Compiler, nodes []ir.Node) error {
	inside := map[ir.ID]bool{}
	copies := map[ir.ID]ir.ID{}
	var made []ir.ID
	block := make([]ir.Node, len(nodes))
	for i, n := range nodes {
		block[i] = n
		block[i].In = append([]ir.Tensor(nil), n.In...)
		for j, t := range n.In {
			if inside[t.ID] {
				continue
			}
			if copies[t.ID] == 0 {
				r.next++
				copies[t.ID] = r.next
				made = append(made, r.next)
				y := ir.Tensor{ID: r.next, Type: t.Type}
				r.types[y.ID] = t.Type
				if err := r.b.Submit(context.Background(), []ir.Node{lower.CopyNode(t, y, ir.Site{})}); err != nil {
					return err
				}
			}
			block[i].In[j].ID = copies[t.ID]
		}
		inside[n.Out[0].ID] = true
	}
	b, err := lower.New(block, func(id ir.ID) ir.Layout { return ir.Layout{Strides: r.types[id].Shape.Strides()} }, nil)
	if err != nil {
		return err
	}
	l := backend.Launch{Nodes: backend.NodesOf(block...), Consumes: made}
	for _, p := range b.Pieces {
		k, params, err := p.Build()
		if err != nil {
			return err
		}
		exe, err := c.Compile(k)
		if err != nil {
			return err
		}
		defer exe.Release()
		piece := backend.Piece{Kernel: exe, Extents: p.Extents, Start: p.Start, Full: p.Full, Params: p.Bind(params)}
		for _, a := range p.Args {
			piece.Args = append(piece.Args, backend.LaunchArg{Tensor: ir.Tensor{ID: a.Tensor, Type: r.types[a.Tensor]}, Offset: a.Offset,
				Strides: a.Strides, GatherStride: a.GatherStride, GatherExtent: a.GatherExtent, Over: r.over(block, a.Tensor, made)})
		}
		l.Pieces = append(l.Pieces, piece)
	}
	return c.Launch(context.Background(), []backend.Launch{l})
}

// over chooses a copy in whose memory a result of the block may lie: one of its
// type that no node after the result's reads. 0 for none, and for operands.
func (r *runner) over(block []ir.Node, result ir.ID, copies []ir.ID) ir.ID {
	at := slices.IndexFunc(block, func(n ir.Node) bool { return n.Out[0].ID == result })
	if at < 0 || r.rng.IntN(3) == 0 {
		return 0
	}
	for _, id := range copies {
		late := slices.ContainsFunc(block[at+1:], func(n ir.Node) bool {
			return slices.ContainsFunc(n.In, func(t ir.Tensor) bool { return t.ID == id })
		})
		if !late && r.types[id].Equal(r.types[result]) {
			return id
		}
	}
	return 0
}

func (r *runner) read() (Outcome, error) {
	ids := make([]ir.ID, len(r.p.Outputs))
	for i, id := range r.p.Outputs {
		ids[i] = r.names[id]
	}
	data, errs, err := r.b.Read(context.Background(), ids...)
	if err != nil {
		return Outcome{}, err
	}
	for id := range r.live {
		r.b.Free(id)
	}
	return Outcome{data, errs}, nil
}

func differ(a, b backend.Data) int {
	if bytes.Equal(a.Bytes, b.Bytes) {
		return -1
	}
	n := a.Type.DType.Size()
	for i := 0; i+n <= len(a.Bytes); i += n {
		x, y := a.Bytes[i:i+n], b.Bytes[i:i+n]
		if !bytes.Equal(x, y) && !(a.Type.DType.IsFloat() && isNaN(a.Type.DType, x) && isNaN(a.Type.DType, y)) {
			return i / n
		}
	}
	return -1
}

func isNaN(d ir.DType, b []byte) bool {
	var bits uint64
	for i := len(b) - 1; i >= 0; i-- {
		bits = bits<<8 | uint64(b[i])
	}
	return math.IsNaN(ir.Scalar{DType: d, Bits: bits}.Float())
}
