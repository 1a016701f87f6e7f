package onnx

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path"
	"path/filepath"
	"testing"
	"time"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/cpu"
)

// mutated returns a file with a few changes of the kinds that break readers:
// flipped bits, great numbers, cut and repeated and exchanged pieces.
func mutated(rng *rand.Rand, b []byte) []byte {
	b = append([]byte(nil), b...)
	for range 1 + rng.IntN(4) {
		if len(b) == 0 {
			return b
		}
		at := rng.IntN(len(b))
		end := min(at+1+rng.IntN(16), len(b))
		switch rng.IntN(8) {
		case 0, 1:
			b[at] ^= 1 << rng.IntN(8)
		case 2:
			b[at] = byte(rng.IntN(256))
		case 3: // a varint of 2^63 - 1 or -1
			n := 8 + rng.IntN(2)
			big := make([]byte, 0, 10)
			for range n {
				big = append(big, 0xff)
			}
			b = append(b[:at:at], append(append(big, 0x01), b[end:]...)...)
		case 4:
			b = append(b[:at:at], b[end:]...)
		case 5:
			b = append(b[:end:end], b[at:]...)
		case 6:
			b = b[:at]
		case 7:
			to := rng.IntN(len(b))
			b[at], b[to] = b[to], b[at]
		}
	}
	return b
}

