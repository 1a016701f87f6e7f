package sinter_test

import (
	"context"
	"slices"
	"strings"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/cpu/tune"
)

// tuned is a device like the one of the run, with a table of its own that was
// measured for a product.
type tuned struct {
	*sinter.Device
	table          *tune.Table
	choice, bucket string // of the products; "" where the device has no choice
	ranking        []tune.Measured
}

func (f *faultRun) tuned(memory int64, rows, cols, k int64) *tuned {
	t := &tuned{table: tune.New()}
	o := cpu.Options{Threads: 2, Memory: memory, Tuning: t.table}
	if strings.Contains(f.dev.Info().Detail, string(cpu.Interpret)) {
		o.Generator = cpu.Interpret
	}
	b, err := cpu.New(o)
	if err != nil {
		f.Fatal(err)
	}
	all := cpu.Choices()
	if err := b.Tune(context.Background(), cpu.TuneOptions{Choices: all[len(all)-1:], Products: [][3]int64{{rows, cols, k}}, Rounds: 1,
		Note: func(choice, bucket string, r []tune.Measured) { t.choice, t.bucket, t.ranking = choice, bucket, r }}); err != nil {
		f.Fatal(err)
	}
	t.Device = sinter.NewRuntime().Adopt(b)
	return t
}

// product is x[rows,k]·z[k,cols] of small integers, which every order of summation
// gives exactly.
func (f *faultRun) product(d *sinter.Device, rows, cols, k int) {
	f.Helper()
	x, z := make([]float32, rows*k), make([]float32, k*cols)
	for i := range x {
		x[i] = float32(i%7 - 3)
	}
	for i := range z {
		z[i] = float32(i%5 - 2)
	}
	on := sinter.On(d)
	got, err := sinter.Data[float32](context.Background(), sinter.FromSliceOn(on, x, rows, k).MatMul(sinter.FromSliceOn(on, z, k, cols)))
	if err != nil {
		f.Fatal(err)
	}
	for i := range rows {
		for j := range cols {
			want := float32(0)
			for l := range k {
				want += x[i*k+l] * z[l*cols+j]
			}
			if got[i*cols+j] != want {
				f.Fatalf("(%d,%d)@(%d,%d): [%d,%d] is %v, want %v", rows, k, k, cols, i, j, got[i*cols+j], want)
			}
		}
	}
}

// Faults of choices by measurement.
var faultsTuning = []fault{
	{145, "a choice that does not fit a launch of its bucket", func(f *faultRun) {
		d := f.tuned(0, 512, 128, 128)
		defer d.Close()
		f.product(d.Device, 512, 128, 128)
		f.product(d.Device, 512, 7, 128) // of the same bucket
		for i := range d.ranking {       // whichever was the fastest
			first := d.ranking[i]
			first.Skipped = ""
			d.table.Set(d.choice, d.bucket, append([]tune.Measured{first}, slices.Delete(slices.Clone(d.ranking), i, i+1)...))
			f.product(d.Device, 512, 128, 128)
			f.product(d.Device, 512, 7, 128)
		}
	}},
	{146, "a candidate that needs more memory than there is", func(f *faultRun) {
		d := f.tuned(15<<20, 1024, 1024, 1024)
		defer d.Close()
		reasons := map[tune.Reason]int{}
		for _, m := range d.ranking {
			reasons[m.Skipped]++
			if m.Skipped == tune.NoMemory && !strings.Contains(m.Detail, "bytes") {
				f.Errorf("skipped without figures: %+v", m)
			}
		}
		if d.ranking != nil && (reasons[tune.NoMemory] == 0 || reasons[""] == 0) {
			f.Errorf("ranking %+v, want some that were measured and some without memory", d.ranking)
		}
		f.product(d.Device, 64, 32, 128)
		f.product(d.Device, 512, 128, 128)
	}},
}
