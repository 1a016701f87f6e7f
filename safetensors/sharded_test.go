package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/ir"
)

// shards writes a model in two files and its index.
func shards(t *testing.T, index string) string {
	t.Helper()
	dir := t.TempDir()
	for file, name := range map[string]string{"model-00001-of-00002.safetensors": "a", "model-00002-of-00002.safetensors": "b"} {
		tensor := Tensor{Name: name, DType: ir.U8, Shape: []int{2}, Data: []byte{name[0], 1}}
		if err := WriteFile(filepath.Join(dir, file), []Tensor{tensor}, nil); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "model.safetensors.index.json")
	if err := os.WriteFile(path, []byte(index), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

const goodIndex = `{"metadata": {"total_size": 4, "format": "pt"},
	"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}`

func TestSharded(t *testing.T) {
	s, err := OpenIndex(shards(t, goodIndex))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.Names(), []string{"a", "b"}) || len(s.Files()) != 2 || s.Metadata()["total_size"] != "4" || s.Metadata()["format"] != "pt" {
		t.Error(s.Names(), s.Files(), s.Metadata())
	}
	for _, name := range s.Names() {
		x, err := s.Tensor(name)
		if err != nil || !bytes.Equal(x.Data, []byte{name[0], 1}) || x.DType != ir.U8 {
			t.Error(name, x, err)
		}
		if i, err := s.Info(name); err != nil || i.Bytes != 2 {
			t.Error(i, err)
		}
		if b, err := s.Raw(name); err != nil || !bytes.Equal(b, x.Data) {
			t.Error(b, err)
		}
	}
	if _, err := s.Tensor("c"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if _, err := s.Tensor("a"); !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
}

func TestHostileIndex(t *testing.T) {
	for name, c := range map[string]struct{ index, want string }{
		"no JSON":        {`hello`, "the index"},
		"nothing":        {`{}`, "no weight_map"},
		"numbers":        {`{"weight_map": {"a": 3}}`, "the index"},
		"elsewhere":      {`{"weight_map": {"a": "../model.safetensors"}}`, "only files beside it"},
		"rooted":         {`{"weight_map": {"a": "/etc/passwd"}}`, "only files beside it"},
		"in a folder":    {`{"weight_map": {"a": "x/y"}}`, "only files beside it"},
		"the wrong file": {`{"weight_map": {"a": "model-00002-of-00002.safetensors"}}`, "does not hold it"},
	} {
		if _, err := OpenIndex(shards(t, c.index)); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := OpenIndex(shards(t, `{"weight_map": {"a": "missing.safetensors"}}`)); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := OpenIndex(filepath.Join(t.TempDir(), "none.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestRaw reads a tensor of a dtype that has no counterpart.
func TestRaw(t *testing.T) {
	head := `{"w":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[0,3]}}`
	for len(head)%8 != 0 {
		head += " "
	}
	b := append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head+"\x38\xb8\x7e"...)
	f, err := Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Tensor("w"); !errors.Is(err, ErrUnsupportedDType) {
		t.Error(err)
	}
	if raw, err := f.Raw("w"); err != nil || string(raw) != "\x38\xb8\x7e" {
		t.Errorf("%x, %v", raw, err)
	}
	if _, err := f.Raw("v"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	f.Close()
	if _, err := f.Raw("w"); !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
}
