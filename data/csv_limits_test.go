package data

import (
	"slices"
	"strings"
	"testing"
)

func TestCSVLimits(t *testing.T) {
	c := CSV{Features: 2, Min: 0, Max: 16, Classes: 10}
	s, err := c.Read(strings.NewReader("0,16,9\n-0,15.5,0\n"))
	if err != nil || s.N != 2 || !slices.Equal(s.Labels, []int64{9, 0}) {
		t.Errorf("values at the limits: %+v, %v", s, err)
	}
	for in, want := range map[string]string{
		"1,2,3\n\n4,16.5,6\n": `line 3, column 2: "16.5" is out of range, want 0 to 16`,
		"a,b,c\n-1e-9,2,3\n":  `line 2, column 1: "-1e-9" is out of range, want 0 to 16`,
		"1,2,3\n1,2,10\n":     "line 2, column 3: label 10 is out of range, want 0 to 9",
		"1,2,-1\n":            "line 1, column 3: label -1 is out of range, want 0 to 9",
	} {
		if s, err := c.Read(strings.NewReader(in)); err == nil || s != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: set %v, error %v, want %q", in, s, err, want)
		}
	}
}
