package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// golden is the hash of the parameters after a short training: every machine,
// device and number of threads must give it. It is made with "interp".
const golden = "456a8580c457964c7686344764033300d08a62381c098e20500eb187a54cc56c"

func TestGoldenBits(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range []string{"--device interp", "--device cpu", "--threads 1", "--threads 2", "--threads 4", "--device interp --threads 3"} {
		r := invoke(t, "", append([]string{"train", "--epochs", "2", "--hidden", "24,16", "--json"}, strings.Fields(args)...)...)
		r.want(t, args, exitOK, `"event":"done"`, "")
		o := r.objects(t)
		if len(o) != 3 || o[0]["event"] != "epoch" || o[2]["sha256"] != golden {
			t.Errorf("%s: %v, want hash %s", args, o, golden)
		}
	}
}

// TestDefaultTraining is what a user sees first.
func TestDefaultTraining(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Chdir(t.TempDir())
	began := time.Now()
	r := invoke(t, "", "train")
	r.want(t, "train", exitOK, "right of 359 digits", "epoch 25/25")
	if lines := strings.Count(r.stderr, "\n"); lines != 27 {
		t.Errorf("%d lines of progress, want 27:\n%s", lines, r.stderr)
	}
	if !strings.Contains(r.stdout, "██") || strings.Contains(r.stdout+r.stderr, "\x1b") || strings.Contains(r.stderr, "\r") {
		t.Errorf("output for files:\n%s%s", r.stderr, r.stdout)
	}
	if _, err := os.Stat(checkpointPath("digits.safetensors")); err == nil {
		t.Error("the checkpoint was left behind")
	}
	o := invoke(t, "", "train", "--json", "-q").objects(t)
	last := o[len(o)-1]
	t.Logf("%v in %v", last, time.Since(began))
	if len(o) != 26 || last["accuracy"].(float64) < 0.975 || last["tested"] != 359.0 {
		t.Errorf("%d objects, the last is %v, want an accuracy of 0.975 at least", len(o), last)
	}
	// The model that was saved says the same.
	p := invoke(t, digitsCSV(t, true), "predict")
	p.want(t, "predict", exitOK, "\tok\n", " right: ")
	if lines := strings.Count(p.stdout, "\n"); lines != 1797 {
		t.Errorf("%d predictions", lines)
	}
}

func TestQuiet(t *testing.T) {
	t.Chdir(t.TempDir())
	r := invoke(t, "", "train", "-q", "--epochs", "1", "--hidden", "8", "-o", "m")
	r.want(t, "quiet", exitOK, "saved m", "")
	if r.stderr != "" || strings.Contains(r.stdout, "█") || strings.Count(r.stdout, "\n") != 2 {
		t.Errorf("stdout %q, stderr %q", r.stdout, r.stderr)
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 1 {
		t.Errorf("files: %v, %v", entries, err)
	}
}

func TestResumeRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	invoke(t, "", "train", "--resume").want(t, "no checkpoint", exitFailure, "", "there is no training to resume: digits.checkpoint.safetensors does not exist")
	if err := os.WriteFile("digits.checkpoint.safetensors", []byte("hello"), 0o666); err != nil {
		t.Fatal(err)
	}
	invoke(t, "", "train", "--resume").want(t, "no file of ours", exitFailure, "", "malformed")
	invoke(t, "", "train", "--epochs", "1", "--out", "no/such/place.safetensors").want(t, "no directory", exitFailure, "", "--out no/such/place.safetensors: cannot write there")
	invoke(t, "", "train", "--epochs", "9", "--hidden", "8", "--lr", "1e30").want(t, "divergence", exitFailure, "", "a lower learning rate may help")
}

func TestShift(t *testing.T) {
	x := make([]float32, features)
	x[0], x[9], x[63] = 1, 2, 3
	shift(x, 1, 1)
	want := make([]float32, features)
	want[9], want[18] = 1, 2
	if !equal(x, want) {
		t.Errorf("%v", x)
	}
	shift(x, -1, 0)
	shift(x, 0, -1)
	want = make([]float32, features)
	want[0], want[9] = 1, 2
	if !equal(x, want) {
		t.Errorf("%v", x)
	}
}

func equal(a, b []float32) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

func TestPictures(t *testing.T) {
	t.Setenv("COLUMNS", "36")
	t.Chdir(t.TempDir())
	r := invoke(t, "", "train", "--epochs", "1", "--hidden", "8")
	for line := range strings.Lines(strings.SplitN(r.stdout, "right of", 2)[0]) {
		if n := len([]rune(line)); n > 37 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	if !strings.Contains(r.stdout, "? no, ") {
		t.Errorf("no wrong digit is shown:\n%s", r.stdout)
	}
}

func TestCheckpointPath(t *testing.T) {
	for out, want := range map[string]string{"digits.safetensors": "digits.checkpoint.safetensors", "m": "m.checkpoint.safetensors",
		filepath.Join("a.safetensors", "b"): filepath.Join("a.safetensors", "b.checkpoint.safetensors")} {
		if got := checkpointPath(out); got != want {
			t.Errorf("%s: %s", out, got)
		}
	}
}
