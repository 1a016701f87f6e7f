package safetensors

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// WriteFile writes a file as [Write] does, all or nothing: the bytes go to a
// temporary file in the same directory, reach the disk, and only then take the
// place of the file at path. After an error (a full disk, for one) the file
// that was at path is as before, and the temporary file is gone. A symbolic
// link at path is followed, and permissions of an existing file are kept.
//
// Other programs and other [File]s that have the old file open go on seeing the
// old content, so a model may be saved to the path it was loaded from. (On
// Windows, an open file cannot be replaced, and the error says so.)
func WriteFile(path string, tensors []Tensor, metadata map[string]string) error {
	err := replaceFile(path, func(w io.Writer) error { return write(w, tensors, metadata) })
	if err != nil {
		return fmt.Errorf("safetensors: write %s: %w", path, err)
	}
	return nil
}

// replaceFile replaces the file at path by what fill writes.
func replaceFile(path string, fill func(io.Writer) error) (err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	old, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	case err != nil:
		return err
	case !old.Mode().IsRegular():
		return fmt.Errorf("not a regular file (%v)", old.Mode().Type())
	}
	f, err := createTemp(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := fill(f); err != nil {
		return err
	}
	if old != nil {
		if err := os.Chmod(f.Name(), old.Mode().Perm()); err != nil {
			return err
		}
	}
	// Some file systems report a full disk only here or on Close. Without the
	// sync, the rename could survive a power cut that the data does not.
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	syncDir(filepath.Dir(path))
	return nil
}

// createTemp creates a file of a fresh name in dir. Unlike os.CreateTemp it
// leaves the permissions to the umask, since the file is here to stay.
func createTemp(dir string) (*os.File, error) {
	for try := 0; ; try++ {
		name := filepath.Join(dir, fmt.Sprintf(".safetensors-%016x.tmp", rand.Uint64()))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if try < 100 && errors.Is(err, fs.ErrExist) {
			continue
		}
		return f, err
	}
}

// syncDir makes a rename in dir durable, as far as the system knows how to. A
// failure is not reported: the new file is in place and complete, and an error
// would claim that the old one still is.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
}
