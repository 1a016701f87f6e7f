package safetensors

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/sinter-go/sinter/ir"
)

func TestWriteRefuses(t *testing.T) {
	ok := Tensor{"w", ir.F32, []int{2}, make([]byte, 8)}
	with := func(change func(*Tensor)) []Tensor {
		bad := ok
		change(&bad)
		return []Tensor{{"first", ir.U8, []int{1}, []byte{1}}, bad}
	}
	for name, c := range map[string]struct {
		tensors []Tensor
		want    string
	}{
		"duplicate name":     {[]Tensor{ok, ok}, `"w" is given more than once`},
		"duplicate, dtypes":  {[]Tensor{ok, {"w", ir.U8, nil, []byte{1}}}, `"w" is given more than once`},
		"reserved name":      {with(func(x *Tensor) { x.Name = "__metadata__" }), "reserved"},
		"name not UTF-8":     {with(func(x *Tensor) { x.Name = "\xff" }), "UTF-8"},
		"too little data":    {with(func(x *Tensor) { x.Data = x.Data[:7] }), `"w": 7 bytes of data, but shape [2] of F32 takes 8`},
		"too much data":      {with(func(x *Tensor) { x.Shape = nil }), "8 bytes of data, but shape [] of F32 takes 4"},
		"negative dimension": {with(func(x *Tensor) { x.Shape = []int{-1, -2} }), "dimension 0 of shape [-1 -2] is negative"},
		"overflow":           {with(func(x *Tensor) { x.Shape = []int{1 << 30, 1 << 30, 1 << 30, 0}; x.Data = nil }), "2^61-1"},
		"rank":               {with(func(x *Tensor) { x.Shape = make([]int, 65) }), "65 dimensions"},
		"no dtype":           {with(func(x *Tensor) { x.DType = ir.Invalid }), "unsupported dtype"},
		"strange dtype":      {with(func(x *Tensor) { x.DType = 200 }), "unsupported dtype"},
		"bool of 2":          {with(func(x *Tensor) { x.DType, x.Shape, x.Data = ir.Bool, []int{2}, []byte{1, 2} }), "element 1"},
	} {
		var b bytes.Buffer
		err := Write(&b, c.tensors, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
		if b.Len() != 0 {
			t.Errorf("%s: %d bytes were written all the same", name, b.Len())
		}
	}
	for _, m := range []map[string]string{{"\xff": ""}, {"a": "\xff"}} {
		if err := Write(io.Discard, nil, m); err == nil || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("metadata %q: error %v", m, err)
		}
	}
	long := map[string]string{"a": strings.Repeat("x", MaxHeader)}
	if err := Write(io.Discard, nil, long); err == nil || !strings.Contains(err.Error(), "limit is 100000000") {
		t.Errorf("long header: error %v", err)
	}
}

func TestEscapes(t *testing.T) {
	var ascii []byte
	for c := range byte(0x80) {
		ascii = append(ascii, c)
	}
	got := string(appendString(nil, string(ascii)+"é\u2028"))
	want := `"\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f` +
		`\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f` +
		` !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_` + "`abcdefghijklmnopqrstuvwxyz{|}~\x7fé\u2028\""
	if got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
	back, err := (&scanner{b: []byte(got)}).str()
	if err != nil || string(back) != string(ascii)+"é\u2028" {
		t.Errorf("read %q, %v", back, err)
	}
}

// Tensors are read from many goroutines, while one closes the file. What is
// checked is that the race detector is content and that no read finds the file
// half closed.
func TestConcurrentUse(t *testing.T) {
	f := read(t, []byte(golden[4].want))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				a, err := f.Tensor("a")
				if err == nil && a.Data[0] != 9 || err != nil && !errors.Is(err, fs.ErrClosed) {
					t.Errorf("%v, %v", a, err)
				}
			}
		})
	}
	wg.Go(func() { f.Close() })
	wg.Wait()
}

// failingWriter takes limit bytes.
type failingWriter struct {
	limit int
	err   error
}

