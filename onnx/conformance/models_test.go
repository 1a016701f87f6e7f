package conformance

import (
	"context"
	"strings"
	"testing"

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
