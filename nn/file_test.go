package nn

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/safetensors"
)

var background = context.Background()

// TestFileRoundTrip saves and loads every dtype, exactly.
func TestFileRoundTrip(t *testing.T) {
	types := []sinter.DType{sinter.Bool, sinter.I8, sinter.I16, sinter.I32, sinter.I64, sinter.U8, sinter.U16, sinter.U32,
		sinter.U64, sinter.F16, sinter.BF16, sinter.F32, sinter.F64}
	raw := make([]byte, 6*8)
	for i := range raw {
		raw[i] = byte(37*i + 11) // NaN patterns among them would do, too
	}
	from, to := map[string]*sinter.Var{}, map[string]*sinter.Var{}
	for _, d := range types {
		b := raw[:6*d.Size()]
		if d == sinter.Bool {
			b = []byte{1, 0, 0, 1, 1, 0}
		}
		from[d.String()] = sinter.NewVar(sinter.FromBytes(sinter.Of{}, d, b, 2, 3))
		to[d.String()] = sinter.NewVar(sinter.Zeros(d, 2, 3))
	}
	from["scalar"], to["scalar"] = sinter.NewVar(sinter.Scalar[float32](3)), sinter.NewVar(sinter.Scalar[float32](0))
	from["empty"], to["empty"] = sinter.NewVar(sinter.Zeros(sinter.F32, 0, 4)), sinter.NewVar(sinter.Zeros(sinter.F32, 0, 4))
	path := filepath.Join(t.TempDir(), "m.safetensors")
	meta := map[string]string{"author": "someone", "π": "3"}
	if err := Save(background, path, from, meta); err != nil {
		t.Fatal(err)
	}
	got, err := Load(path, to)
	if err != nil || !maps.Equal(got, meta) {
		t.Fatalf("metadata %v, error %v", got, err)
	}
	for name := range from {
		a, err := sinter.Read(background, from[name].Value(), to[name].Value())
		if err != nil || !slices.Equal(a[0].Bytes, a[1].Bytes) || a[0].DType != a[1].DType {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
	h1, err1 := Hash(background, from)
	h2, err2 := Hash(background, to)
	if err1 != nil || err2 != nil || h1 != h2 || len(h1) != 64 {
		t.Errorf("hashes %s %s, errors %v %v", h1, h2, err1, err2)
	}
}

func TestLoadMismatch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.safetensors")
	one := func(d sinter.DType, shape ...int) *sinter.Var { return sinter.NewVar(sinter.Ones(d, shape...)) }
	err := Save(background, path, map[string]*sinter.Var{"same": one(sinter.F32, 2), "shape": one(sinter.F32, 2, 3),
		"dtype": one(sinter.F32, 2), "extra": one(sinter.I8, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]*sinter.Var{"same": sinter.NewVar(sinter.Zeros(sinter.F32, 2)), "shape": one(sinter.F32, 3, 2),
		"dtype": one(sinter.F64, 2), "missing": one(sinter.F32, 4)}
	_, err = Load(path, m)
	var mismatch *MismatchError
	if !errors.As(err, &mismatch) {
		t.Fatalf("error %v", err)
	}
	want := []string{"dtype: f32[2] in the file, f64[2] in the model", "missing: not in the file, the model has f32[4]",
		"shape: f32[2 3] in the file, f32[3 2] in the model", "extra: i8[1] in the file, not in the model"}
	if !slices.Equal(mismatch.Differences, want) || !strings.Contains(err.Error(), path) {
		t.Errorf("%v, want %q", err, want)
	}
	if v := m["same"].Version(); v != 0 {
		t.Errorf("the model was changed: version %d", v)
	}
}

func TestLoadRefuses(t *testing.T) {
	dir := t.TempDir()
	m := &Linear{Weight: sinter.NewVar(sinter.Ones(sinter.F32, 2, 2))}
	if _, err := Load(filepath.Join(dir, "none"), m); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	path := filepath.Join(dir, "m")
	if err := Save(background, path, m, nil); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 7, 20, len(whole) - 1} {
		if err := os.WriteFile(path, whole[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path, m); !errors.Is(err, safetensors.ErrMalformed) {
			t.Errorf("%d bytes of %d: %v", n, len(whole), err)
		}
	}
	err = safetensors.WriteFile(path, []safetensors.Tensor{{Name: "weight", DType: sinter.F32, Shape: []int{1}, Data: make([]byte, 4)},
		{Name: strings.Repeat("x", 500), DType: sinter.U8, Shape: []int{0}}, {Name: "bell\a", DType: sinter.U8, Shape: []int{0}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path, m); err == nil || len(err.Error()) > 600 || strings.ContainsRune(err.Error(), '\a') {
		t.Errorf("strange names: %v", err)
	}
}

func TestSaveRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m")
	bad := map[string]*sinter.Var{"good": sinter.NewVar(sinter.Ones(sinter.F32, 2)), "bad": sinter.NewVar(sinter.Ones(sinter.F32, -2))}
	if err := Save(background, path, bad, nil); err == nil || !strings.Contains(err.Error(), "parameter bad") {
		t.Errorf("a variable that carries an error: %v", err)
	}
	if _, err := Hash(background, bad); err == nil {
		t.Error("the hash of a variable that carries an error")
	}
	twice := []Named{{Name: "a", Var: sinter.NewVar(sinter.Ones(sinter.F32))}, {Name: "a", Var: sinter.NewVar(sinter.Ones(sinter.F32))}}
	if err := SaveParams(background, path, twice, nil); err == nil {
		t.Error("two parameters of one name were saved")
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was left: %v", err)
	}
	over, cancel := context.WithCancel(background)
	cancel()
	if err := Save(over, path, &Linear{Weight: twice[0].Var}, nil); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestSwapped(t *testing.T) {
	in := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	for size, want := range map[int][]byte{1: {1, 2, 3, 4, 5, 6, 7, 8}, 2: {2, 1, 4, 3, 6, 5, 8, 7}, 8: {8, 7, 6, 5, 4, 3, 2, 1}} {
		if got := swapped(in, size); !slices.Equal(got, want) {
			t.Errorf("size %d: %v", size, got)
		}
	}
	if in[0] != 1 {
		t.Error("the argument was changed")
	}
}