// Mutations of the node cases, which have every operator, are no more than
// errors, quickly and in bounded memory.
func TestMutatedCases(t *testing.T) {
	z, err := zip.OpenReader(filepath.Join("..", "..", "shared", "cases", "onnx_node.zip"))
	if err != nil {
		t.Skipf("no cases: %v", err)
	}
	defer z.Close()
	each := 3
	if testing.Short() {
		each = 1
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for i, f := range z.File {
		if path.Base(f.Name) != "model.onnx" || testing.Short() && i%5 != 0 {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		whole, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if len(whole) > 1<<15 {
			continue
		}
		for k := range each {
			b := mutated(rng, whole)
			quick(t, fmt.Sprintf("%s, mutation %d", f.Name, k), func() {
				defer func() {
					if p := recover(); p != nil {
						t.Errorf("%s, mutation %d: %v", f.Name, k, p)
					}
				}()
				if err := attempt(t, b); errors.Is(err, sinter.ErrInternal) {
					t.Errorf("%s, mutation %d: %v", f.Name, k, err)
				}
			})
		}
	}
}

// edgeInts are integers that operators meet in hostile models.
var edgeInts = []int64{-1, 0, 1, 2, 3, 7, -2, -7, 255, 1 << 31, -1 << 31, 1 << 40, 1<<62 + 1, -1 << 63, 1<<63 - 1}

// changed makes changes in a model that leave it well formed: attributes of other
// numbers, inputs exchanged or left out, extents of other sizes.
func changed(rng *rand.Rand, m *Model) {
	edge := func() int64 { return edgeInts[rng.IntN(len(edgeInts))] }
	for _, n := range m.Graph.Nodes {
		for _, a := range n.Attrs {
			if rng.IntN(2) == 0 {
				continue
			}
			switch a.Kind {
			case AttrInt:
				a.Int = edge()
			case AttrFloat:
				a.Float = []float32{0, -1, 1e30, float32(math.NaN()), float32(math.Inf(1)), 0.5}[rng.IntN(6)]
			case AttrInts:
				if len(a.Ints) > 0 && rng.IntN(3) > 0 {
					a.Ints[rng.IntN(len(a.Ints))] = edge()
				} else {
					a.Ints = append(a.Ints, edge())
				}
			case AttrString:
				a.Str = []string{"", "linear", "nope", "SAME_UPPER"}[rng.IntN(4)]
			}
		}
		if k := len(n.Inputs); k > 1 && rng.IntN(4) == 0 {
			n.Inputs[rng.IntN(k)] = n.Inputs[rng.IntN(k)]
		}
		if k := len(n.Inputs); k > 1 && rng.IntN(6) == 0 {
			n.Inputs[1+rng.IntN(k-1)] = ""
		}
	}
	for _, v := range m.Graph.Inputs {
		if v.Type == nil || rng.IntN(3) > 0 {
			continue
		}
		for i := range v.Type.Dims {
			if rng.IntN(2) == 0 {
				v.Type.Dims[i].Size = int64(rng.IntN(5))
			}
		}
		if rng.IntN(4) == 0 {
			v.Type.Dims = v.Type.Dims[:rng.IntN(len(v.Type.Dims)+1)]
		}
	}
}

// hostileInput makes elements of a declared type that include extreme ones.
func hostileInput(rng *rand.Rand, t *Type) *Value {
	if t == nil || t.Sequence != nil || t.Optional != nil || !t.Elem.DType().Valid() || t.Elem.Narrow() {
		return nil
	}
	h := &Host{Elem: t.Elem, Shape: []int{}, Ints: []int64{}, Floats: []float64{}}
	for _, d := range t.Dims {
		h.Shape = append(h.Shape, int(min(max(d.Size, 0), 6)))
	}
	if h.Size() > 1<<12 {
		return nil
	}
	for range h.Size() {
		switch {
		case h.IsFloat():
			h.Floats = append(h.Floats, round(t.Elem, []float64{0, 1, -1, 0.5, 1e30, math.NaN(), math.Inf(-1), 3}[rng.IntN(8)]))
		case t.Elem == Bool:
			h.Ints = append(h.Ints, int64(rng.IntN(2)))
		case rng.IntN(3) > 0:
			h.Ints = append(h.Ints, wrap(t.Elem, int64(rng.IntN(4))))
		default:
			h.Ints = append(h.Ints, wrap(t.Elem, edgeInts[rng.IntN(len(edgeInts))]))
		}
	}
	return HostValue(h)
}

// Well-formed models with hostile numbers in their attributes and inputs are no
// more than errors either, and none of them a fault of Sinter.
func TestChangedCases(t *testing.T) {
	z, err := zip.OpenReader(filepath.Join("..", "..", "shared", "cases", "onnx_node.zip"))
	if err != nil {
		t.Skipf("no cases: %v", err)
	}
	defer z.Close()
	b, err := cpu.New(cpu.Options{Memory: 64 << 20, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	d := sinter.NewRuntime().Adopt(b)
	defer d.Close()
	each := 4
	if testing.Short() {
		each = 1
	}
	rng := rand.New(rand.NewPCG(2, 2))
	for _, f := range z.File {
		if path.Base(f.Name) != "model.onnx" {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		whole, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		for k := range each {
			m, err := Parse(whole)
			if err != nil {
				t.Fatal(err)
			}
			changed(rng, m)
			quick(t, fmt.Sprintf("%s, change %d", f.Name, k), func() {
				defer func() {
					if p := recover(); p != nil {
						t.Errorf("%s, change %d: panic: %v", f.Name, k, p)
					}
				}()
				if err := runHostile(d, m, rng); errors.Is(err, sinter.ErrInternal) {
					t.Errorf("%s, change %d: %v", f.Name, k, err)
				}
			})
		}
	}
}

func runHostile(d *sinter.Device, m *Model, rng *rand.Rand) error {
	p, err := m.Compile(On(d))
	if err != nil {
		return err
	}
	defer p.Release()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	in := map[string]*Value{}
	for _, v := range p.Inputs() {
		if in[v.Name] = hostileInput(rng, v.Type); in[v.Name] == nil {
			if in[v.Name], err = sampleInput(d, v.Type); err != nil {
				return err
			}
		}
	}
	out, err := p.RunValues(ctx, in)
	if err != nil {
		return err
	}
	for _, v := range out {
		if v.IsSequence() || v.IsNone() || v.Elem == String {
			continue
		}
		if _, err := v.Array(ctx); err != nil {
			return err
		}
		v.Release()
	}
	return nil
}
