package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/safetensors"
)

// digitsCSV returns the embedded digits as a file of users.
func digitsCSV(t *testing.T, labels bool) string {
	t.Helper()
	d, err := data.Digits()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range d.N {
		for j, v := range d.Row(i) {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprint(&b, v*darkest)
		}
		if labels {
			fmt.Fprintf(&b, ",%d", d.Labels[i])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// model trains a small model in a fresh directory, which becomes the current one.
func model(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	invoke(t, "", "train", "-q", "--epochs", "3", "--hidden", "32").want(t, "train", exitOK, "saved", "")
}

func TestPredict(t *testing.T) {
	model(t)
	labelled, plain := digitsCSV(t, true), digitsCSV(t, false)
	piped := invoke(t, labelled, "predict")
	piped.want(t, "standard input", exitOK, "\tok\n", " % right: ")
	if !strings.Contains(piped.stderr, "of 1797") {
		t.Errorf("summary %q", piped.stderr)
	}
	if err := os.WriteFile("d.csv", []byte(labelled), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"predict", "-"}, {"predict", "d.csv"}, {"predict", "d.csv", "--device", "interp"}, {"predict", "--threads", "1", "d.csv"}} {
		if r := invoke(t, labelled, args...); r != piped {
			t.Errorf("%v: other output than by a pipe", args)
		}
	}
	r := invoke(t, plain, "predict")
	if r.stderr != "" || strings.Count(r.stdout, "\n") != 1797 || strings.Count(r.stdout, "\t") != 1797 {
		t.Errorf("without labels: stderr %q", r.stderr)
	}
	// A digit alone is classified as among others.
	first, _, _ := strings.Cut(plain, "\n")
	if one := invoke(t, first, "predict"); one.code != exitOK || !strings.HasPrefix(r.stdout, one.stdout) {
		t.Errorf("one digit: %+v", one)
	}
}

func TestPredictJSON(t *testing.T) {
	model(t)
	lines := strings.SplitAfterN(digitsCSV(t, true), "\n", 4)
	o := invoke(t, strings.Join(lines[:3], ""), "predict", "--json").objects(t)
	if len(o) != 4 || o[0]["row"] != 1.0 || o[2]["label"] != 2.0 || o[3]["rows"] != 3.0 {
		t.Errorf("%v", o)
	}
	for _, row := range o[:3] {
		if p := row["probability"].(float64); p <= 0 || p > 1 {
			t.Errorf("%v", row)
		}
	}
	lines = strings.SplitAfterN(digitsCSV(t, false), "\n", 2)
	if o := invoke(t, lines[0], "predict", "--json").objects(t); len(o) != 1 || o[0]["label"] != nil {
		t.Errorf("without labels: %v", o)
	}
}

func TestPredictRefusesRows(t *testing.T) {
	model(t)
	row := strings.TrimSuffix(strings.Repeat("0,", 64), ",")
	for in, want := range map[string]string{
		"":                                "standard input: data: no sample",
		row + "\n1,2\n":                   "line 2: 2 columns, want 64",
		row + ",3\n" + row + "\n":         "line 2: 64 columns, want 65",
		row + "\n\n17" + row[1:] + "\n":   `line 3, column 1: "17" is out of range, want 0 to 16`,
		row + "\n-1" + row[1:] + "\n":     `line 2, column 1: "-1" is out of range`,
		row + "\nnan" + row[1:] + "\n":    `line 2, column 1: "nan" is not a number`,
		row + ",10\n":                     "line 1, column 65: label 10 is out of range, want 0 to 9",
		row + ",1.5\n":                    `label "1.5" is not an integer`,
		"\x1f\x8b" + row:                  "gzip",
		strings.Repeat("name,", 64) + "x": "no sample in 1 lines",
	} {
		r := invoke(t, in, "predict")
		r.want(t, in, exitFailure, "", want)
		if r.stdout != "" {
			t.Errorf("%q: output %q", in, r.stdout)
		}
	}
	invoke(t, "", "predict", "none.csv").want(t, "no file", exitFailure, "", "none.csv")
}

func TestPredictRefusesModels(t *testing.T) {
	model(t)
	invoke(t, "", "predict", "-m", "none").want(t, "no model", exitFailure, "", `there is no model none: run "sinter train" to make one`)
	whole, err := os.ReadFile("digits.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 5, 100, len(whole) - 1} {
		if err := os.WriteFile("cut", whole[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		invoke(t, "", "predict", "-m", "cut").want(t, fmt.Sprint(n, " bytes"), exitFailure, "", "malformed")
	}
	write := func(meta map[string]string) {
		f, err := safetensors.Open("digits.safetensors")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		tensor, err := f.Tensor("layers.0.weight")
		if err != nil {
			t.Fatal(err)
		}
		if err := safetensors.WriteFile("foreign", []safetensors.Tensor{tensor}, meta); err != nil {
			t.Fatal(err)
		}
	}
	write(nil)
	invoke(t, "", "predict", "-m", "foreign").want(t, "foreign", exitFailure, "", `foreign is not a model that "sinter train" saved`)
	write(map[string]string{keyModel: modelName, keyHidden: "99999999"})
	invoke(t, "", "predict", "-m", "foreign").want(t, "wide", exitFailure, "", "width 99999999")
	write(map[string]string{keyModel: modelName, keyHidden: "16"})
	invoke(t, "", "predict", "-m", "foreign").want(t, "misfit", exitFailure, "", "layers.0.weight: f32[32 64] in the file, f32[16 64] in the model\n  layers.0.bias: not in the file")
	invoke(t, "", "predict", "-m", filepath.Join(".")).want(t, "a directory", exitFailure, "", "")
}
