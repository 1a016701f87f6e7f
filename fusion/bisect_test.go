package fusion_test

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
)

var marker = regexp.MustCompile(`(.*) \[bisect-match 0x([0-9a-f]{16})\]`)

// runBisected runs three separate fusions, of which one hits the fault of wrong, on
// a device with a pattern. It returns whether the results are right, and what was
// reported.
func runBisected(t *testing.T, pattern string) (right bool, reports []string, hashes []uint64) {
	t.Helper()
	var out bytes.Buffer
	b, err := fusion.ParseBisect(pattern, &out)
	if err != nil {
		t.Fatal(err)
	}
	d, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := fusion.New(wrong{d}, fusion.Options{Bisect: b})
	defer c.Close()
	r := &recorder{t, c, c.Stream()}
	x, err := c.Stream().Upload(ir.Type{DType: ir.F32, Shape: ir.Shape{2}}, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40})
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	for i, chain := range [][]string{{"neg", "abs"}, {"mul", "add"}, {"relu", "neg", "abs"}} {
		y := x
		for _, op := range chain {
			in := []*fusion.Value{y}
			if op == "mul" || op == "add" {
				in = append(in, x)
			}
			y = r.do(op, in)
		}
		data, errs, err := c.ReadValues(context.Background(), []*fusion.Value{y})
		if err != nil || errs[0] != nil {
			t.Fatal(i, err, errs)
		}
		got = append(got, data[0].Bytes...)
	}
	for _, m := range marker.FindAllStringSubmatch(out.String(), -1) {
		h, err := strconv.ParseUint(m[2], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		reports, hashes = append(reports, m[1]), append(hashes, h)
	}
	want := []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40 /**/, 0, 0, 0, 0x40, 0, 0, 0xc0, 0x40 /**/, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40}
	return bytes.Equal(got, want), reports, hashes
}

// TestBisect: as the bisect command does, patterns of longer and longer suffixes
// lead to the one fusion that breaks the result.
func TestBisect(t *testing.T) {
	if ok, reports, _ := runBisected(t, "n"); !ok || len(reports) != 0 {
		t.Fatalf("without fusion: right %v, reports %q", ok, reports)
	}
	ok, reports, hashes := runBisected(t, "y")
	if ok || len(reports) != 3 {
		t.Fatalf("with all fusions: right %v, reports %q", ok, reports)
	}
	if _, again, same := runBisected(t, "y"); !slices.Equal(reports, again) || !slices.Equal(hashes, same) {
		t.Error("two runs report different fusions")
	}
	suffix := ""
	for len(suffix) < 64 {
		zero, one := "0"+suffix, "1"+suffix
		if ok, _, _ := runBisected(t, "+"+zero); !ok {
			suffix = zero
		} else if ok, _, _ := runBisected(t, "+"+one); !ok {
			suffix = one
		} else {
			t.Fatalf("neither +%s nor +%s breaks the result", zero, one)
		}
		if _, found, _ := runBisected(t, "+"+suffix); len(found) == 1 {
			if !strings.Contains(found[0], "mul user.go:1, add user.go:1") {
				t.Errorf("found %q", found[0])
			}
			break
		}
	}
	if ok, _, _ := runBisected(t, "!+"+suffix); !ok {
		t.Error("all but the one at fault: the result is wrong")
	}
	if ok, reports, _ := runBisected(t, fmt.Sprintf("v+y-%s", suffix)); !ok || len(reports) != 2 {
		t.Errorf("all, and not that one: right %v, reports %q; want the two others", ok, reports)
	}
	if ok, reports, _ := runBisected(t, "v+"+suffix); ok || len(reports) != 1 {
		t.Errorf("that one alone: wrong %v, reports %q", !ok, reports)
	}
	for _, bad := range []string{"", "v", "+", "+2", "y+", "+x", "+xg", strings.Repeat("0", 65)} {
		if _, err := fusion.ParseBisect(bad, nil); err == nil {
			t.Errorf("pattern %q is taken", bad)
		}
	}
}
