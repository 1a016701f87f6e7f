package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/cuda"
)

// TestProgram runs the program: with a GPU it prints a mean, without one the reason.
func TestProgram(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = w
	main()
	os.Stdout = stdout
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	want := "device cuda:0: "
	if n, _ := (cuda.Devices{}).Count(); n > 0 {
		want = "0.79" // of normal numbers, twice their positive part: √(2/π)
	}
	if !strings.HasPrefix(string(got), want) {
		t.Errorf("it prints %q, expected %q", got, want)
	}
}
