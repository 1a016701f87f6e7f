package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// TestWarm: with the plans of a cold run nothing is searched for and the loss is the
// same; the embedded plans are taken, or refused as those of another build.
func TestWarm(t *testing.T) {
	ctx := context.Background()
	var out, made bytes.Buffer
	n, err := run(ctx, &out, nil, &made)
	if err != nil || n == 0 {
		t.Fatalf("cold: %d searches, %v", n, err)
	}
	cold := out.String()
	if made.Len() > 1<<18 {
		t.Errorf("the plans take %d bytes", made.Len())
	}
	out.Reset()
	if n, err = run(ctx, &out, made.Bytes(), nil); err != nil || n != 0 {
		t.Errorf("warm: %d searches, %v\n%s", n, err, out.String())
	}
	if loss, _, _ := strings.Cut(cold, ";"); !strings.Contains(out.String(), loss) {
		t.Errorf("cold:\n%s\nwarm:\n%s", cold, out.String())
	}
	out.Reset()
	n, err = run(ctx, &out, plans, nil)
	if refused := strings.Contains(out.String(), "plans refused"); err != nil || (n == 0) == refused {
		t.Errorf("embedded: %d searches, %v\n%s", n, err, out.String())
	}
}
