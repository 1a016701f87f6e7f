package data_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sinter-go/sinter/data"
)

// numbers is a loader whose samples are their own numbers.
func numbers(n, batch, ahead int) *data.Loader[int, []int] {
	return &data.Loader[int, []int]{Len: n, Batch: batch, Seed: 7, Ahead: ahead,
		Get:     func(_ context.Context, i int) (int, error) { return i, nil },
		Collate: func(s []int) ([]int, error) { return slices.Clone(s), nil }}
}

func epoch[S, B any](t *testing.T, l *data.Loader[S, B], e int) []B {
	t.Helper()
	var out []B
	for b, err := range l.Epoch(t.Context(), e) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

func TestLoaderOrder(t *testing.T) {
	set := &data.Set{N: 23, Features: 1, Pixels: make([]float32, 23)}
	want := slices.Collect(set.Batches(5, 7, 3))
	for _, ahead := range []int{0, 1, 2, 16, 100} {
		l := numbers(23, 5, ahead)
		l.Get = func(_ context.Context, i int) (int, error) {
			time.Sleep(time.Duration(i%3) * time.Millisecond) // batches end out of order
			return i, nil
		}
		if got := epoch(t, l, 3); !reflect.DeepEqual(got, want) || l.Batches() != 5 {
			t.Errorf("%d ahead: %v, want %v", ahead, got, want)
		}
		l.DropLast, l.InOrder = true, true
		if got := fmt.Sprint(epoch(t, l, 0)); got != "[[0 1 2 3 4] [5 6 7 8 9] [10 11 12 13 14] [15 16 17 18 19]]" {
			t.Errorf("in order: %s", got)
		}
	}
	if got := epoch(t, numbers(0, 5, 2), 0); got != nil {
		t.Errorf("nothing: %v", got)
	}
	if got := epoch(t, numbers(3, 0, 2), 0); len(got) != 1 || len(got[0]) != 3 {
		t.Errorf("all at once: %v", got)
	}
}

// TestLoaderIsBounded counts batches that were begun and not taken.
func TestLoaderIsBounded(t *testing.T) {
	var begun, taken, most atomic.Int64
	l := numbers(60, 1, 4)
	l.Get = func(_ context.Context, i int) (int, error) {
		n := begun.Add(1) - taken.Load()
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		return i, nil
	}
	for range l.Epoch(t.Context(), 0) {
		time.Sleep(100 * time.Microsecond)
		taken.Add(1)
	}
	if m := most.Load(); begun.Load() != 60 || m > 5 || m < 2 { // the consumer holds one
		t.Errorf("%d begun, %d at most ahead", begun.Load(), m)
	}
}

func TestLoaderStops(t *testing.T) {
	before := runtime.NumGoroutine()
	wrong := errors.New("wrong")
	l := numbers(100, 4, 3)
	l.InOrder = true
	l.Get = func(ctx context.Context, i int) (int, error) {
		if i == 17 {
			return 0, wrong
		}
		return i, nil
	}
	n := 0
	for _, err := range l.Epoch(t.Context(), 0) {
		if n++; err != nil {
			if !errors.Is(err, wrong) || !strings.Contains(err.Error(), "sample 17") || n != 5 {
				t.Errorf("batch %d: %v", n, err)
			}
		}
	}
	if n != 5 {
		t.Errorf("%d batches", n)
	}
	// One that waits for its context is ended by break, and by the context.
	l.Get = func(ctx context.Context, i int) (int, error) {
		if i >= 4 {
			<-ctx.Done()
		}
		return i, ctx.Err()
	}
	for range l.Epoch(t.Context(), 0) {
		break
	}
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	n = 0
	for _, err := range l.Epoch(ctx, 0) {
		if n++; n == 1 {
			cancel(enough)
		} else if !errors.Is(err, enough) {
			t.Errorf("error %v", err)
		}
	}
	if n != 2 {
		t.Errorf("%d batches", n)
	}
	for _, err := range (&data.Loader[int, int]{Len: 1}).Epoch(t.Context(), 0) {
		if err == nil {
			t.Error("a loader of nothing")
		}
	}
	after := runtime.NumGoroutine()
	for range 100 { // one that has said its last word may still be on its way out
		if after <= before {
			break
		}
		time.Sleep(10 * time.Millisecond)
		after = runtime.NumGoroutine()
	}
	if after > before {
		t.Errorf("%d goroutines, %d before", after, before)
	}
}

func TestPad(t *testing.T) {
	rows := [][]int{{1, 2, 3}, {}, {4, 5, 6, 7, 8}}
	p := data.Pad(rows, -1, 0, 1)
	if p.Rows != 3 || p.Width != 5 || !slices.Equal(p.Lengths, []int64{3, 0, 5}) ||
		!slices.Equal(p.Values, []int{1, 2, 3, -1, -1, -1, -1, -1, -1, -1, 4, 5, 6, 7, 8}) {
		t.Errorf("%+v", p)
	}
	for i, m := range p.Mask() {
		if m != (p.Values[i] != -1) {
			t.Errorf("mask of value %d: %v", i, m)
		}
	}
	for i, r := range rows {
		if !slices.Equal(p.Row(i), r) {
			t.Errorf("row %d: %v", i, p.Row(i))
		}
	}
	if p := data.Pad(rows, 0, 4, 3); p.Width != 6 || !slices.Equal(p.Row(2), []int{4, 5, 6, 7}) {
		t.Errorf("cut and rounded up: %+v", p)
	}
	if p := data.Pad[int](nil, 0, 0, 8); p.Width != 0 || len(p.Values) != 0 || len(p.Mask()) != 0 {
		t.Errorf("nothing: %+v", p)
	}
}

func TestBuckets(t *testing.T) {
	lengths := make([]int, 200)
	total := 0
	for i := range lengths {
		lengths[i] = i * 37 % 50
		total += lengths[i]
	}
	lengths[11] = 900 // longer than a batch
	seen, padded := map[int]bool{}, 0
	batches := data.Buckets(lengths, 200, 1, 0)
	for _, b := range batches {
		width := 0
		for _, i := range b {
			if seen[i] {
				t.Errorf("row %d twice", i)
			}
			seen[i] = true
			width = max(width, lengths[i])
		}
		if width*len(b) > 200 && len(b) > 1 {
			t.Errorf("%d rows of %d", len(b), width)
		}
		if width < 900 {
			padded += width * len(b)
		}
	}
	if len(seen) != 200 || padded > total*11/10 {
		t.Errorf("%d rows, %d values with padding, %d without", len(seen), padded, total)
	}
	if !reflect.DeepEqual(batches, data.Buckets(lengths, 200, 1, 0)) || reflect.DeepEqual(batches, data.Buckets(lengths, 200, 1, 1)) {
		t.Error("the order does not depend on seed and epoch alone")
	}
}
