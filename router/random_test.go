package router_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/irtest"
	"github.com/sinter-go/sinter/router"
)

// fate is what became of an output.
type fate struct {
	data []byte
	kind error
}

// direct runs a program on one backend.
func direct(t *testing.T, b backend.Backend, p *ir.Program, in [][]byte) []fate {
	for i, x := range p.Inputs {
		if err := b.Upload(x, in[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Submit(context.Background(), p.Nodes); err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, x := range p.Inputs {
			b.Free(x.ID)
		}
		for _, n := range p.Nodes {
			for _, x := range n.Out {
				b.Free(x.ID)
			}
		}
	}()
	return fates(t, b, p.Outputs)
}

func fates(t *testing.T, b backend.Backend, ids []ir.ID) []fate {
	data, errs, err := b.Read(context.Background(), ids...)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]fate, len(ids))
	for i := range ids {
		out[i].data = canonical(data[i])
		if errs[i] != nil {
			out[i] = fate{kind: ir.AsError(errs[i]).Kind}
		}
	}
	return out
}

// canonical returns contents with one NaN for all: which one a device gives is
// left open.
func canonical(d backend.Data) []byte {
	size := d.Type.DType.Size()
	if !d.Type.DType.IsFloat() {
		return d.Bytes
	}
	var word [8]byte
	for at := 0; at < len(d.Bytes); at += size {
		word = [8]byte{}
		copy(word[:], d.Bytes[at:at+size])
		s := ir.Scalar{DType: d.Type.DType, Bits: binary.LittleEndian.Uint64(word[:])}.Canonical()
		binary.LittleEndian.PutUint64(word[:], s.Bits)
		copy(d.Bytes[at:at+size], word[:])
	}
	return d.Bytes
}

// cut runs a program with every node on a random device: operands elsewhere are
// moved, some twice, some released at once, in submissions of random length.
func cut(t *testing.T, r *router.Router, rng *rand.Rand, p *ir.Program, in [][]byte) []fate {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	var clients []*router.Client
	for _, id := range r.Devices() {
		clients = append(clients, device(t, r, id.String()))
	}
	last := ir.ID(1 << 20)
	where := map[ir.ID]map[*router.Client]ir.ID{}
	pending := map[*router.Client][]ir.Node{}
	flush := func(c *router.Client) {
		if len(pending[c]) == 0 {
			return
		}
		if err := c.Submit(ctx, pending[c]); err != nil {
			t.Fatal(err)
		}
		pending[c] = nil
	}
	for i, x := range p.Inputs {
		c := clients[rng.IntN(len(clients))]
		if err := c.Upload(x, in[i]); err != nil {
			t.Fatal(err)
		}
		where[x.ID] = map[*router.Client]ir.ID{c: x.ID}
	}
	at := func(c *router.Client, x ir.Tensor) ir.ID {
		if id, ok := where[x.ID][c]; ok {
			return id
		}
		for _, src := range clients { // a fixed order, so that runs repeat
			id, ok := where[x.ID][src]
			if !ok {
				continue
			}
			flush(src)
			last++
			if err := c.Receive(ctx, src, ir.Tensor{ID: id, Type: x.Type}, last); err != nil {
				t.Fatal(err)
			}
			if rng.IntN(3) == 0 {
				src.Free(id)
				delete(where[x.ID], src)
			}
			where[x.ID][c] = last
			return last
		}
		t.Fatal("a tensor is nowhere")
		return 0
	}
	for _, n := range p.Nodes {
		c := clients[rng.IntN(len(clients))]
		m := n
		m.In = make([]ir.Tensor, len(n.In))
		for i, x := range n.In {
			m.In[i] = ir.Tensor{ID: at(c, x), Type: x.Type}
		}
		m.Out = append([]ir.Tensor(nil), n.Out...)
		for i := range m.Out {
			where[m.Out[i].ID] = map[*router.Client]ir.ID{c: m.Out[i].ID}
		}
		pending[c] = append(pending[c], m)
		// Its operands may go from here on, so it is submitted now.
		flush(c)
		if rng.IntN(10) == 0 {
			fates(t, c, []ir.ID{m.Out[0].ID}) // a read at an odd moment
		}
	}
	out := make([]fate, len(p.Outputs))
	for i, id := range p.Outputs {
		for _, c := range clients {
			if at, ok := where[id][c]; ok {
				out[i] = fates(t, c, []ir.ID{at})[0]
				break
			}
		}
	}
	for _, w := range where {
		for c, id := range w {
			c.Free(id)
		}
	}
	for _, c := range clients {
		for c.Sync(ctx) != nil { // errors of the program
			if ctx.Err() != nil {
				t.Fatal("Sync does not end")
			}
		}
		if n := c.Live(); n != 0 {
			t.Errorf("%s: %d ids live after the program", c.ID(), n)
		}
	}
	return out
}

// TestRandomCuts: random programs give equal bits on one device, cut at random
// over three, over devices of an inner router, and with nodes placed at random.
func TestRandomCuts(t *testing.T) {
	programs := 60
	if testing.Short() {
		programs = 10
	}
	ref := open(t, "interp")
	t.Cleanup(func() { ref.Close() })
	three := func(o router.Options) *router.Router {
		return owned(t, o, named("cpu", open(t, "cpu")), named("interp", open(t, "interp")), named("faulty", scripted(t, "drop HostMemory\ndelay concat 50us")))
	}
	inner := three(router.Options{Chunk: 512})
	members, err := inner.Members("in")
	if err != nil {
		t.Fatal(err)
	}
	placing := func(n *ir.Node, _ string) string {
		h := uint64(n.Row.Number)
		for _, x := range n.Out {
			h = h*31 + uint64(x.Shape.Size()) + uint64(x.DType)
		}
		return []string{"cpu", "interp", "faulty"}[h%3]
	}
	lacking := owned(t, router.Options{Fallback: true}, named("faulty", scripted(t, "lack op mul add where\nlack dtype i16 f16")), named("cpu", open(t, "cpu")))
	routers := map[string]*router.Router{
		"three": three(router.Options{}), "inner": owned(t, router.Options{}, members...),
		"placed": three(router.Options{Place: placing}), "fallback": lacking,
	}
	for seed := range uint64(programs) {
		rng := rand.New(rand.NewPCG(seed, 3))
		p := irtest.Random(rng, irtest.Options{Nodes: 25, MaxElements: 700, Faults: seed%4 == 3})
		in := irtest.InputData(rng, p, 0.1)
		want := direct(t, ref, p, in)
		for name, r := range routers {
			got := cut(t, r, rand.New(rand.NewPCG(seed, 4)), p, in)
			for i := range got {
				if !errors.Is(got[i].kind, want[i].kind) || !bytes.Equal(got[i].data, want[i].data) {
					t.Errorf("program %d over %s: output %d differs (%v, %v)\n%s", seed, name, i, got[i].kind, want[i].kind, fmt.Sprint(p))
				}
			}
		}
		if t.Failed() {
			return
		}
	}
}
