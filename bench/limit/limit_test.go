package limit

import (
	"errors"
	"testing"
	"time"

	"github.com/sinter-go/sinter/ir"
)

func TestLimits(t *testing.T) {
	m, err := Open()
	if errors.Is(err, ir.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, threads := range []int{1, 2} {
		for _, k := range Bandwidths {
			for _, bytes := range []int64{0, 32 << 10, 512 << 10, 8 << 20} {
				r, err := m.Bandwidth(k, bytes, threads, time.Millisecond)
				if err != nil || r < 1e8 {
					t.Errorf("%s of %d bytes, %d threads: %.3g, %v", k, bytes, threads, r, err)
				}
				t.Logf("%s of %d KB, %d threads: %.1f GB/s", k, bytes>>10, threads, r/1e9)
			}
		}
		for _, k := range Arithmetic {
			if !m.Has(k) {
				continue
			}
			r, err := m.Rate(k, threads, time.Millisecond)
			if err != nil || r < 1e8 {
				t.Errorf("%s, %d threads: %.3g, %v", k, threads, r, err)
			}
			t.Logf("%s, %d threads: %.1f G/s", k, threads, r/1e9)
		}
	}
	if _, err := m.Bandwidth(F32, 1, 1, 0); !errors.Is(err, ir.ErrArgument) {
		t.Errorf("bandwidth of arithmetic: %v", err)
	}
	if _, err := m.Rate(Copy, 1, 0); !errors.Is(err, ir.ErrArgument) {
		t.Errorf("arithmetic of a copy: %v", err)
	}
}

// TestCopies: the copying loops copy, and within their bounds.
func TestCopies(t *testing.T) {
	m, err := Open()
	if errors.Is(err, ir.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, k := range []Kind{Copy, CopyStream} {
		const bytes = 64 << 10
		if err := m.reserve(bytes + 2*skew); err != nil {
			t.Fatal(err)
		}
		for i := range m.memory {
			m.memory[i] = byte(i>>8 ^ i)
		}
		before := append([]byte(nil), m.memory...)
		if _, err := m.Bandwidth(k, bytes, 1, 0); err != nil {
			t.Fatal(err)
		}
		for i := range m.memory[:bytes+2*skew] {
			want := before[i]
			if from := i - bytes/2 - skew; from >= 0 && from < bytes/2 {
				want = before[from]
			}
			if m.memory[i] != want {
				t.Fatalf("%s: byte %d is %d, expected %d", k, i, m.memory[i], want)
			}
		}
	}
}
