package backendtest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// contract tests what holds of every queue, whatever the rows.
func (s *suite) contract(t *testing.T) {
	for _, x := range []struct {
		name string
		test func(t *testing.T)
	}{
		{"Describes", s.describes}, {"Order", s.order}, {"Copies", s.copies},
		{"UnknownIDs", s.unknownIDs}, {"ErrorsFlow", s.errorsFlow}, {"FirstErrorWins", s.firstErrorWins},
		{"ReadMany", s.readMany}, {"SyncOnce", s.syncOnce},
		{"Alias", s.alias}, {"Free", s.free}, {"Leaks", s.leaks},
		{"IndexFault", s.indexFault}, {"DivisionFault", s.divisionFault}, {"BadUpload", s.badUpload},
		{"CancelledRead", s.cancelledRead}, {"QueueFull", s.queueFull}, {"Closed", s.closed}, {"CloseFinishes", s.closeFinishes},
		{"MemoryLimit", s.memoryLimit}, {"Panic", s.panics}, {"RoutineError", s.routineError}, {"Concurrent", s.concurrent},
		{"Compiler", s.compiler}, {"CompilerChain", s.compilerChain}, {"CompilerFaults", s.compilerFaults},
		{"LaunchPieces", s.launchPieces}, {"LaunchInPlace", s.launchInPlace}, {"LaunchOverReads", s.launchOverReads}, {"LaunchRowsInPlace", s.launchRowsInPlace},
		{"LaunchFault", s.launchFault}, {"LaunchOperandError", s.launchOperandError}, {"LaunchNothing", s.launchNothing},
		{"LaunchViews", s.launchViews}, {"LaunchMisfits", s.launchMisfits}, {"LaunchClosed", s.launchClosed},
	} {
		t.Run(x.name, x.test)
	}
}

func (s *suite) describes(t *testing.T) {
	c := s.client(t)
	info := c.b.Info()
	if c.b.Name() == "" || info.ID == "" || info.Kind == "" {
		t.Errorf("name %q, id %q, kind %q: none may be empty", c.b.Name(), info.ID, info.Kind)
	}
	listed := map[ir.DType]bool{}
	for _, d := range info.DTypes {
		listed[d] = true
	}
	for _, d := range ir.DTypes() {
		if u := c.b.Usage(d); (u != 0) != listed[d] || u&backend.CanCompute != 0 && u&backend.CanStore == 0 {
			t.Errorf("usage of %v is %b, listed %v", d, u, listed[d])
		}
	}
	if c.b.Usage(ir.Invalid) != 0 || c.b.Usage(200) != 0 {
		t.Error("what is no dtype has a usage")
	}
}

