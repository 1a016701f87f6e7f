package safetensors

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxShards bounds the files of a model in parts.
const maxShards = 10_000

// Sharded is a model in several files, as large models are published, with an
// index of which file holds which tensor. Its methods may be called from any
// goroutine.
type Sharded struct {
	files    map[string]*File // by their names in the index
	where    map[string]*File // by the names of tensors
	metadata map[string]string
}

// index is the file model.safetensors.index.json.
type index struct {
	Metadata  map[string]any    `json:"metadata"`
	WeightMap map[string]string `json:"weight_map"`
}

// OpenIndex opens the files of a model by the path of its index, such as
// model.safetensors.index.json. The files lie beside the index; what [Open] says
// of a file holds for each.
//
// The error wraps [ErrMalformed] where the index is none, names files elsewhere,
// or says that a tensor is in a file that does not hold it.
func OpenIndex(path string) (*Sharded, error) {
	s, err := openIndex(path)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %s: %w", path, err)
	}
	return s, nil
}

func openIndex(path string) (*Sharded, error) {
	x, err := readIndex(path)
	if err != nil {
		return nil, err
	}
	s := &Sharded{files: map[string]*File{}, where: make(map[string]*File, len(x.WeightMap)), metadata: map[string]string{}}
	for k, v := range x.Metadata {
		if text, ok := v.(string); ok {
			s.metadata[k] = text
		} else {
			s.metadata[k] = fmt.Sprint(v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(x.WeightMap)) {
		file := x.WeightMap[name]
		f := s.files[file]
		if f == nil {
			if f, err = s.open(filepath.Dir(path), file); err != nil {
				s.Close()
				return nil, err
			}
		}
		if _, err := f.header.find(name); err != nil {
			s.Close()
			return nil, fmt.Errorf("%w: the index has tensor %s in %s, which does not hold it", ErrMalformed, quote(name), quote(file))
		}
		s.where[name] = f
	}
	return s, nil
}

func readIndex(path string) (*index, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, unwrapPath(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxHeader+1))
	if err != nil {
		return nil, unwrapPath(err)
	}
	if len(b) > MaxHeader {
		return nil, fmt.Errorf("%w: the index has more than %d bytes", ErrMalformed, MaxHeader)
	}
	var x index
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	if err := d.Decode(&x); err != nil {
		return nil, fmt.Errorf("%w: the index: %w", ErrMalformed, err)
	}
	if len(x.WeightMap) == 0 {
		return nil, fmt.Errorf("%w: the index has no weight_map", ErrMalformed)
	}
	return &x, nil
}

// open opens a file of the model, in the directory of the index.
func (s *Sharded) open(dir, file string) (*File, error) {
	if file == "" || !filepath.IsLocal(file) || strings.ContainsAny(file, `/\`) {
		return nil, fmt.Errorf("%w: the index names the file %s; only files beside it are read", ErrMalformed, quote(file))
	}
	if len(s.files) == maxShards {
		return nil, fmt.Errorf("%w: the index names more than %d files", ErrMalformed, maxShards)
	}
	f, err := open(filepath.Join(dir, file))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	s.files[file] = f
	return f, nil
}

// Names returns the names of all tensors of the index, sorted.
func (s *Sharded) Names() []string { return slices.Sorted(maps.Keys(s.where)) }

// Metadata returns the metadata of the index, such as total_size, as texts.
func (s *Sharded) Metadata() map[string]string { return maps.Clone(s.metadata) }

// Files returns the names of the files, sorted.
func (s *Sharded) Files() []string { return slices.Sorted(maps.Keys(s.files)) }

func (s *Sharded) find(name string) (*File, error) {
	if f := s.where[name]; f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("safetensors: %w %s in the index", ErrNotFound, quote(name))
}

// Info describes a tensor, as [File.Info] does.
func (s *Sharded) Info(name string) (Info, error) {
	f, err := s.find(name)
	if err != nil {
		return Info{}, err
	}
	return f.Info(name)
}

// Tensor returns a tensor, as [File.Tensor] does.
func (s *Sharded) Tensor(name string) (Tensor, error) {
	f, err := s.find(name)
	if err != nil {
		return Tensor{}, err
	}
	return f.Tensor(name)
}

// Raw returns the bytes of a tensor, as [File.Raw] does.
func (s *Sharded) Raw(name string) ([]byte, error) {
	f, err := s.find(name)
	if err != nil {
		return nil, err
	}
	return f.Raw(name)
}

// Close releases all files. Closing twice is no error.
func (s *Sharded) Close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
