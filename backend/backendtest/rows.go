package backendtest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/ir"
)

// reference is the interpreter on one thread.
var reference = sync.OnceValues(func() (*cpu.Device, error) {
	return cpu.New(cpu.Options{ID: "reference", Generator: cpu.Interpret, Threads: 1})
})

// maxFailures bounds the cases of a row that are reported.
const maxFailures = 3

// rows calls every row with every dtype and layout.
func (s *suite) rows(t *testing.T) {
	ref, err := reference()
	if err != nil {
		t.Fatal(err)
	}
	c := s.client(t)
	before, counted := c.usage()
	refClient := &client{T: t, b: ref}
	refClient.last.Store(refIDs.Add(1) << 32)
	kind := c.b.Info().Kind
	dtypes := map[ir.DType]bool{}
	names := map[string]bool{}
	total, failed := 0, map[string]int{}
	report := func(x *testCase, err error) {
		if failed[x.row.Name]++; failed[x.row.Name] <= maxFailures {
			t.Errorf("%s: %v", x.name, err)
		}
	}
	var batch []*testCase
	flush := func() {
		for x, err := range refer(refClient, batch) {
			report(x, err)
		}
		for i, err := range compare(c, kind, batch) {
			if err != nil {
				report(batch[i], err)
			}
		}
		batch = batch[:0]
	}
	for i, x := range allCases() {
		if s.shares > 0 && i%s.shares != s.share {
			continue
		}
		if s.only != nil && !s.only.MatchString(x.row.Name) {
			continue
		}
		if !x.usable(c.b) || s.largeOnly && !x.large() {
			continue
		}
		for _, ty := range append(x.in[:len(x.in):len(x.in)], x.out...) {
			dtypes[ty.DType] = true
		}
		names[x.row.Name] = true
		total++
		if batch = append(batch, x); len(batch) == batchCases {
			flush()
		}
	}
	flush()
	for name, n := range failed {
		t.Errorf("%s: %d cases failed", name, n)
	}
	if err := c.sync(); err != nil {
		t.Errorf("Sync after the rows: %v", err)
	}
	if after, _ := c.usage(); counted && (after.Tensors != before.Tensors || after.InUse != before.InUse) {
		t.Errorf("%d tensors and %d bytes live after all were freed, before %d and %d",
			after.Tensors, after.InUse, before.Tensors, before.InUse)
	}
	t.Logf("%d rows × dtypes × layouts: %d cases over %d dtypes and %d layouts", len(names), total, len(dtypes), len(layouts))
}

// refIDs keeps the ids of clients of the shared reference apart.
var refIDs counter

type counter struct {
	sync.Mutex
	n uint64
}

func (c *counter) Add(n uint64) uint64 {
	c.Lock()
	defer c.Unlock()
	c.n += n
	return c.n
}

// large reports whether devices may split the work of the case.
func (x *testCase) large() bool {
	for _, t := range append(x.in[:len(x.in):len(x.in)], x.out...) {
		if t.Shape.Size() > period {
			return true
		}
	}
	return false
}

// usable reports whether a backend computes with all the dtypes of the case.
func (x *testCase) usable(b backend.Backend) bool {
	for _, t := range append(x.in[:len(x.in):len(x.in)], x.out...) {
		if b.Usage(t.DType)&backend.CanCompute == 0 {
			return false
		}
	}
	return true
}

// batchCases is how many cases are submitted before their results are read.
const batchCases = 32

var referring sync.Mutex

// refer runs cases on the reference, over contiguous operands, once, and compares
// with the definitions of the rows. It returns what it found for the first time.
func refer(c *client, batch []*testCase) map[*testCase]error {
	referring.Lock()
	defer referring.Unlock()
	found := map[*testCase]error{}
	var todo []*testCase
	var in, out [][]ir.Tensor
	var logical [][]host
	for _, x := range batch {
		if x.referred {
			continue
		}
		x.referred = true
		l, _, _ := x.data()
		var ts []ir.Tensor
		for _, h := range l {
			ts = append(ts, c.upload(h.typ, h.encode()))
		}
		todo, logical, in, out = append(todo, x), append(logical, l), append(in, ts), append(out, x.call(c, ts))
	}
	for i, r := range results(c, todo, in, out) {
		if todo[i].want, todo[i].err = r.out, r.err; r.err == nil {
			todo[i].err = check(todo[i], logical[i], r.out)
		}
		if todo[i].err != nil {
			found[todo[i]] = todo[i].err
		}
	}
	return found
}

