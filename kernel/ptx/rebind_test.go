package ptx

import (
	"reflect"
	"slices"
	"testing"
)

// TestRebind: a plan that is moved to other addresses and parameters is the one made for
// them, where the keys are equal.
func TestRebind(t *testing.T) {
	for _, s := range specs() {
		c := s.Shape()
		m, err := Generate(c.Kernel, Target{Major: 9, Multiprocessors: 132})
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		var from, to []uint64
		for i := range c.Buffers {
			from = append(from, uint64(0x1_0000_0000*(i+1)))
			to = append(to, uint64(0x7_0000_0000*(i+1)+3*alignments))
		}
		other := *c.Launch
		other.Params = slices.Clone(other.Params)
		for i := range other.Params {
			other.Params[i] ^= 0x55
		}
		if string(m.AppendKey(nil, c.Launch, from)) != string(m.AppendKey(nil, &other, to)) {
			t.Fatalf("%s: keys differ", s.Name)
		}
		got, err := m.Plan(c.Launch, from)
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		want, err := m.Plan(&other, to)
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		got.Rebind(&other, to)
		if !reflect.DeepEqual(got.Steps, want.Steps) {
			t.Errorf("%s: %+v\nwant %+v", s.Name, got.Steps, want.Steps)
		}
		odd := slices.Clone(to)
		odd[0]++
		if string(m.AppendKey(nil, c.Launch, from)) == string(m.AppendKey(nil, &other, odd)) {
			t.Fatalf("%s: the key does not tell alignment", s.Name)
		}
	}
}
