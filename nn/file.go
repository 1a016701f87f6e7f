package nn

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/safetensors"
)

// Save waits for the parameters of a model and writes them, with metadata, to a
// safetensors file: all or nothing, so that the file at path is whole at any
// moment. Equal parameters give equal bytes. An error is that of a parameter, of
// two parameters with one name, or of the file system.
func Save(ctx context.Context, path string, model any, metadata map[string]string) error {
	return SaveParams(ctx, path, Params(model), metadata)
}

// SaveParams is [Save] for parameters with names of the caller's choice.
func SaveParams(ctx context.Context, path string, params []Named, metadata map[string]string) error {
	tensors, err := hostTensors(ctx, params)
	if err != nil {
		return err
	}
	return safetensors.WriteFile(path, tensors, metadata)
}

// hostTensors reads parameters into the form of files.
func hostTensors(ctx context.Context, params []Named) ([]safetensors.Tensor, error) {
	values := make([]*sinter.Tensor, len(params))
	for i, p := range params {
		values[i] = p.Var.Borrow()
		if err := values[i].Err(); err != nil {
			return nil, fmt.Errorf("nn: parameter %s: %w", p.Name, err)
		}
	}
	arrays, err := sinter.Read(ctx, values...)
	if err != nil {
		return nil, fmt.Errorf("nn: parameters: %w", err)
	}
	out := make([]safetensors.Tensor, len(params))
	for i, a := range arrays {
		out[i] = safetensors.Tensor{Name: params[i].Name, DType: a.DType, Shape: a.Shape, Data: littleEndian(a.DType, a.Bytes)}
	}
	return out, nil
}

// Load gives the parameters of a model the values of a safetensors file that
// [Save] or another program wrote, and returns the file's metadata. Names, shapes
// and dtypes must be those of the model; otherwise the error is a
// [*MismatchError] with all differences, and the model is as it was.
func Load(path string, model any) (metadata map[string]string, err error) {
	return LoadParams(path, Params(model))
}

// LoadParams is [Load] for parameters with names of the caller's choice.
func LoadParams(path string, params []Named) (metadata map[string]string, err error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := compare(path, f, params); err != nil {
		return nil, err
	}
	values := make([]*sinter.Tensor, len(params))
	for i, p := range params {
		t, err := f.Tensor(p.Name)
		if err == nil {
			values[i] = sinter.FromBytes(sinter.On(deviceOf(p.Var.Borrow())), t.DType, littleEndian(t.DType, t.Data), t.Shape...)
			err = values[i].Err()
		}
		if err != nil {
			return nil, fmt.Errorf("nn: %s: parameter %s: %w", path, p.Name, err)
		}
	}
	for i, p := range params {
		if err := p.Var.Set(values[i]); err != nil {
			return nil, fmt.Errorf("nn: %s: parameter %s: %w", path, p.Name, err)
		}
	}
	return f.Metadata(), nil
}

// MismatchError says that a file does not fit a model.
type MismatchError struct {
	Path        string
	Differences []string // one a tensor: what the file has, what the model wants
}

// Error lists the differences, one a line.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("nn: %s does not fit the model:\n  %s", e.Path, strings.Join(e.Differences, "\n  "))
}

// compare finds all differences between a file and parameters.
func compare(path string, f *safetensors.File, params []Named) error {
	var diff []string
	note := func(format string, args ...any) { diff = append(diff, fmt.Sprintf(format, args...)) }
	wanted := map[string]bool{}
	for _, p := range params {
		if wanted[p.Name] {
			note("%s: the model has two parameters of this name", p.Name)
			continue
		}
		wanted[p.Name] = true
		info, err := f.Info(p.Name)
		t := p.Var.Borrow()
		switch {
		case t.Err() != nil:
			note("%s: the model's parameter carries an error: %v", p.Name, t.Err())
		case err != nil:
			note("%s: not in the file, the model has %s%v", p.Name, t.DType(), t.Shape())
		case info.DType != t.DType() || !slices.Equal(info.Shape, t.Shape()):
			note("%s: %s%v in the file, %s%v in the model", p.Name, strings.ToLower(info.Format), info.Shape, t.DType(), t.Shape())
		}
	}
	for _, name := range f.Names() {
		if !wanted[name] {
			info, _ := f.Info(name)
			note("%s: %s%v in the file, not in the model", quoteName(name), strings.ToLower(info.Format), info.Shape)
		}
	}
	if len(diff) == 0 {
		return nil
	}
	return &MismatchError{Path: path, Differences: diff}
}

// quoteName shortens names that a strange file made long, and shows what is not
// printable.
func quoteName(name string) string {
	const limit = 80
	if len(name) > limit {
		return fmt.Sprintf("%q…", name[:limit])
	}
	if q := fmt.Sprintf("%q", name); q != `"`+name+`"` {
		return q
	}
	return name
}

// Prefixed returns parameters with a prefix before their names, so that several
// models share a file: Prefixed("encoder", Params(m)).
func Prefixed(prefix string, params []Named) []Named {
	out := make([]Named, len(params))
	for i, p := range params {
		out[i] = Named{join(prefix, p.Name), p.Var, p.Buffer}
	}
	return out
}
