package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// result is what a command did.
type result struct {
	code           int
	stdout, stderr string
}

// invoke runs the command in this process.
func invoke(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var out, err bytes.Buffer
	code := run(t.Context(), args, strings.NewReader(stdin), &out, &err)
	return result{code, out.String(), err.String()}
}

// want checks the exit code, and that the streams hold the texts.
func (r result) want(t *testing.T, what string, code int, stdout, stderr string) {
	t.Helper()
	if r.code != code || !strings.Contains(r.stdout, stdout) || !strings.Contains(r.stderr, stderr) {
		t.Errorf("%s: exit code %d, want %d\nstdout: %s\nwant: %s\nstderr: %s\nwant: %s", what, r.code, code, r.stdout, stdout, r.stderr, stderr)
	}
}

// objects parses one JSON object a line.
func (r result) objects(t *testing.T) []map[string]any {
	t.Helper()
	var out []map[string]any
	for line := range strings.Lines(r.stdout) {
		var o map[string]any
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		out = append(out, o)
	}
	return out
}

// source is where the tests began, builtDir the folder that binary made.
var source, builtDir string

// binary builds the command once and returns its path.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "sinter")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "sinter")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir = source // tests change the directory
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	builtDir = dir
	return path, nil
})

// built returns the path of the built command; the test is skipped where nothing
// can be built.
func built(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil || runtime.GOOS == "js" {
		t.Skip("the go command is needed to build the program")
	}
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMain(m *testing.M) {
	flag.Parse()
	source, _ = os.Getwd()
	code := m.Run()
	if builtDir != "" {
		os.RemoveAll(builtDir)
	}
	os.Exit(code)
}

func TestHelp(t *testing.T) {
	for name, args := range map[string][]string{
		"help": {"--help"}, "train": {"train", "--help"}, "predict": {"predict", "-h"},
		"devices": {"devices", "--help"}, "version": {"version", "--help"},
		"run": {"run", "--help"}, "inspect": {"inspect", "-h"}, "verify": {"verify", "-h"}, "bench": {"bench", "-h"},
	} {
		r := invoke(t, "", args...)
		golden := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(golden, []byte(r.stdout), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if r.code != exitOK || r.stderr != "" || r.stdout != strings.ReplaceAll(string(want), "\r\n", "\n") {
			t.Errorf("%s: exit code %d\n%s%s, want\n%s", name, r.code, r.stdout, r.stderr, want)
		}
	}
	if r := invoke(t, ""); r.code != exitOK || r.stdout != invoke(t, "", "--help").stdout {
		t.Errorf("without arguments: exit code %d\n%s", r.code, r.stdout)
	}
}

func TestUsageErrors(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for args, want := range map[string]string{
		"trian":                             `unexpected argument trian`,
		"train extra":                       `unexpected argument extra`,
		"train --epoch 3":                   `unknown flag --epoch`,
		"train --epochs":                    `--epochs`,
		"train --epochs x":                  `"x"`,
		"train --epochs 0":                  `--epochs is 0, expected 1 to 100000`,
		"train --epochs -1":                 `--epochs`,
		"train --batch 0":                   `--batch is 0, expected 1 to 65536`,
		"train --lr 0":                      `--lr is 0, expected a number above 0`,
		"train --lr NaN":                    `--lr is NaN`,
		"train --lr +Inf":                   `--lr is +Inf`,
		"train --lr fast":                   `"fast"`,
		"train --seed -1":                   `--seed`,
		"train --hidden 12x":                `--hidden: "12x" is not a width`,
		"train --hidden 0":                  `--hidden: width 0, expected 1 to 4096`,
		"train --hidden 9999":               `--hidden: width 9999`,
		"train --hidden 1,1,1,1,1,1,1,1,1":  `--hidden: 9 layers, expected at most 8`,
		"train --threads 0":                 `--threads is 0, expected 1 to 1024`,
		"train --threads 2 --device abacus": `--threads applies to the devices cpu and interp, not to "abacus"`,
		"train --products cublaslt":         `--products applies to GPUs such as cuda:0, not to "cpu"`,
		"train --device abacus":             `there is no device "abacus" (known: cpu`,
		"predict --device abacus:1":         `there is no device "abacus:1"`,
		"train --device cpu:x":              `"x" is not an index`,
		"predict a b":                       `unexpected argument b`,
		"devices all":                       `unexpected argument all`,
	} {
		r := invoke(t, "", strings.Fields(args)...)
		r.want(t, args, exitUsage, "", want)
		if !strings.HasPrefix(r.stderr, "sinter: ") || !strings.Contains(r.stderr, "--help") || r.stdout != "" {
			t.Errorf("%s: stdout %q, stderr %q", args, r.stdout, r.stderr)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("files were left: %v, %v", entries, err)
	}
}

func TestDevices(t *testing.T) {
	r := invoke(t, "", "devices")
	r.want(t, "devices", exitOK, "cpu ", "")
	for _, want := range []string{"interp ", "threads ", "f64", "queue ops", "256 MB"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
	found := map[string]map[string]any{}
	for _, o := range invoke(t, "", "devices", "--json").objects(t) {
		found[o["id"].(string)] = o
		if (o["error"] == nil) == (o["dtypes"] == nil) {
			t.Errorf("neither dtypes nor a reason: %v", o)
		}
	}
	if d := found["interp"]; d == nil || d["kind"] != "cpu" || len(d["dtypes"].([]any)) != 13 || d["limits"].(map[string]any)["queue_ops"] == nil {
		t.Errorf("interp: %v", d)
	}
}

func TestVersion(t *testing.T) {
	invoke(t, "", "version").want(t, "version", exitOK, "sinter (devel), go", "")
	o := invoke(t, "", "version", "--json").objects(t)
	if len(o) != 1 || o[0]["go"] != runtime.Version() || o[0]["arch"] != runtime.GOARCH {
		t.Errorf("%v", o)
	}
}

// failing is a full disk.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestFullDisk(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"devices", "--json"}} {
		var stderr bytes.Buffer
		if code := run(context.Background(), args, nil, failing{}, &stderr); code != exitFailure || !strings.Contains(stderr.String(), "writing the output") {
			t.Errorf("%v: exit code %d, %s", args, code, &stderr)
		}
	}
	if _, err := os.Stat("/dev/full"); err != nil {
		return
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	t.Chdir(t.TempDir())
	var stderr bytes.Buffer
	code := run(context.Background(), []string{"train", "--epochs", "1", "--hidden", "8"}, nil, full, &stderr)
	if code != exitFailure || !strings.Contains(stderr.String(), "no space left") {
		t.Errorf("train: exit code %d, %s", code, &stderr)
	}
	if r := invoke(t, "", "train", "--epochs", "1", "--out", "/dev/full"); r.code != exitFailure || !strings.Contains(r.stderr, "no regular file") {
		t.Errorf("a device as model: exit code %d, %s", r.code, r.stderr)
	}
}
