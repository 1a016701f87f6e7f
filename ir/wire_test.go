package ir

import (
	"bytes"
	"testing"
)

// roundTripWire checks that a program survives the wire form, that encoding the
// decoded program gives the same bytes, and that ids do not matter.
func roundTripWire(t *testing.T, p *Program) {
	t.Helper()
	for _, opts := range [][]WireOption{nil, {WithSites}} {
		b := p.AppendWire(nil, opts...)
		q, err := DecodeWire(b, nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, p)
		}
		if err := q.Verify(); err != nil {
			t.Fatalf("%v in\n%s", err, q)
		}
		if again := q.AppendWire(nil, opts...); !bytes.Equal(b, again) {
			t.Fatalf("encoding again gives other bytes:\n%x\n%x\n%s", b, again, p)
		}
		if p.Fingerprint() != q.Fingerprint() {
			t.Fatal("the fingerprint changed")
		}
	}
}
