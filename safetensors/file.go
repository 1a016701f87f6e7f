package safetensors

import (
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/sinter-go/sinter/ir"
)

// Tensor is one tensor of a file.
type Tensor struct {
	Name  string
	DType ir.DType
	Shape []int // empty for a scalar

	// Data holds the elements, little-endian and row-major. On the way out of
	// a [File] it must not be written to, and may begin at any address.
	Data []byte
}

// Info describes a tensor without its data.
type Info struct {
	Name   string
	Format string   // the dtype as the file spells it, such as "F32"
	DType  ir.DType // ir.Invalid where the dtype is unsupported
	Shape  []int
	Bytes  int64
}

// File is an open file. Its methods may be called from any goroutine.
type File struct {
	header *header
	start  int64 // of the data part

	mu     sync.RWMutex // held for reading while src is read
	src    source
	closed bool
}

// Open opens the file at path and checks its header against the safetensors
// specification.
//
// On Unix systems the file is mapped into memory: opening is quick whatever the
// size, and the Data of a [Tensor] is a view of the mapping, valid until
// [File.Close]. Writing to it, or reading it after Close, crashes the program,
// as does reading it after another process has cut the file short; replace
// files as [WriteFile] does instead of overwriting them. Elsewhere, and where a
// file system cannot map files, Data is a copy.
//
// The error wraps [ErrMalformed] where the file breaks the format, or is that
// of the file system.
func Open(path string) (*File, error) {
	f, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %s: %w", path, err)
	}
	return f, nil
}

func open(path string) (*File, error) {
	// Asked before opening, since to open a named pipe would block.
	info, err := os.Stat(path)
	if err != nil {
		return nil, unwrapPath(err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("not a regular file (%v)", info.Mode().Type())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, unwrapPath(err)
	}
	if info, err = f.Stat(); err != nil {
		f.Close()
		return nil, unwrapPath(err)
	}
	src := newSource(f, info.Size())
	file, err := newFile(src, info.Size())
	if err != nil {
		src.close()
		return nil, err
	}
	return file, nil
}

// unwrapPath drops the path from an error whose message will begin with it.
func unwrapPath(err error) error {
	if pe, ok := err.(*fs.PathError); ok {
		return pe.Err
	}
	return err
}

// Read reads a file of the given size from r, and checks its header against the
// safetensors specification. The data of a tensor is read when it is asked for,
// so r must remain usable; [File.Close] does not close it.
//
// The error wraps [ErrMalformed] where the file breaks the format, or is that
// of r.
func Read(r io.ReaderAt, size int64) (*File, error) {
	f, err := newFile(&readerSource{r: r}, size)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	return f, nil
}

func newFile(src source, size int64) (*File, error) {
	if size < lengthBytes {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, errShort(size))
	}
	b, err := src.read(0, lengthBytes)
	if err != nil {
		return nil, err
	}
	n, err := headerLength(binary.LittleEndian.Uint64(b), size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if b, err = src.read(lengthBytes, n); err != nil {
		return nil, err
	}
	start := lengthBytes + n
	h, err := parseHeader(b, size-start)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return &File{header: h, start: start, src: src}, nil
}

// Names returns the names of all tensors, sorted.
func (f *File) Names() []string {
	names := make([]string, len(f.header.entries))
	for i := range names {
		names[i] = f.header.entries[i].name
	}
	return names
}

// Metadata returns a copy of the file's "__metadata__", nil where it has none.
func (f *File) Metadata() map[string]string { return maps.Clone(f.header.metadata) }

// Info describes the tensor called name without reading its data. The error
// wraps [ErrNotFound] where there is none.
func (f *File) Info(name string) (Info, error) {
	e, err := f.header.find(name)
	if err != nil {
		return Info{}, fmt.Errorf("safetensors: %w", err)
	}
	return Info{
		Name:   e.name,
		Format: e.format.String(),
		DType:  formats[e.format].dtype,
		Shape:  slices.Clone(e.shape),
		Bytes:  e.end - e.begin,
	}, nil
}

// Tensor returns the tensor called name. See [Open] for how long its Data is
// valid; after [Read] it is a copy.
//
// The error wraps [ErrNotFound] where there is no such tensor,
// [ErrUnsupportedDType] where its dtype has no counterpart here, [ErrMalformed]
// where a BOOL tensor holds other values than 0 and 1, and [fs.ErrClosed] after
// Close.
func (f *File) Tensor(name string) (Tensor, error) {
	e, err := f.header.find(name)
	if err != nil {
		return Tensor{}, fmt.Errorf("safetensors: %w", err)
	}
	t, err := f.load(e)
	if err != nil {
		return Tensor{}, fmt.Errorf("safetensors: tensor %s: %w", quote(name), err)
	}
	return t, nil
}

// Raw returns the bytes of the tensor called name as the file has them, whatever
// its dtype: also where [File.Tensor] gives [ErrUnsupportedDType]. [Info] names the
// format. See [Open] for how long they are valid.
func (f *File) Raw(name string) ([]byte, error) {
	e, err := f.header.find(name)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		return nil, fmt.Errorf("safetensors: tensor %s: %w", quote(name), fs.ErrClosed)
	}
	data, err := f.src.read(f.start+e.begin, e.end-e.begin)
	if err != nil {
		return nil, fmt.Errorf("safetensors: tensor %s: %w", quote(name), err)
	}
	return data, nil
}

func (f *File) load(e *entry) (Tensor, error) {
	d := formats[e.format].dtype
	if d == ir.Invalid {
		return Tensor{}, fmt.Errorf("%w %v", ErrUnsupportedDType, e.format)
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		return Tensor{}, fs.ErrClosed
	}
	data, err := f.src.read(f.start+e.begin, e.end-e.begin)
	if err != nil {
		return Tensor{}, err
	}
	if d == ir.Bool {
		if err := checkBool(data); err != nil {
			return Tensor{}, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
	}
	return Tensor{Name: e.name, DType: d, Shape: slices.Clone(e.shape), Data: data}, nil
}

// checkBool refuses elements that are neither false nor true. Kernels rely on
// it: they combine bools bitwise.
func checkBool(data []byte) error {
	for i, b := range data {
		if b > 1 {
			return fmt.Errorf("element %d of a BOOL tensor is %d, want 0 or 1", i, b)
		}
	}
	return nil
}

// Close releases the file. The Data of tensors of an [Open]ed file must not be
// used any more. Closing twice is no error.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	if err := f.src.close(); err != nil {
		return fmt.Errorf("safetensors: close: %w", err)
	}
	return nil
}
