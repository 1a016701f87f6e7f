package conformance

import (
	"context"
	"os"
	"path"
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

// apart are the node cases that do not pass, by the beginning of their names, and
// why. Nothing else may fail, or be unsupported.
var apart = []struct {
	prefix string
	status Status
	why    string
}{
	{"test_dft_inverse", Failed, "the expected values have the noise of an f32 transform, 1.9e-7 in the place of 0, and a tolerance below it"},
	{"test_ai_onnx_ml_", Unsupported, "classical machine learning"},
	{"test_ada", Unsupported, "training operators: Adam, Adagrad"},
	{"test_image_decoder_", Unsupported, "files of pictures"},
	{"test_bernoulli", Unsupported, "random draws, which the standard does not fix"},
	{"test_training_dropout_default", Unsupported, "random draws"},
	{"test_training_dropout_mask", Unsupported, "random draws"},
}

// halfPrecision are cases of attention in bfloat16. Their expected values were
// rounded to bfloat16 after each step of the softmax, and their tolerance is a
// quarter of the distance between two numbers; Sinter rounds once.
func halfPrecision(name string) bool {
	return strings.HasPrefix(name, "test_attention_") && strings.Contains(name, "bf16")
}

func TestNodeCases(t *testing.T) {
	var out strings.Builder
	var odd []string
	opts := Options{Match: match, Each: func(r Result) {
		name := path.Base(r.Name)
		if r.Status == Passed || r.Status == Failed && halfPrecision(name) {
			return
		}
		for _, a := range apart {
			if strings.HasPrefix(name, a.prefix) && r.Status == a.status {
				return
			}
		}
		odd = append(odd, name)
	}}
	sum, err := Verify(context.Background(), cases(t, "onnx_node.zip"), &out, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(out.String())
	if len(odd) > 0 {
		t.Errorf("%s: these should pass: %s", sum, strings.Join(odd, ", "))
	}
	if os.Getenv("ONNX_CASES") == "" && sum.Passed < 1142 {
		t.Errorf("%s: at least 1142 passed before", sum)
	}
}
