package main

import (
	"io"
	"os"
	"testing"
	"unicode/utf8"
)

// TestChars trains for a short while on a text of this repository. The text changes
// with it, so the bound is wide.
func TestChars(t *testing.T) {
	text, err := os.ReadFile("../../RATIONALE.md")
	if err != nil {
		t.Fatal(err)
	}
	r, err := run(t.Context(), io.Discard, string(text), 80)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r)
	if !(r.Model < 0.75*r.Frequency) || r.Model < 2 {
		t.Errorf("perplexity %.2f, by frequencies %.2f", r.Model, r.Frequency)
	}
	if n := utf8.RuneCountInString(r.Text); n != 200 {
		t.Errorf("%d characters written: %q", n, r.Text)
	}
}

func TestShortText(t *testing.T) {
	if _, err := run(t.Context(), io.Discard, "short", 1); err == nil {
		t.Error("a text of five characters")
	}
}
