package sinter_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
)

// The functions below hold the README's Go blocks, line by line, but for programs,
// which are examples; TestReadmeCode compares them.

func readmeExample() error {
	// Fit y = 3x - 1 by gradient descent.
	g := sinter.NewGenerator(1)
	x := g.Uniform(sinter.Of{}, sinter.F32, 256, 1)
	y := x.Mul(3).Sub(1)

	w := sinter.NewVar(sinter.Zeros(sinter.F32, 1, 1))
	b := sinter.NewVar(sinter.Zeros(sinter.F32, 1))
	for step := 0; step < 200; step++ {
		s := sinter.NewScope("step") // everything made in it is released at its end
		diff := s.In(x).MatMul(w.In(s)).Add(b.In(s)).Sub(y)
		loss := diff.Mul(diff).Mean()
		grads, err := autodiff.Gradients(loss, w, b)
		if err != nil {
			return err
		}
		for i, v := range []*sinter.Var{w, b} {
			if err := v.Set(v.In(s).Sub(grads[i].Mul(0.5))); err != nil {
				return err
			}
		}
		s.End()
	}
	fmt.Println(w.Value().Reshape(), b.Value().Reshape())
	return nil
}

func readmeError(ctx context.Context) error {
	a := sinter.Zeros(sinter.F32, 2, 3)
	c := a.MatMul(sinter.Zeros(sinter.F32, 4, 5)).Relu().Sum()
	_, err := sinter.Item[float32](ctx, c)
	return err
}

func readmeFusion(g *sinter.Generator) error {
	x := g.Normal(sinter.Of{}, sinter.F32, 4096, 1000)
	plans, err := sinter.DefaultDevice().Explain(func() error {
		s := sinter.NewScope("softmax")
		defer s.End()
		rows := sinter.Over(1).KeepDims()
		e := s.In(x).Sub(s.In(x).Max(rows)).Exp()
		_ = s.Keep(e.Div(e.Sum(rows)))
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Println(plans[0].Kernels, "kernel,", plans[0].Launches, "launch; one by one", plans[0].Unfused.Launches)
	return nil
}

func Example_fusion() {
	if err := readmeFusion(sinter.NewGenerator(1)); err != nil {
		fmt.Println(err)
	}
	// Output: 1 kernel, 1 launch; one by one 5
}

func Example() {
	if err := readmeExample(); err != nil {
		fmt.Println(err)
	}
	// Output: 2.9999986 f32[] -0.99999917 f32[]
}

func blocks(t *testing.T, language string) []string {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$").FindAllStringSubmatch(string(readme), -1) {
		if m[1] == language {
			out = append(out, m[2])
		}
	}
	return out
}

func TestReadmeCode(t *testing.T) {
	self, err := os.ReadFile("readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	code := blocks(t, "go")
	if len(code) != 5 {
		t.Fatalf("the README has %d Go blocks, expected 5", len(code))
	}
	programs := []string{"examples/model/main.go", "examples/gpu/main.go"} // in the order of the README
	for i, b := range code {
		if strings.HasPrefix(b, "package main") { // a program, which has a test of its own
			if len(programs) == 0 {
				t.Fatalf("block %d of the README is a program that has no test", i)
			}
			program, err := os.ReadFile(programs[0])
			if err != nil || b != string(program) {
				t.Errorf("block %d of the README is not %s: %v", i, programs[0], err)
			}
			programs = programs[1:]
			continue
		}
		var indented strings.Builder
		for _, line := range strings.SplitAfter(b, "\n") {
			if strings.TrimSpace(line) != "" {
				indented.WriteString("\t")
			}
			indented.WriteString(line)
		}
		if !strings.Contains(string(self), indented.String()) {
			t.Errorf("block %d of the README is not in readme_test.go, line by line", i)
		}
	}
}

func TestReadmeOutput(t *testing.T) {
	out := blocks(t, "")
	if len(out) != 3 {
		t.Fatalf("the README shows %d outputs, expected 3", len(out))
	}
	if out[0] != "2.9999986 f32[] -0.99999917 f32[]\n" {
		t.Errorf("the README shows %q, the example prints otherwise", out[0])
	}
	err := readmeError(context.Background())
	if err == nil {
		t.Fatal("no error")
	}
	got := regexp.MustCompile(`^.*readme_test\.go:\d+`).ReplaceAllString(err.Error(), "main.go:14")
	if out[2] != "1 kernel, 1 launch; one by one 5\n" {
		t.Errorf("the README shows %q, the example prints otherwise", out[2])
	}
	if got+"\n" != out[1] {
		t.Errorf("got %q\nthe README shows %q", got, out[1])
	}
}
