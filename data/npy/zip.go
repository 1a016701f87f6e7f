package npy

import (
	"archive/zip"
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// maxArrays is how many arrays an archive may have.
const maxArrays = 1 << 16

// ReadZip reads all arrays of an .npz archive, compressed or not, by their names
// without ".npy".
func ReadZip(r io.ReaderAt, size int64) (map[string]Array, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, malformed("%v", err)
	}
	if len(z.File) > maxArrays {
		return nil, malformed("an archive of %d files", len(z.File))
	}
	out := make(map[string]Array)
	left := int64(MaxBytes)
	for _, f := range z.File {
		name := strings.TrimSuffix(f.Name, ".npy")
		if _, twice := out[name]; twice {
			return nil, malformed("two arrays %q", name)
		}
		a, err := readEntry(f, left)
		if err != nil {
			return nil, fmt.Errorf("array %q: %w", name, err)
		}
		left -= int64(len(a.Bytes))
		out[name] = a
	}
	return out, nil
}

func readEntry(f *zip.File, limit int64) (Array, error) {
	r, err := f.Open()
	if err != nil {
		return Array{}, malformed("%v", err)
	}
	defer r.Close()
	b := bufio.NewReader(r)
	a, err := read(b, limit)
	if err != nil {
		return Array{}, err
	}
	// Reading on to the end checks the entry's checksum.
	if n, err := io.Copy(io.Discard, io.LimitReader(b, 1)); err != nil || n > 0 {
		return Array{}, malformed("data follows the array, or is damaged (%v)", err)
	}
	return a, nil
}

// WriteZip writes an .npz archive, not compressed, as numpy's savez does, in the
// order of names: equal arrays give equal bytes.
func WriteZip(w io.Writer, arrays map[string]Array) error {
	z := zip.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		f, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
		if err == nil {
			err = Write(f, arrays[name])
		}
		if err != nil {
			return fmt.Errorf("array %q: %w", name, err)
		}
	}
	return z.Close()
}

// ReadZipFile reads an .npz file.
func ReadZipFile(path string) (map[string]Array, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	i, err := f.Stat()
	if err != nil {
		return nil, err
	}
	arrays, err := ReadZip(f, i.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return arrays, nil
}

// WriteZipFile writes an .npz file.
func WriteZipFile(path string, arrays map[string]Array) error {
	return writeFile(path, func(w io.Writer) error { return WriteZip(w, arrays) })
}
