package conformance

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/onnx"
)

// Status is the outcome of a case.
type Status int

// The outcomes.
const (
	Passed Status = iota
	Failed
	Unsupported
)

// String returns the name of the outcome.
func (s Status) String() string { return [...]string{"passed", "failed", "unsupported"}[s] }

// Result is the outcome of one case.
type Result struct {
	Name   string // its folder
	Status Status
	Err    error  // why it did not pass
	Worst  string // of a case that passed: the element furthest from its expected value, relative to the tolerance
}

// Summary counts results.
type Summary struct{ Passed, Failed, Unsupported int }

// Total is the number of cases.
func (s Summary) Total() int { return s.Passed + s.Failed + s.Unsupported }

// String is the last line of a verification.
func (s Summary) String() string {
	return fmt.Sprintf("verify: %d passed, %d failed, %d unsupported of %d", s.Passed, s.Failed, s.Unsupported, s.Total())
}

// Options configure a verification.
type Options struct {
	Device  *sinter.Device // nil: the default one
	Match   func(name string) bool
	Verbose bool           // print cases that passed too
	Compile []onnx.Option  // passed on
	Each    func(r Result) // called after each case
}

// Verify runs the cases in a directory or zip file, writes a line for each that
// did not pass, and the summary as the last line. The error is about reading the
// cases; what fails in them is counted.
func Verify(ctx context.Context, where string, w io.Writer, o Options) (Summary, error) {
	var sum Summary
	files, closeFiles, err := open(where)
	if err != nil {
		return sum, err
	}
	defer closeFiles()
	names, err := Cases(files)
	if err != nil {
		return sum, err
	}
	if len(names) == 0 {
		return sum, fmt.Errorf("%s: there is no model.onnx in it", where)
	}
	for _, name := range names {
		if o.Match != nil && !o.Match(name) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return sum, err
		}
		r := Run(ctx, files, where, name, o)
		switch r.Status {
		case Passed:
			sum.Passed++
			if o.Verbose {
				fmt.Fprintf(w, "passed %s: %s\n", name, r.Worst)
			}
		case Failed:
			sum.Failed++
			fmt.Fprintf(w, "FAILED %s: %s\n", name, line(r.Err))
		case Unsupported:
			sum.Unsupported++
			fmt.Fprintf(w, "unsupported %s: %s\n", name, line(r.Err))
		}
		if o.Each != nil {
			o.Each(r)
		}
	}
	fmt.Fprintln(w, sum)
	return sum, nil
}

// line returns an error's text in one line.
func line(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// open opens a directory or a zip file.
func open(where string) (fs.FS, func(), error) {
	info, err := os.Stat(where)
	if err != nil {
		return nil, nil, err
	}
	if info.IsDir() {
		return os.DirFS(where), func() {}, nil
	}
	z, err := zip.OpenReader(where)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", where, err)
	}
	return z, func() { z.Close() }, nil
}

// Cases returns the folders that hold a model.onnx, in order.
func Cases(files fs.FS) ([]string, error) {
	var names []string
	err := fs.WalkDir(files, ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path.Base(p) == "model.onnx" {
			names = append(names, path.Dir(p))
		}
		return err
	})
	sort.Strings(names)
	return names, err
}

// Run runs one case. where is the directory that files were opened from: models
// in a directory may have external data.
func Run(ctx context.Context, files fs.FS, where, name string, o Options) Result {
	r := Result{Name: name}
	fail := func(s Status, err error) Result {
		r.Status, r.Err = s, err
		return r
	}
	var model *onnx.Model
	var err error
	if info, e := os.Stat(where); e == nil && info.IsDir() {
		model, err = onnx.Load(filepath.Join(where, filepath.FromSlash(name), "model.onnx"))
	} else {
		var data []byte
		if data, err = fs.ReadFile(files, path.Join(name, "model.onnx")); err == nil {
			model, err = onnx.Parse(data)
		}
	}
	if err != nil {
		return fail(Failed, err)
	}
	device := o.Device
	if device == nil {
		device = sinter.DefaultDevice()
	}
	prog, err := model.Compile(append([]onnx.Option{onnx.On(device)}, o.Compile...)...)
	if err != nil {
		return fail(Unsupported, err)
	}
	defer prog.Release()
	tol, err := readTolerance(files, name)
	if err != nil {
		return fail(Failed, err)
	}
	sets, err := fs.Glob(files, path.Join(name, "test_data_set_*"))
	if err != nil {
		return fail(Failed, err)
	}
	if len(sets) == 0 {
		return fail(Failed, errors.New("there is no test_data_set"))
	}
	var worst excess
	for _, set := range sets {
		w, err := runSet(ctx, files, set, prog, tol)
		if errors.Is(err, errValue) && prog.Random() {
			return fail(Unsupported, errors.New("the outputs are random, and the standard does not fix them"))
		}
		if err != nil {
			return fail(Failed, err)
		}
		if w.share > worst.share || worst.text == "" {
			worst = w
		}
	}
	r.Worst = worst.text
	return r
}

// errValue marks elements that are out of tolerance.
var errValue = errors.New("out of tolerance")

func runSet(ctx context.Context, files fs.FS, set string, prog *onnx.Program, tol tolerance) (excess, error) {
	in := map[string]*onnx.Value{}
	for i, d := range prog.Inputs() {
		data, err := fs.ReadFile(files, path.Join(set, fmt.Sprintf("input_%d.pb", i)))
		if errors.Is(err, fs.ErrNotExist) && prog.Optional(d.Name) {
			continue
		}
		if err != nil {
			return excess{}, err
		}
		if in[d.Name], err = onnx.ParseValue(data, d.Type); err != nil {
			return excess{}, fmt.Errorf("input_%d.pb: %w", i, err)
		}
	}
	out, err := prog.RunValues(ctx, in)
	if err != nil {
		return excess{}, err
	}
	var worst excess
	for i, d := range prog.Outputs() {
		data, err := fs.ReadFile(files, path.Join(set, fmt.Sprintf("output_%d.pb", i)))
		if errors.Is(err, fs.ErrNotExist) && i > 0 {
			continue
		}
		if err != nil {
			return excess{}, err
		}
		want, err := onnx.ParseValue(data, d.Type)
		if err != nil {
			return excess{}, fmt.Errorf("output_%d.pb: %w", i, err)
		}
		e, err := compare(ctx, out[d.Name], want, tol)
		if err != nil {
			return excess{}, fmt.Errorf("output %q: %w", d.Name, err)
		}
		if e.share > worst.share || worst.text == "" {
			e.text = fmt.Sprintf("output %q: %s", d.Name, e.text)
			worst = e
		}
	}
	return worst, nil
}

// tolerance bounds |got - want| by abs + rel·|want|.
type tolerance struct{ rel, abs float64 }

// readTolerance reads tol.txt, which begins with the relative and the absolute
// tolerance. Without the file they are those of ONNX's own tests.
func readTolerance(files fs.FS, name string) (tolerance, error) {
	t := tolerance{1e-3, 1e-7}
	data, err := fs.ReadFile(files, path.Join(name, "tol.txt"))
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	words := strings.Fields(string(data))
	for i, to := range []*float64{&t.rel, &t.abs} {
		if i >= len(words) {
			break
		}
		if *to, err = strconv.ParseFloat(words[i], 64); err != nil || !(*to >= 0) {
			return t, fmt.Errorf("tol.txt: %q is no tolerance", words[i])
		}
	}
	return t, nil
}
