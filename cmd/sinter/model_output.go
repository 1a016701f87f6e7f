package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/data/npy"
	"github.com/sinter-go/sinter/onnx"
)

// outputFlags say what becomes of the outputs of a model.
type outputFlags struct {
	Output []string `name:"output" short:"o" sep:"none" placeholder:"NAME=FILE" help:"Write an output to a .npy or .json file; without NAME= all of them to a .npz or .json file, or the only one to a .npy file."`
	TopK   int      `name:"topk" placeholder:"K" help:"Show the K greatest elements of the last axis."`
	Labels string   `name:"labels" placeholder:"FILE" help:"Names of the elements of the last axis, one a line."`

	names []string
}

func (f *outputFlags) check() error {
	if f.TopK < 0 {
		return usage("--topk is %d, expected a number above 0", f.TopK)
	}
	if f.Labels == "" {
		return nil
	}
	b, err := os.ReadFile(f.Labels)
	if err != nil {
		return fmt.Errorf("--labels: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		f.names = append(f.names, strings.TrimSpace(line))
	}
	if f.TopK == 0 {
		f.TopK = 5
	}
	return nil
}

// outputTarget is a file for one output, or for all.
type outputTarget struct{ name, path string }

// targets checks --output before anything runs.
func (f *outputFlags) targets(p *onnx.Program) ([]outputTarget, error) {
	var names []string
	for _, o := range p.Outputs() {
		names = append(names, o.Name)
	}
	var out []outputTarget
	for _, spec := range f.Output {
		t := outputTarget{path: spec}
		for _, n := range names {
			if path, ok := strings.CutPrefix(spec, n+"="); ok {
				t = outputTarget{n, path}
			}
		}
		if name, _, ok := strings.Cut(spec, "="); t.name == "" && ok && !strings.ContainsAny(name, "/.") {
			return nil, usage("--output %s: the model has no output %q, only %s", spec, name, strings.Join(names, ", "))
		}
		switch ext := strings.ToLower(filepath.Ext(t.path)); {
		case ext == ".json", ext == ".npz" && t.name == "":
		case ext == ".npy" && (t.name != "" || len(names) == 1):
			if t.name == "" {
				t.name = names[0]
			}
		default:
			return nil, usage("--output %s: expected NAME=FILE.npy, NAME=FILE.json, or a file .npz or .json for all outputs", spec)
		}
		if err := writable("--output", t.path); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// show writes files and prints what was asked for.
func (f *outputFlags) show(e *env, asJSON bool, targets []outputTarget, results []outputValue) error {
	for _, t := range targets {
		if err := t.write(results); err != nil {
			return fmt.Errorf("--output %s: %w", t.path, err)
		}
	}
	for _, r := range results {
		s := summarizeOutput(r)
		s.Top = f.top(r)
		if asJSON {
			e.stdout.object(s)
		} else if len(targets) == 0 || f.TopK > 0 {
			s.print(e.stdout)
		}
	}
	if !asJSON {
		for _, t := range targets {
			e.stdout.printf("wrote %s\n", t.path)
		}
	}
	return nil
}

func (t outputTarget) write(results []outputValue) error {
	switch strings.ToLower(filepath.Ext(t.path)) {
	case ".npz":
		all := map[string]npy.Array{}
		for _, r := range results {
			if r.array.Shape == nil {
				return fmt.Errorf("output %q is %s, which .npz files do not hold", r.name, r.value)
			}
			all[r.name] = npy.Array(r.array)
		}
		return npy.WriteZipFile(t.path, all)
	case ".npy":
		for _, r := range results {
			if r.name != t.name {
				continue
			}
			if r.array.Shape == nil {
				return fmt.Errorf("output %q is %s, which .npy files do not hold", r.name, r.value)
			}
			return npy.WriteFile(t.path, npy.Array(r.array))
		}
		return fmt.Errorf("there is no output %q", t.name)
	}
	file, err := os.Create(t.path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(file)
	err = t.json(w, results)
	return errors.Join(err, w.Flush(), file.Close())
}

// json writes one output as nested lists, or all as an object of them.
func (t outputTarget) json(w io.Writer, results []outputValue) error {
	if t.name != "" {
		for _, r := range results {
			if r.name == t.name {
				return writeJSON(w, r.value, r.array, "\n")
			}
		}
	}
	sep := "{"
	for _, r := range results {
		key, err := json.Marshal(r.name)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s%s:", sep, key); err != nil {
			return err
		}
		if err := writeJSON(w, r.value, r.array, ""); err != nil {
			return fmt.Errorf("output %q: %w", r.name, err)
		}
		sep = ",\n "
	}
	_, err := io.WriteString(w, "}\n")
	return err
}

// writeJSON writes a value as nested lists; NaN and infinities are texts.
func writeJSON(w io.Writer, v *onnx.Value, a sinter.Array, end string) error {
	if v == nil || v.IsSequence() || v.IsNone() {
		return fmt.Errorf("%s cannot be written as JSON", v)
	}
	shape := v.Shape()
	at := 0
	var list func(axis int) error
	list = func(axis int) error {
		if axis < len(shape) {
			sep := "["
			for range shape[axis] {
				io.WriteString(w, sep)
				if err := list(axis + 1); err != nil {
					return err
				}
				sep = ","
			}
			if shape[axis] == 0 {
				io.WriteString(w, "[")
			}
			_, err := io.WriteString(w, "]")
			return err
		}
		var text []byte
		if v.Elem == onnx.String {
			var err error
			if text, err = json.Marshal(v.Strings()[at]); err != nil {
				return err
			}
		} else {
			text = appendElement(nil, a.DType, a.Bytes, at)
		}
		at++
		_, err := w.Write(text)
		return err
	}
	if err := list(0); err != nil {
		return err
	}
	_, err := io.WriteString(w, end)
	return err
}

// appendElement writes an element so that reading it gives the same bits.
func appendElement(b []byte, d sinter.DType, data []byte, i int) []byte {
	switch {
	case d == sinter.Bool:
		return strconv.AppendBool(b, data[i] != 0)
	case d == sinter.U64:
		return strconv.AppendUint(b, uint64(intAt(d, data, i)), 10)
	case !d.IsFloat():
		return strconv.AppendInt(b, intAt(d, data, i), 10)
	}
	v := floatAt(d, data, i)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.AppendQuote(b, strconv.FormatFloat(v, 'g', -1, 64))
	}
	bits := 32
	if d == sinter.F64 {
		bits = 64
	}
	return strconv.AppendFloat(b, v, 'g', -1, bits)
}