func (w *failingWriter) Write(b []byte) (int, error) {
	n := min(len(b), w.limit)
	w.limit -= n
	if n < len(b) {
		return n, w.err
	}
	return n, nil
}

func TestWriteErrors(t *testing.T) {
	size := len(golden[2].want)
	full := errors.New("disk full")
	for limit := range size {
		if err := Write(&failingWriter{limit, full}, golden[2].tensors, nil); !errors.Is(err, full) {
			t.Fatalf("full after %d bytes: error %v", limit, err)
		}
		// A writer that breaks the contract of io.Writer.
		if err := Write(&failingWriter{limit, nil}, golden[2].tensors, nil); !errors.Is(err, io.ErrShortWrite) {
			t.Fatalf("short after %d bytes: error %v", limit, err)
		}
	}
	if err := Write(&failingWriter{size, full}, golden[2].tensors, nil); err != nil {
		t.Error(err)
	}
	err := Write(&failingWriter{size - 1, full}, golden[2].tensors, nil)
	if !strings.Contains(err.Error(), `tensor "attn.0"`) {
		t.Errorf("error %v does not name the tensor", err)
	}
}

func TestWriteFileAndOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.safetensors")
	tensors := allTypes()
	for _, metadata := range []map[string]string{{"step": "1"}, {"step": "2"}} {
		if err := WriteFile(path, tensors, metadata); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if f.Metadata()["step"] != metadata["step"] {
			t.Errorf("metadata %v, want %v", f.Metadata(), metadata)
		}
		for _, want := range tensors {
			got, err := f.Tensor(want.Name)
			if err != nil {
				t.Fatal(err)
			}
			expectEqual(t, got, want)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Tensor(tensors[0].Name); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("after Close: error %v", err)
		}
	}
	expectOnly(t, path)
}

// A model is saved to the path it was loaded from, out of the loaded bytes.
func TestWriteFileOverAnOpenFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be replaced on Windows")
	}
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := WriteFile(path, golden[2].tensors, nil); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	loaded, err := f.Tensor("attn.0")
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, []Tensor{loaded}, map[string]string{"a": "b"}); err != nil {
		t.Fatal(err)
	}
	expectEqual(t, loaded, golden[2].tensors[0])
	second, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	again, err := second.Tensor("attn.0")
	if err != nil {
		t.Fatal(err)
	}
	expectEqual(t, again, golden[2].tensors[0])
}

// expectOnly checks that no temporary file is left beside path.
func expectOnly(t *testing.T, path string) {
	t.Helper()
	list, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(list) != 1 || list[0].Name() != filepath.Base(path) {
		t.Errorf("the directory holds %v (error %v), want %s only", list, err, filepath.Base(path))
	}
}

func TestFailedWriteKeepsTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := WriteFile(path, golden[2].tensors, nil); err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk full")
	for name, fill := range map[string]func(io.Writer) error{
		"at once":   func(io.Writer) error { return full },
		"half-way":  func(w io.Writer) error { w.Write([]byte("half")); return full },
		"bad input": func(w io.Writer) error { return write(w, []Tensor{{Name: "x"}}, nil) },
	} {
		if err := replaceFile(path, fill); err == nil {
			t.Errorf("%s: no error", name)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != golden[2].want {
			t.Errorf("%s: the old file is %q (error %v)", name, got, err)
		}
		expectOnly(t, path)
	}
}

func TestWriteFileNowhere(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing", "model.safetensors")
	if err := WriteFile(missing, nil, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if err := WriteFile(dir, nil, nil); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("error %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(dir, "cut")
	if err := os.WriteFile(cut, []byte(golden[2].want[:60]), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{
		filepath.Join(dir, "missing"): fs.ErrNotExist,
		empty:                         ErrMalformed,
		cut:                           ErrMalformed,
	} {
		if _, err := Open(path); !errors.Is(err, want) || strings.Count(err.Error(), path) != 1 {
			t.Errorf("%s: error %v, want %v and the path once", path, err, want)
		}
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("directory: error %v", err)
	}
}
