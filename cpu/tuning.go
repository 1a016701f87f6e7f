package cpu

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sinter-go/sinter/cpu/tune"
	"github.com/sinter-go/sinter/internal/debug"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64"
	"github.com/sinter-go/sinter/kernel/contract"
)

// The choices of a device. None changes a bit: tests run every candidate. A
// candidate's name says what it is, since files have it.
var (
	streamChoice = &tune.Choice[int64]{Name: "streaming stores from", Candidates: []tune.Candidate[int64]{
		{Name: "the largest cache", Is: amd64.DefaultStreamFrom}, {Name: "32 MB", Is: 32 << 20}, {Name: "8 MB", Is: 8 << 20}, {Name: "16 MB", Is: 16 << 20}, {Name: "64 MB", Is: 64 << 20},
		{Name: "128 MB", Is: 128 << 20}, {Name: "never", Is: math.MaxInt64}}}
	serialChoice = &tune.Choice[time.Duration]{Name: "serial below", Candidates: []tune.Candidate[time.Duration]{
		{Name: "2 µs", Is: serialTime}, {Name: "1 µs", Is: time.Microsecond}, {Name: "4 µs", Is: 4 * time.Microsecond}, {Name: "10 µs", Is: 10 * time.Microsecond}}}
	spinChoice = &tune.Choice[time.Duration]{Name: "helpers look for work for", Candidates: []tune.Candidate[time.Duration]{
		{Name: "60 µs", Is: spinTime}, {Name: "20 µs", Is: 20 * time.Microsecond}, {Name: "100 µs", Is: 100 * time.Microsecond}}}
	blockChoice = &tune.Choice[contract.Blocking]{Name: "blocks of products", Candidates: []tune.Candidate[contract.Blocking]{
		{Name: "default", Is: contract.DefaultBlocking},
		{Name: "small blocks", Is: blocking(func(b *contract.Blocking) { b.Tiles = 6 })},
		{Name: "large blocks", Is: blocking(func(b *contract.Blocking) { b.Tiles = 24 })},
		{Name: "narrow tasks", Is: blocking(func(b *contract.Blocking) { b.Strips = 2 })},
		{Name: "wide tasks", Is: blocking(func(b *contract.Blocking) { b.Strips = 16 })},
		{Name: "packed early", Is: blocking(func(b *contract.Blocking) { b.PackFrom = 64 })},
		{Name: "packed late", Is: blocking(func(b *contract.Blocking) { b.PackFrom = 1024 })},
		{Name: "little memory", Is: blocking(func(b *contract.Blocking) { b.PackBytes = 1 << 20 })},
		{Name: "much memory", Is: blocking(func(b *contract.Blocking) { b.PackBytes = 64 << 20 })}}}
)

func blocking(change func(*contract.Blocking)) contract.Blocking {
	b := contract.DefaultBlocking
	change(&b)
	return b
}

// tuning is what a device has chosen.
type tuning struct {
	table   *tune.Table
	ignored error        // why the machine's file was not read, nil if it was or is not there
	blank   sync.Map     // of classes of products of which nothing was measured
	idle    *idleTuner   // nil unless products are measured while the device is idle
	picked  atomic.Int64 // products whose blocks were found in the table
}

// openTuning finds the table of the device. The settings of the process (streaming
// stores) follow the machine's table, once.
func openTuning(o Options) (*tuning, error) {
	s := debug.Tune()
	if s.Unknown != "" {
		return nil, ir.Errorf(ir.ErrArgument, "SINTER_TUNE is %q, expected on, off or idle", s.Unknown)
	}
	t := &tuning{table: o.Tuning}
	switch {
	case s.Off:
		t.table = tune.New()
	case t.table == nil:
		t.table, t.ignored = machineTable()
		useMachine()
	}
	return t, nil
}

// useMachine applies the machine's table to what all devices of a process share.
var useMachine = sync.OnceFunc(func() {
	t, _ := machineTable()
	applyShared(t)
})

func applyShared(t *tune.Table) {
	if from, err := tune.Pick(t, streamChoice, "", nil); err == nil {
		amd64.SetStreamFrom(from)
	}
}

// apply sets the times of workers. It runs while no job is open.
func (t *tuning) apply(w *workers) {
	if d, err := tune.Pick(t.table, serialChoice, threadBucket(w.threads()), nil); err == nil {
		w.serial = d
	}
	if d, err := tune.Pick(t.table, spinChoice, threadBucket(w.threads()), nil); err == nil && runtime.GOMAXPROCS(0) > 1 {
		w.team.spin.Store(int64(d))
	}
}