// order: work is done in the order of submission, over many calls.
func (s *suite) order(t *testing.T) {
	c := s.client(t)
	x, one := c.floats(0, 10), c.floats(1)
	for i := 0; i < 200; i++ {
		var nodes []ir.Node
		for j := 0; j < i%3+1; j++ {
			n := c.node("add", []ir.Tensor{x, one})
			nodes = append(nodes, n)
			x = n.Out[0]
		}
		c.submit(nodes...)
		if i%50 == 0 {
			if err := c.b.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.expect(x, 399, 409)
}

// copies: neither side sees the other's later changes of bytes and nodes.
func (s *suite) copies(t *testing.T) {
	c := s.client(t)
	data := bytesOf([]float32{1, 2})
	x := c.upload(ir.Type{DType: ir.F32, Shape: ir.Shape{2}}, data)
	for i := range data {
		data[i] = 0xff
	}
	c.expect(x, 1, 2)
	got, _ := c.read(x)
	for i := range got[0].Bytes {
		got[0].Bytes[i] = 0xff
	}
	c.expect(x, 1, 2)
	n := c.node("add", []ir.Tensor{x, x})
	before := fmt.Sprint(n)
	nodes := []ir.Node{n}
	c.submit(nodes...)
	c.expect(n.Out[0], 2, 4)
	if after := fmt.Sprint(nodes[0]); after != before {
		t.Errorf("the node was changed from %s to %s", before, after)
	}
}

func (s *suite) unknownIDs(t *testing.T) {
	c := s.client(t)
	x := c.floats(1, 2)
	ghost := c.name(x.Type)
	lost := c.do("add", []ir.Tensor{x, ghost})
	fine := c.do("add", []ir.Tensor{x, x})
	c.expectError(lost, ir.ErrInternal)
	c.expect(fine, 2, 4)
	c.expectError(ghost, ir.ErrInternal)
	to := c.name(x.Type)
	if err := c.b.Alias(ghost.ID, to.ID); err != nil {
		t.Errorf("Alias: %v", err)
	}
	c.expectError(to, ir.ErrInternal)
	c.expect(c.do("sub", []ir.Tensor{fine, x}), 1, 2)
}

// errorsFlow: dependants carry the first error unchanged, others go on.
func (s *suite) errorsFlow(t *testing.T) {
	c := s.client(t)
	x := c.floats(1, 2, 3)
	bad := c.do("gather", []ir.Tensor{x, c.ints(0, 7)}, "axis", 0)
	a := c.do("add", []ir.Tensor{bad, bad})
	b := c.do("reshape", []ir.Tensor{a}, "shape", []int{2, 1})
	d := c.do("sum", []ir.Tensor{b})
	aliased := c.name(a.Type)
	if err := c.b.Alias(a.ID, aliased.ID); err != nil {
		t.Error(err)
	}
	joined := c.do("concat", []ir.Tensor{x, bad}, "axis", 0)
	independent := c.do("mul", []ir.Tensor{x, x})
	first := c.expectError(bad, ir.ErrData)
	if first.Op != "gather" || len(first.Operands) != 2 || first.Site.String() != "user.go:7" || first.Device == "" {
		t.Errorf("the error names operation %q, operands %v, site %q, device %q", first.Op, first.Operands, first.Site, first.Device)
	}
	for _, y := range []ir.Tensor{a, b, d, aliased, joined} {
		if err := c.expectError(y, ir.ErrData); err.Error() != first.Error() {
			t.Errorf("tensor %d carries %q, want %q", y.ID, err, first)
		}
	}
	c.expect(independent, 1, 4, 9)
	if err := c.sync(); err != nil {
		t.Errorf("Sync returns an error that was read: %v", err)
	}
}

// firstErrorWins: of two failing operands, the first one's error is passed on.
func (s *suite) firstErrorWins(t *testing.T) {
	c := s.client(t)
	x := c.ints(5, 6)
	a := c.do("gather", []ir.Tensor{x, c.ints(9, 0)}, "axis", 0)
	b := c.do("mod", []ir.Tensor{x, c.ints(0, 1)})
	for _, y := range []struct{ p, q ir.Tensor }{{a, b}, {b, a}} {
		want := c.expectError(y.p, ir.ErrData)
		if got := c.expectError(c.do("add", []ir.Tensor{y.p, y.q}), ir.ErrData); got.Error() != want.Error() {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func (s *suite) readMany(t *testing.T) {
	c := s.client(t)
	var ts []ir.Tensor
	for i := 0; i < 20; i++ {
		ts = append(ts, c.floats(float32(i)))
	}
	ts[7] = c.do("gather", []ir.Tensor{ts[0], c.ints(4)}, "axis", 0)
	ts = append(ts, ts[3]) // twice
	data, errs := c.read(ts...)
	for i := range ts {
		if (errs[i] != nil) != (i == 7) {
			t.Errorf("tensor %d: error %v", i, errs[i])
			continue
		}
		want := float32(i)
		if i == 20 {
			want = 3
		}
		if i != 7 && elements[float32](data[i].Bytes)[0] != want {
			t.Errorf("tensor %d: got %v", i, elements[float32](data[i].Bytes))
		}
	}
	if d, e, err := c.b.Read(context.Background()); len(d) != 0 || len(e) != 0 || err != nil {
		t.Errorf("Read of nothing: %v, %v, %v", d, e, err)
	}
}

// syncOnce: Sync returns each error once, the first first, and none that Read returned.
func (s *suite) syncOnce(t *testing.T) {
	c := s.client(t)
	x := c.ints(1, 2)
	if err := c.sync(); err != nil {
		t.Errorf("Sync of a sound queue: %v", err)
	}
	a := c.do("gather", []ir.Tensor{x, c.ints(5)}, "axis", 0)
	c.do("mod", []ir.Tensor{x, c.ints(0)})
	err := c.sync()
	if !errors.Is(err, ir.ErrData) || ir.AsError(err).Op != "gather" && !s.ownPace {
		t.Errorf("Sync returns %v, want the error of gather", err)
	}
	for i := 0; i < 3; i++ { // the second error may come now, but only once
		if err = c.sync(); err == nil {
			break
		}
	}
	if err != nil {
		t.Errorf("Sync keeps returning %v", err)
	}
	c.expectError(a, ir.ErrData) // the tensor carries it all the same
	b := c.do("mod", []ir.Tensor{x, c.ints(0)})
	c.expectError(b, ir.ErrData)
	if err := c.sync(); err != nil {
		t.Errorf("Sync returns what Read returned: %v", err)
	}
}

func (s *suite) badUpload(t *testing.T) {
	c := s.client(t)
	for _, x := range []struct {
		t ir.Type
		n int
	}{{ir.Type{DType: ir.F32, Shape: ir.Shape{2}}, 7}, {ir.Type{DType: ir.F32, Shape: ir.Shape{2}}, 12},
		{ir.Type{DType: 99, Shape: ir.Shape{2}}, 8}, {ir.Type{DType: ir.F32, Shape: ir.Shape{-1}}, 0}} {
		if err := c.b.Upload(c.name(x.t), make([]byte, x.n)); err == nil {
			t.Errorf("Upload of %d bytes as %v: no error", x.n, x.t)
		}
	}
	c.expect(c.floats(4), 4)
}

// indexFault: an index out of range names operation and first index; the device
// goes on.
func (s *suite) indexFault(t *testing.T) {
	c := s.client(t)
	x := c.floats(1, 2, 3)
	for _, bad := range [][]int64{{0, 3}, {-4, 0}, {1 << 40, 1}, {-1 << 63, 1 << 62}} {
		err := c.expectError(c.do("gather", []ir.Tensor{x, c.ints(bad...)}, "axis", 0), ir.ErrData)
		where := "[1]"
		if bad[0] != 0 {
			where = "[0]"
		}
		if err.Op != "gather" || !contains(err.Error(), where) {
			t.Errorf("gather with %v: the error %q does not name operation and %s", bad, err, where)
		}
		err = c.expectError(c.do("scatter_add", []ir.Tensor{x, c.ints(bad...), c.floats(5, 6)}, "axis", 0), ir.ErrData)
		if err.Op != "scatter_add" || !contains(err.Error(), where) {
			t.Errorf("scatter_add with %v: the error %q does not name operation and %s", bad, err, where)
		}
	}
	c.expect(c.do("gather", []ir.Tensor{x, c.ints(-1, -3, 2)}, "axis", 0), 3, 1, 3)
}

func (s *suite) divisionFault(t *testing.T) {
	c := s.client(t)
	n := make([]int64, 70000)
	for i := range n {
		n[i] = int64(i%50) + 1
	}
	x := c.ints(n...)
	n[69999], n[41234] = 0, 0
	for _, row := range []string{"floor_div", "mod"} {
		err := c.expectError(c.do(row, []ir.Tensor{x, c.ints(n...)}), ir.ErrData)
		if err.Op != row || !contains(err.Error(), "[41234]") {
			t.Errorf("%s: the error %q does not name operation and first index", row, err)
		}
		scalar := c.upload(ir.Type{DType: ir.I64}, bytesOf([]int64{0}))
		c.expectError(c.do(row, []ir.Tensor{x, scalar}), ir.ErrData)
		// A zero divisor of nothing is no fault.
		none := c.upload(ir.Type{DType: ir.I64, Shape: ir.Shape{0}}, nil)
		if _, errs := c.read(c.do(row, []ir.Tensor{none, scalar})); errs[0] != nil {
			t.Errorf("%s of nothing: %v", row, errs[0])
		}
	}
	c.expect(c.do("cast", []ir.Tensor{c.do("mod", []ir.Tensor{c.ints(7), c.ints(4)})}, "dtype", ir.F32), 3)
}
