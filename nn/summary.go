package nn

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/sinter-go/sinter"
)

// Summary returns a table of a model's parameters: name, shape, dtype, number of
// elements, and the total. Buffers are marked, and not part of the total.
func Summary(model any) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "name\tshape\tdtype\telements")
	n := 0
	for _, p := range Params(model) {
		t := p.Var.Borrow()
		if err := t.Err(); err != nil {
			fmt.Fprintf(w, "%s\t%v\n", p.Name, err)
			continue
		}
		note := ""
		if p.Buffer {
			note = "\tbuffer"
		} else {
			n += t.Size()
		}
		fmt.Fprintf(w, "%s\t%v\t%s\t%s%s\n", p.Name, t.Shape(), t.DType(), thousands(t.Size()), note)
	}
	fmt.Fprintf(w, "total\t\t\t%s\n", thousands(n))
	w.Flush()
	return b.String()
}

// Shapes applies the layers of a model to x, as at inference, and returns a table
// of what comes out of each: layer, shape, dtype. The first error ends it. It does
// not wait for results.
func Shapes(model Sequential, x *sinter.Tensor) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	s := sinter.NewScope("shapes", sinter.NoGrad())
	defer s.End()
	fmt.Fprintf(w, "layer\tresult\tdtype\nx\t%v\t%s\n", x.Shape(), x.DType())
	x = s.In(x)
	for i, l := range model {
		x = Forward(Mode{}, l, x)
		name := "nothing"
		if l != nil {
			name, _, _ = strings.Cut(describe(l), "\n")
		}
		if err := x.Err(); err != nil {
			fmt.Fprintf(w, "%d: %s\t%v\n", i, name, err)
			break
		}
		fmt.Fprintf(w, "%d: %s\t%v\t%s\n", i, name, x.Shape(), x.DType())
	}
	w.Flush()
	return b.String()
}

// thousands writes a number with commas: 17,226.
func thousands(n int) string {
	s := strconv.Itoa(n)
	digits := strings.TrimPrefix(s, "-")
	out := ""
	for len(digits) > 3 {
		out = "," + digits[len(digits)-3:] + out
		digits = digits[:len(digits)-3]
	}
	return s[:len(s)-len(strings.TrimPrefix(s, "-"))] + digits + out
}
