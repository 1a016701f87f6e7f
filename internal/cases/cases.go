// Package cases finds the models that tests of the examples run on: they lie in an
// archive beside the repository, and tests are skipped where it is missing.
package cases

import (
	"archive/zip"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// RealModel extracts a trained model and returns its path. The archive is found from
// the folder of the test's package, which lies depth folders below the repository.
func RealModel(t testing.TB, depth int, name string) string {
	t.Helper()
	archive := filepath.Join("..", "shared", "cases", "real_models.zip")
	for range depth {
		archive = filepath.Join("..", archive)
	}
	z, err := zip.OpenReader(archive)
	if err != nil {
		t.Skipf("no model: %v", err)
	}
	defer z.Close()
	f, err := z.Open("real/" + name + "/model.onnx")
	if err != nil {
		t.Skipf("no model: %v", err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name+".onnx")
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}
