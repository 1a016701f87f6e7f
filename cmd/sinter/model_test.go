package main

import (
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/data/npy"
	"github.com/sinter-go/sinter/data/wav"
	"github.com/sinter-go/sinter/onnx"
)

// array is an array of floats.
func array(values []float32, shape ...int) sinter.Array {
	e, err := encoderOf(onnx.Float, len(values))
	if err != nil {
		panic(err)
	}
	for _, v := range values {
		e.float(float64(v))
	}
	return sinter.Array{DType: sinter.F32, Shape: shape, Bytes: e.bytes}
}

func declare(name string, e onnx.Elem, dims ...any) *onnx.ValueInfo {
	t := &onnx.Type{Elem: e, HasShape: true}
	for _, d := range dims {
		switch d := d.(type) {
		case int:
			t.Dims = append(t.Dims, onnx.Dim{Size: int64(d)})
		case string:
			t.Dims = append(t.Dims, onnx.Dim{Size: -1, Param: d})
		}
	}
	return &onnx.ValueInfo{Name: name, Type: t}
}

// writeModel writes a model of nodes.
func writeModel(t *testing.T, path string, g *onnx.Graph) {
	t.Helper()
	m := &onnx.Model{IRVersion: 8, Producer: "a test", Opsets: map[string]int64{"": 17}, Graph: g}
	b, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

func initializer(t *testing.T, name string, a sinter.Array) *onnx.Tensor {
	t.Helper()
	w, err := onnx.MakeTensor(name, a)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// classifier is x[batch,3] · w, and the products' sigmoid.
func classifier(t *testing.T) *onnx.Graph {
	return &onnx.Graph{Name: "classifier",
		Nodes: []*onnx.Node{
			{Name: "product", Op: "MatMul", Inputs: []string{"x", "w"}, Outputs: []string{"scores"}},
			{Name: "squash", Op: "Sigmoid", Inputs: []string{"scores"}, Outputs: []string{"p"}},
		},
		Initializers: []*onnx.Tensor{initializer(t, "w", array([]float32{1, 0, 0, 2, 0, 1, 0, 0, 0, 0, 1, -1}, 3, 4))},
		Inputs:       []*onnx.ValueInfo{declare("x", onnx.Float, "batch", 3)},
		Outputs:      []*onnx.ValueInfo{declare("scores", onnx.Float, "batch", 4), declare("p", onnx.Float, "batch", 4)}}
}

// identity passes an input on.
func identity(in *onnx.ValueInfo) *onnx.Graph {
	out := *in
	out.Name = "y"
	return &onnx.Graph{Name: "identity", Nodes: []*onnx.Node{{Op: "Identity", Inputs: []string{in.Name}, Outputs: []string{"y"}}},
		Inputs: []*onnx.ValueInfo{in}, Outputs: []*onnx.ValueInfo{&out}}
}

// checkGolden compares output with a file in testdata.
func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join(source, "testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
	}
}

func TestRunModel(t *testing.T) {
	t.Chdir(t.TempDir())
	writeModel(t, "m.onnx", classifier(t))
	if err := os.WriteFile("labels.txt", []byte("one\ntwo\nthree\nfour\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	r := invoke(t, "", "run", "m.onnx", "--input", "[[1,2,3],[0,-1,0.5]]", "--topk", "2", "--labels", "labels.txt")
	r.want(t, "run", exitOK, "", "")
	checkGolden(t, "run_model.txt", r.stdout)
	r = invoke(t, "", "run", "m.onnx", "--input", "[[1,2,3],[0,-1,0.5]]", "--topk", "2", "--labels", "labels.txt", "--json")
	checkGolden(t, "run_model.json", r.stdout)
	r = invoke(t, "", "run", "m.onnx", "-i", "x=random:2x3", "--explain")
	r.want(t, "--explain", exitOK, "A run executes 2 nodes, 0 of them on the host:\n       1  MatMul", "")
	r = invoke(t, "", "run", "m.onnx", "-i", "x=random:2x3", "--explain", "--profile", "--runs", "3", "--json")
	o := r.objects(t)
	if len(o) != 4 || o[2]["event"] != "explain" || o[3]["event"] != "profile" || len(o[3]["operators"].([]any)) != 2 || !(o[3]["median_seconds"].(float64) > 0) {
		t.Errorf("%s", r.stdout)
	}
}

// TestRunFiles takes inputs from files of each kind and writes outputs to others.
func TestRunFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	writeModel(t, "m.onnx", classifier(t))
	x := npy.Array(array([]float32{1, 2, 3}, 1, 3))
	want := []float32{1, 2, 3, -1}
	if err := npy.WriteFile("x.npy", x); err != nil {
		t.Fatal(err)
	}
	if err := npy.WriteZipFile("x.npz", map[string]npy.Array{"x": x, "other": npy.Array(array([]float32{0}, 1))}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("x.json", []byte("[[1, 2, 3.0]]\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{"x.npy", "x=x.npz", "x=x.npz:x", "x.json", "x=[[1,2,3]]"} {
		r := invoke(t, "", "run", "m.onnx", "-i", in, "-o", "scores=s.npy", "-o", "all.npz", "-o", "p=p.json", "-o", "all.json")
		r.want(t, in, exitOK, "wrote s.npy", "")
		a, err := npy.ReadFile("s.npy")
		if err != nil || !slices.Equal(a.Shape, []int{1, 4}) || string(a.Bytes) != string(array(want, 1, 4).Bytes) {
			t.Errorf("%s: %v, %v", in, a, err)
		}
		all, err := npy.ReadZipFile("all.npz")
		if err != nil || len(all) != 2 || string(all["scores"].Bytes) != string(a.Bytes) {
			t.Errorf("%s: %v, %v", in, all, err)
		}
		var p [][]float64
		b, err := os.ReadFile("p.json")
		if err == nil {
			err = json.Unmarshal(b, &p)
		}
		if err != nil || len(p) != 1 || len(p[0]) != 4 || math.Abs(p[0][3]-1/(1+math.E)) > 1e-7 {
			t.Errorf("%s: %s, %v", in, b, err)
		}
	}
	b, err := os.ReadFile("all.json")
	if err != nil || !strings.HasPrefix(string(b), `{"scores":[[1,2,3,-1]],`) {
		t.Errorf("%s, %v", b, err)
	}
	// Conversion is asked for.
	e, _ := encoderOf(onnx.Int64, 3)
	for i := range 3 {
		e.integer(int64(i + 1))
	}
	if err := npy.WriteFile("i.npy", npy.Array{DType: sinter.I64, Shape: []int{1, 3}, Bytes: e.bytes}); err != nil {
		t.Fatal(err)
	}
	invoke(t, "", "run", "m.onnx", "-i", "i.npy").want(t, "integers", exitFailure, "", "the array is int64[1 3], the model takes float32; --cast converts it")
	invoke(t, "", "run", "m.onnx", "-i", "i.npy", "--cast", "-o", "scores=s.npy").want(t, "--cast", exitOK, "", "")
	if a, err := npy.ReadFile("s.npy"); err != nil || string(a.Bytes) != string(array(want, 1, 4).Bytes) {
		t.Error(a, err)
	}
}

// TestRunPicturesAndSound: a picture and a sound become the values that the
// definitions say.
func TestRunPicturesAndSound(t *testing.T) {
	t.Chdir(t.TempDir())
	img := image.NewRGBA(image.Rect(0, 0, 2, 1))
	img.Set(0, 0, color.RGBA{255, 0, 51, 255})
	img.Set(1, 0, color.RGBA{0, 102, 255, 255})
	f, err := os.Create("a.png")
	if err == nil {
		err = png.Encode(f, img)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := wav.WriteFile("a.wav", wav.Sound{Rate: 8000, Channels: 2, Samples: []float32{0.5, 0.25, -1, 0}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, in, flags, want string
		declared              *onnx.ValueInfo
	}{
		{"nchw", "a.png", "", "[[[[1,0]],[[0,0.4]],[[0.2,1]]]]", declare("x", onnx.Float, "n", 3, "h", "w")},
		{"nhwc", "a.png", "", "[[[[1,0,0.2],[0,0.4,1]]]]", declare("x", onnx.Float, 1, "h", "w", 3)},
		{"bytes", "a.png", "--layout nhwc", "[[[255,0,51],[0,102,255]]]", declare("x", onnx.Uint8, "h", "w", "c")},
		{"normalised", "a.png", "--normalize 0.5/0.5", "[[[[1,-1]],[[-1,-0.2]],[[-0.6,1]]]]", declare("x", onnx.Float, 1, 3, 1, 2)},
		{"resized", "a.png", "--resize 1x1", "[[[[0.5]],[[0.2]],[[0.6]]]]", declare("x", onnx.Float, 1, 3, "h", "w")},
		{"sound", "a.wav", "", "[[0.375,-0.5]]", declare("x", onnx.Float, 1, "n")},
		{"sound in f64", "a.wav", "", "[0.375,-0.5]", declare("x", onnx.Double, "n")},
		{"bools", "[true,false]", "", "[true,false]", declare("x", onnx.Bool, 2)},
		{"a number", "16000", "", "16000", declare("x", onnx.Int64)},
		{"texts", `["a","b"]`, "", `["a","b"]`, declare("x", onnx.String, 2)},
		{"zeros", "zeros", "", "[[0,0]]", declare("x", onnx.Float, "n", 2)},
	} {
		writeModel(t, "m.onnx", identity(c.declared))
		args := append([]string{"run", "m.onnx", "-i", "x=" + c.in, "-o", "y=y.json"}, strings.Fields(c.flags)...)
		invoke(t, "", args...).want(t, c.name, exitOK, "wrote y.json", "")
		b, err := os.ReadFile("y.json")
		var got, want any
		if err == nil {
			err = json.Unmarshal(b, &got)
		}
		if e := json.Unmarshal([]byte(c.want), &want); err != nil || e != nil || !near(got, want) {
			t.Errorf("%s: %s, %v %v, want %s", c.name, b, err, e, c.want)
		}
	}
}

// near compares trees of numbers, up to the rounding of f32.
func near(a, b any) bool {
	switch x := a.(type) {
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, near)
	case float64:
		y, ok := b.(float64)
		return ok && math.Abs(x-y) < 2e-7*max(1, math.Abs(y))
	}
	return a == b
}

func TestModelUsageErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	writeModel(t, "m.onnx", classifier(t))
	writeModel(t, "i.onnx", identity(declare("x", onnx.Uint8, 2)))
	for args, want := range map[string]string{
		"run nothing.onnx":                      `there is no model nothing.onnx`,
		"run m.onnx":                            "no --input for x; the model takes:\n  x  float32[batch,3]",
		"run m.onnx -i z=[1]":                   `expected NAME=WHAT`,
		"run m.onnx -i x=zeros -i x=zeros":      `"x" was given before`,
		"run m.onnx -i zeros --topk=-1":         `--topk is -1`,
		"run m.onnx -i zeros --resize 3":        `--resize is "3", expected WIDTHxHEIGHT`,
		"run m.onnx -i zeros --normalize 1/0":   `--normalize is "1/0", expected MEAN/STD`,
		"run m.onnx -i zeros --layout chw":      `--layout is "chw"`,
		"run m.onnx -i zeros -o q=q.npy":        `the model has no output "q", only scores, p`,
		"run m.onnx -i zeros -o out.npy":        `expected NAME=FILE.npy`,
		"run m.onnx -i zeros --runs 0":          `--runs is 0`,
		"inspect m.onnx --dim batch=0":          `--dim is "batch=0"`,
		"bench m.onnx --batch 0":                `--batch is 0`,
		"bench m.onnx --runs 0":                 `--runs is 0`,
		"bench m.onnx --threads 1,2":            `--threads: one number with a model`,
		"bench m.onnx --quick --rounds 9":       `--quick, --rounds: not with a model`,
		"bench m.onnx --concurrency 0":          `--concurrency is 0`,
		"bench i.onnx --batch 3 --no-peer":      `the first extent of the input "x" is fixed`,
		"verify nothing.zip":                    `nothing.zip`,
		"run m.onnx -i zeros --device abacus:1": `there is no device "abacus:1"`,
	} {
		invoke(t, "", strings.Fields(args)...).want(t, args, exitUsage, "", want)
	}
	for args, want := range map[string]string{
		"run m.onnx -i [[1,2]]":        `input "x" (float32[batch,3]): the shape is [1 2]`,
		"run m.onnx -i x=[[1,2],[3]]":  `at [1]: expected a list of 2`,
		"run m.onnx -i x=x.npy":        `no such file`,
		"run m.onnx -i x=hello":        `is no file that is known by its ending`,
		"run i.onnx -i [1,256]":        `at [1]: 256 is no uint8`,
		"run i.onnx -i [1,1.5]":        `1.5 is no uint8`,
		"run i.onnx -i [1,true,\"a\"]": `"a" is no uint8`,
	} {
		invoke(t, "", strings.Fields(args)...).want(t, args, exitFailure, "", want)
	}
	if err := os.WriteFile("broken.onnx", []byte("hello"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{"run", "inspect", "bench"} {
		invoke(t, "", c, "broken.onnx").want(t, c, exitFailure, "", "broken.onnx: onnx: ")
	}
}

func TestBenchModel(t *testing.T) {
	t.Chdir(t.TempDir())
	writeModel(t, "m.onnx", classifier(t))
	r := invoke(t, "", "bench", "m.onnx", "--batch", "1,8", "--concurrency", "1,2", "--runs", "6", "--no-peer", "--json")
	o := r.objects(t)
	if r.code != exitOK || len(o) != 4 {
		t.Fatalf("%s%s", r.stdout, r.stderr)
	}
	for i, m := range o {
		lo, mid, hi := m["min_seconds"].(float64), m["p50_seconds"].(float64), m["p99_seconds"].(float64)
		if m["batch"] != []any{1.0, 1.0, 8.0, 8.0}[i] || m["concurrency"] != []any{1.0, 2.0, 1.0, 2.0}[i] || m["runs"] != 6.0 ||
			!(0 < lo && lo <= mid && mid <= hi) || !(m["items_per_second"].(float64) > 0) {
			t.Errorf("%v", m)
		}
	}
	r = invoke(t, "", "bench", "m.onnx", "-i", "random:Bx3", "--batch", "2", "--runs", "3", "--no-peer")
	r.want(t, "bench", exitOK, "sinter            2     3", "")
}

func TestVerifyCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	pb := func(path string, a sinter.Array) {
		b, err := initializer(t, "", a).Marshal()
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o777)
		}
		if err == nil {
			err = os.WriteFile(path, b, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, last := range map[string]float32{"good": 0, "wrong": 0.5} {
		writeModel(t, filepath.Join("cases", name, "model.onnx"), identity(declare("x", onnx.Float, 2)))
		pb(filepath.Join("cases", name, "test_data_set_0", "input_0.pb"), array([]float32{1, 0}, 2))
		pb(filepath.Join("cases", name, "test_data_set_0", "output_0.pb"), array([]float32{1, last}, 2))
	}
	g := identity(declare("x", onnx.Float, 2))
	g.Nodes[0].Op = "Frobnicate"
	writeModel(t, filepath.Join("cases", "odd", "model.onnx"), g)

	r := invoke(t, "", "verify", "cases", "cases", "--match", "good")
	if r.want(t, "good", exitOK, "", ""); r.stdout != "verify: 2 passed, 0 failed, 0 unsupported of 2\n" {
		t.Error(r.stdout)
	}
	r = invoke(t, "", "verify", "cases", "-v")
	r.want(t, "all", exitFailure, "verify: 1 passed, 1 failed, 1 unsupported of 3\n", "1 of 3 cases failed")
	for _, want := range []string{"passed good: ", "FAILED wrong: ", "element [1] is 0, expected 0.5", "unsupported odd: ", "Frobnicate"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
	r = invoke(t, "", "verify", "cases", "--json")
	if o := r.objects(t); r.code != exitFailure || len(o) != 4 || o[0]["status"] != "passed" || o[2]["case"] != "wrong" || fmt.Sprint(o[3]["total"]) != "3" {
		t.Error(r.stdout)
	}
	invoke(t, "", "verify", "cases", "--match", "zzz").want(t, "no case", exitUsage, "", `no case has "zzz"`)
}

func TestInspect(t *testing.T) {
	t.Chdir(t.TempDir())
	writeModel(t, "m.onnx", classifier(t))
	r := invoke(t, "", "inspect", "m.onnx", "--dim", "batch=4", "--html", "m.html")
	r.want(t, "inspect", exitOK, "", "")
	checkGolden(t, "inspect_model.txt", r.stdout)
	checkGolden(t, "inspect_model.json", invoke(t, "", "inspect", "m.onnx", "--dim", "batch=4", "--json").stdout)
	page, err := os.ReadFile("m.html")
	if err != nil {
		t.Fatal(err)
	}
	checkGolden(t, "inspect_model.html", string(page))
	if s := string(page); strings.Contains(s, "<script") || strings.Contains(s, "src=") || strings.Count(s, "<rect ") != 5 || strings.Count(s, "<path ") != 4 {
		t.Errorf("the page:\n%s", s)
	}
	g := classifier(t)
	g.Nodes[1].Op = "Frobnicate"
	writeModel(t, "odd.onnx", g)
	r = invoke(t, "", "inspect", "odd.onnx", "--html", "odd.html")
	r.want(t, "odd", exitFailure, "1  Frobnicate  not supported: ", "odd.onnx: the model does not run")
	if page, err := os.ReadFile("odd.html"); err != nil || !strings.Contains(string(page), `class="bad"`) {
		t.Error(err)
	}
}
