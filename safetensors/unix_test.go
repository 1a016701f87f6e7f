//go:build unix

package safetensors

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOpenMapsTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := WriteFile(path, golden[2].tensors, nil); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a, _ := f.Tensor("attn.0")
	b, _ := f.Tensor("attn.0")
	if &a.Data[0] != &b.Data[0] || cap(a.Data) != len(a.Data) {
		t.Error("Data is not a view of the mapping, or reaches past its tensor")
	}
}

func TestNamedPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("open: error %v", err)
	}
	if err := WriteFile(path, nil, nil); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("write: error %v", err)
	}
}

func TestFullDevice(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	if err := Write(full, golden[2].tensors, nil); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("error %v, want %v", err, unix.ENOSPC)
	}
}

func TestWriteFileKeepsModeAndLink(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "v1.safetensors")
	link := filepath.Join(dir, "latest.safetensors")
	if err := os.WriteFile(target, nil, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
	if err := WriteFile(link, golden[2].tensors, nil); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link is now %v (error %v)", info, err)
	}
	info, err := os.Stat(target)
	if err != nil || info.Mode().Perm() != 0o640 || info.Size() != int64(len(golden[2].want)) {
		t.Errorf("the target is %v, %d bytes (error %v)", info.Mode(), info.Size(), err)
	}
}
