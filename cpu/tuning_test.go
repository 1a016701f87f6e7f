package cpu

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sinter-go/sinter/cpu/tune"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel/amd64"
	"github.com/sinter-go/sinter/kernel/contract"
)

// tunedWork does sums and products of odd sizes on a device and returns their bytes.
func tunedWork(t *testing.T, o Options) []byte {
	t.Helper()
	o.Threads = 3
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	next := ir.ID(1)
	upload := func(shape ...int) ir.Tensor {
		x := ir.Tensor{ID: next, Type: ir.Type{DType: ir.F32, Shape: shape}}
		next++
		b := make([]byte, x.Bytes())
		v := view[float32](b)
		for i := range v {
			v[i] = float32(math.Sin(float64(i)*1.3 + float64(next)))
		}
		if err := d.Upload(x, b); err != nil {
			t.Fatal(err)
		}
		return x
	}
	var results []ir.ID
	run := func(row string, out []int, in ...ir.Tensor) {
		r := ir.Lookup(row)
		attrs, err := r.MakeAttrs(nil)
		if err != nil {
			t.Fatal(err)
		}
		y := ir.Tensor{ID: next, Type: ir.Type{DType: ir.F32, Shape: out}}
		next++
		results = append(results, y.ID)
		if err := d.Submit(context.Background(), []ir.Node{{Row: r, Attrs: attrs, In: in, Out: []ir.Tensor{y}}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int{63, 4096, 100_003} {
		run("add", []int{n}, upload(n), upload(n))
	}
	for _, s := range [][3]int{{1, 300, 257}, {130, 7, 128}, {300, 600, 100}, {70, 520, 1030}} {
		run("matmul", []int{s[0], s[1]}, upload(s[0], s[2]), upload(s[2], s[1]))
	}
	var all []byte
	data, errs, err := d.Read(context.Background(), results...)
	if err := errors.Join(append(errs, err)...); err != nil {
		t.Fatal(err)
	}
	for _, x := range data {
		all = append(all, x.Bytes...)
	}
	if c := d.tuned.picked.Load(); o.Tuning != nil && len(o.Tuning.Get(blockChoice.Name, (productClass{512, 1024, 128, 1, 4, 3}).bucket())) > 0 && c == 0 && d.opt.Generator != Interpret {
		t.Error("no product was chosen for")
	}
	return all
}

// ranked is a table that has one candidate as the fastest everywhere.
func ranked(choice string, buckets []string, candidate string) *tune.Table {
	t := tune.New()
	for _, b := range buckets {
		t.Set(choice, b, []tune.Measured{{Candidate: candidate, NS: 1}})
	}
	return t
}

// TestTunedBits: every candidate of every choice gives the same bits.
func TestTunedBits(t *testing.T) {
	want := tunedWork(t, Options{Tuning: tune.New()})
	if !bytes.Equal(want, tunedWork(t, Options{Tuning: tune.New(), Generator: Interpret})) {
		t.Error("generated code and the interpreter differ")
	}
	check := func(choice, candidate string, buckets ...string) {
		t.Helper()
		if !bytes.Equal(want, tunedWork(t, Options{Tuning: ranked(choice, buckets, candidate)})) {
			t.Errorf("%s: %s: other bits", choice, candidate)
		}
	}
	var products []string
	for rows := int64(8); rows <= 1024; rows *= 2 {
		for cols := int64(128); cols <= 1024; cols *= 2 {
			for k := int64(128); k <= 2048; k *= 2 {
				products = append(products, productClass{rows, cols, k, 1, 4, 3}.bucket())
			}
		}
	}
	for _, c := range blockChoice.Candidates {
		if err := c.Is.Check(); err != nil {
			t.Error(err)
		}
		check(blockChoice.Name, c.Name, products...)
	}
	for _, c := range serialChoice.Candidates {
		check(serialChoice.Name, c.Name, threadBucket(3))
	}
	for _, c := range spinChoice.Candidates {
		check(spinChoice.Name, c.Name, threadBucket(3))
	}
	defer amd64.SetStreamFrom(amd64.SetStreamFrom(0))
	for _, from := range []int64{0, 1 << 16, math.MaxInt64} {
		amd64.SetStreamFrom(from)
		if !bytes.Equal(want, tunedWork(t, Options{Tuning: tune.New()})) {
			t.Errorf("streaming from %d bytes: other bits", from)
		}
	}
}

// TestChoices: the first candidate is what is done without a table, and names are
// distinct.
func TestChoices(t *testing.T) {
	if streamChoice.Candidates[0].Is != amd64.DefaultStreamFrom || serialChoice.Candidates[0].Is != serialTime ||
		spinChoice.Candidates[0].Is != spinTime || blockChoice.Candidates[0].Is != contract.DefaultBlocking {
		t.Error("the first candidates are not the defaults")
	}
	names := map[string]bool{}
	for _, c := range blockChoice.Candidates {
		if names[c.Name] {
			t.Errorf("two candidates are %q", c.Name)
		}
		names[c.Name] = true
	}
}

// TestTune measures everything a little, saves it, and finds it again.
func TestTune(t *testing.T) {
	dir := t.TempDir()
	table, err := tune.Open(dir, machineKey())
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(Options{Threads: 2, Tuning: table})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	defer amd64.SetStreamFrom(amd64.SetStreamFrom(amd64.DefaultStreamFrom))
	ctx := context.Background()
	if err := d.Tune(ctx, TuneOptions{Choices: []string{"luck"}}); !errors.Is(err, ir.ErrArgument) {
		t.Errorf("an unknown choice: %v", err)
	}
	if err := d.Tune(ctx, TuneOptions{Products: [][3]int64{{0, 1, 1}}, Choices: []string{blockChoice.Name}}); !errors.Is(err, ir.ErrArgument) {
		t.Errorf("a product of nothing: %v", err)
	}
	noted := 0
	some := []string{serialChoice.Name, spinChoice.Name, blockChoice.Name} // streaming takes seconds
	if err := d.Tune(ctx, TuneOptions{Choices: some, Products: [][3]int64{{100, 200, 300}}, Rounds: 1, Note: func(choice, bucket string, r []tune.Measured) {
		noted++
		if len(r) < 3 || r[0].NS <= 0 {
			t.Errorf("%s of %s: %+v", choice, bucket, r)
		}
	}}); err != nil {
		t.Fatal(err)
	}
	if want := map[bool]int{true: 2, false: 3}[d.opt.Generator == Interpret]; noted != want {
		t.Errorf("%d rankings, expected %d", noted, want)
	}
	if err := table.Save(); err != nil {
		t.Fatal(err)
	}
	again, err := tune.Open(dir, machineKey())
	if err != nil || len(again.Get(serialChoice.Name, threadBucket(2))) != len(serialChoice.Candidates) {
		t.Errorf("read again: %v", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := d.Tune(cancelled, TuneOptions{Choices: some}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if list, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(list) != 1 {
		t.Errorf("%d files, %v", len(list), err)
	}
	if _, err := os.Stat(table.Path()); err != nil {
		t.Error(err)
	}
}

// TestTuneIdle: a product that a device met is measured while it is idle; its
// results are the same before and after.
func TestTuneIdle(t *testing.T) {
	table := tune.New()
	d, err := New(Options{Threads: 2, Tuning: table, TuneIdle: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.opt.Generator == Interpret {
		t.Skip("nothing is chosen where kernels are interpreted")
	}
	class := productClass{64, 128, 128, 1, 4, 2}
	d.blocksOf(contract.Problem{Rows: 50, Cols: 100, K: 128, Trips: 1, Size: 4, TileRows: 14, TileCols: 32})
	for start := time.Now(); len(table.Get(blockChoice.Name, class.bucket())) == 0; time.Sleep(time.Millisecond) {
		if time.Since(start) > 20*time.Second {
			t.Fatal("it was not measured")
		}
	}
	if got := d.blocksOf(contract.Problem{Rows: 50, Cols: 100, K: 128, Trips: 1, Size: 4, TileRows: 14, TileCols: 32}); got.Check() != nil {
		t.Errorf("%+v", got)
	}
}

func TestMachineKey(t *testing.T) {
	if k := machineKey(); !strings.HasPrefix(k, "sinter ") || strings.Contains(k, "\n") || k != machineKey() {
		t.Errorf("%q", k)
	}
}