// call submits the operation and returns its results.
func (x *testCase) call(c *client, in []ir.Tensor) []ir.Tensor {
	n := c.infer(x.row, in, x.attrs)
	c.submit(n)
	return n.Out
}

type result struct {
	out []host
	err error
}

// results reads the results of cases in one go and frees everything.
func results(c *client, batch []*testCase, in, out [][]ir.Tensor) []result {
	var all []ir.Tensor
	for i := range out {
		all = append(all, out[i]...)
	}
	data, errs := c.read(all...)
	for i := range in {
		all = append(all, in[i]...)
	}
	for _, t := range all {
		c.b.Free(t.ID)
	}
	list := make([]result, len(batch))
	at := 0
	for i, x := range batch {
		r := &list[i]
		for j := range out[i] {
			d, err := data[at], errs[at]
			at++
			switch {
			case r.err != nil:
			case err != nil:
				r.err = err
			case !d.Type.Equal(x.out[j]):
				r.err = fmt.Errorf("result %d is %v, want %v", j, d.Type, x.out[j])
			case int64(len(d.Bytes)) != x.out[j].Bytes():
				r.err = fmt.Errorf("result %d has %d bytes, want %d", j, len(d.Bytes), x.out[j].Bytes())
			default:
				r.out = append(r.out, decode(d.Type, d.Bytes))
			}
		}
	}
	return list
}

// compare runs cases with their layouts on a backend. The bits are those of the
// reference, save for contractions of another kind of device, whose results are
// compared with the definition.
func compare(c *client, kind string, batch []*testCase) []error {
	var in, out [][]ir.Tensor
	logical := make([][]host, len(batch))
	for i, x := range batch {
		l, uploads, views := x.data()
		logical[i] = l
		var ts []ir.Tensor
		for k, h := range uploads {
			t := c.upload(h.typ, h.encode())
			for _, v := range views[k] {
				base := t
				t = c.do(v.row, []ir.Tensor{base}, v.attrs...)
				c.b.Free(base.ID)
			}
			ts = append(ts, t)
		}
		in, out = append(in, ts), append(out, x.call(c, ts))
	}
	errs := make([]error, len(batch))
	for i, r := range results(c, batch, in, out) {
		x := batch[i]
		switch {
		case x.want == nil: // the reference has no results to compare with
		case r.err != nil:
			errs[i] = r.err
		case kind != "cpu" && (x.row.Access == ir.Contraction || x.row.Access == ir.Recurrence):
			other := *x
			other.units = true
			errs[i] = check(&other, logical[i], r.out)
		default:
			errs[i] = x.equal(logical[i], r.out)
		}
	}
	return errs
}

// equal compares results with those of the reference bit for bit.
func (x *testCase) equal(logical, got []host) error {
	for i := range got {
		if at := difference(got[i], x.want[i]); at >= 0 {
			return fmt.Errorf("result %d, element %d: got %v (%#x), the reference has %v (%#x)%s", i, at,
				got[i].scalar(at), got[i].bits[at], x.want[i].scalar(at), x.want[i].bits[at], operandsAt(x, logical, at))
		}
	}
	return nil
}

// operandsAt shows the operands of an element of an elementwise result.
func operandsAt(x *testCase, logical []host, at int) string {
	if x.row.Access != ir.Elementwise || len(logical) == 0 {
		return ""
	}
	s := ", of"
	for _, h := range logical {
		e := h.spread(x.out[0].Shape).scalar(at)
		s += fmt.Sprintf(" %v (%#x)", e, e.Bits)
	}
	return s
}
