package driver

import (
	"errors"
	"strings"
	"testing"
)

// TestOpenWithoutDriver pins the message that users of machines without a GPU
// see; on a machine with one it checks that the basic queries answer.
func TestOpenWithoutDriver(t *testing.T) {
	d, err := Open()
	if err != nil {
		var u *Unavailable
		var e *Error
		switch {
		case errors.As(err, &u):
			if !strings.HasPrefix(err.Error(), "no NVIDIA driver: ") {
				t.Fatalf("message %q", err)
			}
		case errors.As(err, &e): // a library without a usable device
			t.Skipf("driver present but not usable: %v", err)
		default:
			t.Fatalf("error of type %T: %v", err, err)
		}
		t.Skipf("skipped: %v", err)
	}
	n, err := d.DeviceCount()
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		v, err := d.Device(i)
		if err != nil {
			t.Fatal(err)
		}
		name, err := v.Name()
		if err != nil {
			t.Fatal(err)
		}
		major, minor, err := v.ComputeCapability()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("device %d: %s, compute capability %d.%d", i, name, major, minor)
	}
}

// TestLoadErrorCarriesLog checks on a real driver that refused text comes back
// with the compiler's words.
func TestLoadErrorCarriesLog(t *testing.T) {
	d, err := Open()
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	v, err := d.Device(0)
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	c, err := v.Retain()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Release() }()
	err = c.Do(func() error {
		_, err := c.LoadModule([]byte(".version 7.8\n.target sm_80\n.address_size 64\nbroken\n"))
		return err
	})
	var e *Error
	if !errors.As(err, &e) || e.Log == "" {
		t.Fatalf("want an error with a log, have %v", err)
	}
}

func TestErrorText(t *testing.T) {
	e := &Error{Call: "cuInit", Code: 100, Name: "CUDA_ERROR_NO_DEVICE", Text: "no CUDA-capable device is detected"}
	if got, want := e.Error(), "cuInit: CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected"; got != want {
		t.Fatalf("have %q, want %q", got, want)
	}
	u := &Unavailable{Library: "libcuda.so.1", Reason: "no such file"}
	if got, want := u.Error(), "no NVIDIA driver: libcuda.so.1 could not be opened: no such file"; got != want {
		t.Fatalf("have %q, want %q", got, want)
	}
}
