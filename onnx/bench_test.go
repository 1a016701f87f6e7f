package onnx

import (
	"archive/zip"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/sinter-go/sinter"
)

// BenchmarkModels runs the handed models, from inputs on the device to outputs on
// the host.
func BenchmarkModels(b *testing.B) {
	ctx := context.Background()
	for _, file := range []string{"models.zip", "real_models.zip"} {
		z, err := zip.OpenReader(filepath.Join("..", "..", "shared", "cases", file))
		if err != nil {
			b.Skip(err)
		}
		read := func(name string) []byte {
			f, err := z.Open(name)
			if err != nil {
				return nil
			}
			data, _ := io.ReadAll(f)
			return data
		}
		for _, f := range z.File {
			if filepath.Base(f.Name) != "model.onnx" {
				continue
			}
			dir := filepath.Dir(f.Name)
			if os.Getenv("ONNX_CASES") != "" && os.Getenv("ONNX_CASES") != filepath.Base(dir) {
				continue
			}
			b.Run(filepath.Base(dir), func(b *testing.B) {
				m, err := Parse(read(f.Name))
				if err != nil {
					b.Fatal(err)
				}
				p, err := m.Compile()
				if err != nil {
					b.Fatal(err)
				}
				in := map[string]*Value{}
				for i, d := range p.Inputs() {
					v, err := ParseValue(read(filepath.Join(dir, "test_data_set_0", "input_"+string(rune('0'+i))+".pb")), d.Type)
					if err != nil {
						b.Fatal(err)
					}
					in[d.Name] = TensorValue(v.Tensor(sinter.DefaultDevice()))
				}
				for b.Loop() {
					out, err := p.RunValues(ctx, in)
					if err != nil {
						b.Fatal(err)
					}
					for _, v := range out {
						if _, err := v.Array(ctx); err != nil {
							b.Fatal(err)
						}
						v.Release()
					}
				}
			})
		}
	}
}
