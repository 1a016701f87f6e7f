package conformance

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/onnx"
)

// TestModels runs whole models: six made for it, five that people use, and 200
// random programs, with constants folded and not.
func TestModels(t *testing.T) {
	for _, file := range []string{"models.zip", "real_models.zip", "random_programs.zip"} {
		for _, folding := range []bool{true, false} {
			name := file
			opts := Options{Match: match}
			if !folding {
				name += ", constants not folded"
				opts.Compile = []onnx.Option{onnx.WithoutFolding()}
			}
			t.Run(name, func(t *testing.T) {
				var out strings.Builder
				sum, err := Verify(context.Background(), cases(t, file), &out, opts)
				if err != nil {
					t.Fatal(err)
				}
				t.Log(out.String())
				if sum.Passed != sum.Total() {
					t.Error(sum)
				}
			})
		}
	}
}

// Devices give the same bits: the random programs on the CPU with generated code,
// on the interpreter, and behind a router.
func TestDevicesAgree(t *testing.T) {
	where := cases(t, "random_programs.zip")
	files, closeFiles, err := open(where)
	if err != nil {
		t.Fatal(err)
	}
	defer closeFiles()
	names, err := Cases(files)
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		names = names[:20]
	}
	ctx := context.Background()
	for _, name := range names {
		want := outputsOn(t, files, name, "cpu")
		for _, id := range []string{"interp", "router/cpu"} {
			got := outputsOn(t, files, name, id)
			for out, w := range want {
				a, err := w.Array(ctx)
				if err != nil {
					t.Fatal(err)
				}
				b, err := got[out].Array(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := compareArrays(b, a, tolerance{}); err != nil || !slices.Equal(a.Shape, b.Shape) {
					t.Errorf("%s, output %s on %s: %v", name, out, id, err)
				}
			}
		}
	}
}

// outputsOn runs the first data set of a case on a device.
func outputsOn(t *testing.T, files fs.FS, name, id string) map[string]*onnx.Value {
	t.Helper()
	d, err := sinter.OpenDevice(id)
	if err != nil {
		t.Fatal(err)
	}
	data, err := fs.ReadFile(files, path.Join(name, "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := onnx.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Compile(onnx.On(d))
	if err != nil {
		t.Fatal(err)
	}
	in := map[string]*onnx.Value{}
	for i, v := range p.Inputs() {
		data, err := fs.ReadFile(files, path.Join(name, "test_data_set_0", fmt.Sprintf("input_%d.pb", i)))
		if err != nil {
			t.Fatal(err)
		}
		if in[v.Name], err = onnx.ParseValue(data, v.Type); err != nil {
			t.Fatal(err)
		}
	}
	out, err := p.RunValues(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
