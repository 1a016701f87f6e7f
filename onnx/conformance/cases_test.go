package conformance

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// cases returns the path of a file of cases, which lie beside the repository.
func cases(t testing.TB, name string) string {
	t.Helper()
	p := filepath.Join("..", "..", "..", "shared", "cases", name)
	if _, err := os.Stat(p); err != nil {
		t.Skipf("no cases: %v", err)
	}
	return p
}

// ONNX_CASES picks cases by a part of their name.
func match(name string) bool { return strings.Contains(name, os.Getenv("ONNX_CASES")) }

func TestNodeCases(t *testing.T) {
	var out strings.Builder
	sum, err := Verify(context.Background(), cases(t, "onnx_node.zip"), &out, Options{Match: match})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(out.String())
	if sum.Failed > 0 {
		t.Errorf("%d cases failed", sum.Failed)
	}
}