func threadBucket(threads int) string { return tune.Bucket(int64(threads)) + " threads" }

// productClass is a bucket of products: sizes up to a power of two, small ones
// together.
type productClass struct {
	rows, cols, k int64
	trips         int64
	size, threads int
}

const (
	leastRows = 8
	leastCols = 128
	leastK    = 128
)

func powerOf2(n, least int64) int64 {
	c := least
	for c < n && c < 1<<40 {
		c *= 2
	}
	return c
}

func classOfProduct(p contract.Problem, threads int) productClass {
	return productClass{powerOf2(p.Rows, leastRows), powerOf2(p.Cols, leastCols), powerOf2(p.K, leastK), powerOf2(p.Trips, 1), p.Size, threads}
}

func (c productClass) bucket() string {
	return tune.Bucket(c.rows, c.cols, c.k, c.trips, int64(8*c.size), int64(c.threads))
}

// blocksOf chooses the blocks of a product. A measured choice is validated for each
// launch: the class is coarser.
func (d *Device) blocksOf(p contract.Problem) contract.Blocking {
	class := classOfProduct(p, d.opt.Threads)
	if t := d.tuned.idle; t != nil {
		t.meet(class)
	}
	if _, blank := d.tuned.blank.Load(class); blank {
		return contract.DefaultBlocking
	}
	bucket := class.bucket()
	if len(d.tuned.table.Get(blockChoice.Name, bucket)) == 0 {
		d.tuned.blank.Store(class, nil)
		return contract.DefaultBlocking
	}
	d.tuned.picked.Add(1)
	b, err := tune.Pick(d.tuned.table, blockChoice, bucket, func(b contract.Blocking) *tune.Refusal { return fitsProduct(b, p, d.opt.Memory) })
	if err != nil { // not even the default has room for what it packs: the engine says so if it has none
		return contract.DefaultBlocking
	}
	return b
}

// packBytes is how much memory a blocking takes for packed operands of a product,
// at most.
func packBytes(b contract.Blocking, p contract.Problem) int64 {
	both := int64(0)
	for _, n := range []int64{p.Rows, p.Cols} {
		both += min(b.PackBytes, n*p.K*int64(p.Size)*p.Trips)
	}
	return both
}

// fitsProduct says why a product cannot be done with a blocking: its blocks are
// larger than the product where they differ from the default, which the engine cuts
// to size, or what it packs has no room.
func fitsProduct(b contract.Blocking, p contract.Problem, free int64) *tune.Refusal {
	d := contract.DefaultBlocking
	refuse := func(r tune.Reason, format string, args ...any) *tune.Refusal {
		return &tune.Refusal{Reason: r, Detail: ir.Errorf(ir.ErrArgument, format, args...).Msg}
	}
	if rows := b.Tiles * int64(p.TileRows); b.Tiles != d.Tiles && rows > p.Rows {
		return refuse(tune.Unfit, "blocks of %d rows, the product has %d", rows, p.Rows)
	}
	if cols := b.Strips * int64(p.TileCols); b.Strips != d.Strips && cols > p.Cols {
		return refuse(tune.Unfit, "tasks of %d columns, the product has %d", cols, p.Cols)
	}
	if n := packBytes(b, p); n > free {
		return refuse(tune.NoMemory, "packing takes %d bytes, there are %d", n, free)
	}
	return nil
}

// choose lets the device choose the blocks of an executable.
func (d *Device) choose(exe kernel.Executable) {
	if c, ok := exe.(*contract.Code); ok {
		c.SetBlocking(d.blocksOf)
	}
}

// facts says where the choices come from, if that is worth telling.
func (t *tuning) facts() map[string]string {
	if t.ignored != nil {
		return map[string]string{"tuning": t.ignored.Error()}
	}
	return nil
}

// TuningTable returns the rankings that the device follows. Info tells if a file of
// them was ignored.
func (d *Device) TuningTable() *tune.Table { return d.tuned.table }

// choices are the names of what can be tuned.
var choices = []string{streamChoice.Name, serialChoice.Name, spinChoice.Name, blockChoice.Name}

// Choices returns the names of what [Device.Tune] measures.
func Choices() []string { return slices.Clone(choices) }
