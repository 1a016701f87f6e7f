package onnx

import (
	"archive/zip"
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
)

// TestMarshal: a model that is written and read again is the same model, and is
// written with the same bytes.
func TestMarshal(t *testing.T) {
	for _, name := range []string{"models.zip", "real_models.zip", "random_programs.zip"} {
		z, err := zip.OpenReader(filepath.Join("..", "..", "shared", "cases", name))
		if err != nil {
			t.Skipf("no cases: %v", err)
		}
		defer z.Close()
		for _, f := range z.File {
			if !strings.HasSuffix(f.Name, "model.onnx") {
				continue
			}
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(r)
			r.Close()
			if err != nil {
				t.Fatal(err)
			}
			first, err := Parse(b)
			if err != nil {
				t.Fatal(err)
			}
			written, err := first.Marshal()
			if err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			second, err := Parse(written)
			if err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			again, err := second.Marshal()
			if err != nil || !bytes.Equal(written, again) {
				t.Errorf("%s: other bytes the second time, %v", f.Name, err)
			}
			if a, b := first.Operators(), second.Operators(); len(a) != len(b) || len(first.Graph.Initializers) != len(second.Graph.Initializers) {
				t.Errorf("%s: %d operators became %d", f.Name, len(a), len(b))
			}
			for i, want := range first.Graph.Initializers {
				x, err1 := want.Array()
				y, err2 := second.Graph.Initializers[i].Array()
				if err1 != nil || err2 != nil || x.DType != y.DType || !bytes.Equal(x.Bytes, y.Bytes) {
					t.Errorf("%s: %q changed, %v %v", f.Name, want.Name, err1, err2)
				}
			}
		}
	}
}

func TestMakeTensorRefuses(t *testing.T) {
	if _, err := MakeTensor("w", sinter.Array{DType: sinter.F32, Shape: []int{3}, Bytes: make([]byte, 8)}); err == nil || !strings.Contains(err.Error(), "8 bytes") {
		t.Error(err)
	}
	if _, err := MakeTensor("w", sinter.Array{Shape: []int{3}}); err == nil {
		t.Error("a tensor without a dtype is no error")
	}
}
