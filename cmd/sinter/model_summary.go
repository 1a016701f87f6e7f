package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/onnx"
)

// outputSummary is what is shown of an output.
type outputSummary struct {
	Output string            `json:"output"`
	Type   string            `json:"type"`
	Shape  []int             `json:"shape"`
	Min    *number           `json:"min,omitempty"`
	Mean   *number           `json:"mean,omitempty"`
	Max    *number           `json:"max,omitempty"`
	NaNs   int               `json:"nans,omitempty"`
	First  []json.RawMessage `json:"first,omitempty"`
	Top    [][]topEntry      `json:"top,omitempty"` // of each row of the last axis

	kind string
}

// number is a float that JSON can hold: NaN and infinities are texts.
type number float64

// MarshalJSON writes the number.
func (n number) MarshalJSON() ([]byte, error) {
	return []byte(n.quoted()), nil
}

func (n number) quoted() string {
	if v := float64(n); math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Sprintf("%q", fmt.Sprint(v))
	}
	return n.String()
}

// String writes six digits.
func (n number) String() string { return fmt.Sprintf("%.6g", float64(n)) }

type topEntry struct {
	Index int    `json:"index"`
	Label string `json:"label,omitempty"`
	Value number `json:"value"`
}

const (
	shownFirst   = 6
	shownTopRows = 16
)

func summarizeOutput(r outputValue) outputSummary {
	s := outputSummary{Output: r.name, kind: r.value.String(), Shape: r.value.Shape()}
	if r.value == nil || r.value.IsSequence() || r.value.IsNone() {
		s.Type = s.kind
		return s
	}
	s.Type = r.value.Elem.String()
	size := r.value.Size()
	for i := range min(size, shownFirst) {
		if r.value.Elem == onnx.String {
			text, _ := json.Marshal(r.value.Strings()[i])
			s.First = append(s.First, text)
			continue
		}
		s.First = append(s.First, shortElement(r.array, i))
	}
	if r.value.Elem == onnx.String || size == 0 || r.array.DType == sinter.Bool {
		return s
	}
	low, high, sum, n := math.Inf(1), math.Inf(-1), 0.0, 0
	for i := range size {
		v := numberAt(r.array.DType, r.array.Bytes, i)
		if math.IsNaN(v) {
			s.NaNs++
			continue
		}
		low, high, sum, n = min(low, v), max(high, v), sum+v, n+1
	}
	mean := sum / float64(n)
	if n == 0 {
		low, high = math.NaN(), math.NaN()
	}
	s.Min, s.Mean, s.Max = (*number)(&low), (*number)(&mean), (*number)(&high)
	return s
}

// shortElement writes an element in at most six digits if it is a float.
func shortElement(a sinter.Array, i int) json.RawMessage {
	if a.DType.IsFloat() {
		return json.RawMessage(number(floatAt(a.DType, a.Bytes, i)).quoted())
	}
	return appendElement(nil, a.DType, a.Bytes, i)
}

func (s outputSummary) print(c *console) {
	c.printf("%s  %s", c.paint(bold, s.Output), s.kind)
	if s.Min != nil {
		c.printf("  min %s  mean %s  max %s", s.Min, s.Mean, s.Max)
	}
	if s.NaNs > 0 {
		c.printf("  %s", c.paint(red, fmt.Sprintf("%d NaN", s.NaNs)))
	}
	c.printf("\n")
	if len(s.First) > 0 {
		words := make([]string, len(s.First))
		for i, w := range s.First {
			words[i] = string(w)
		}
		more := ""
		if total := product(s.Shape); total > len(s.First) {
			more = " …"
		}
		c.printf("  %s%s\n", c.paint(faint, strings.Join(words, " ")), more)
	}
	for i, row := range s.Top {
		if len(s.Top) > 1 {
			c.printf("  row %d\n", i)
		}
		for _, t := range row {
			label := t.Label
			if label == "" {
				label = fmt.Sprint(t.Index)
			} else {
				label = fmt.Sprintf("%d %s", t.Index, label)
			}
			c.printf("  %12s  %s\n", t.Value, label)
		}
	}
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// top returns the greatest elements of the rows of the last axis.
func (f *outputFlags) top(r outputValue) [][]topEntry {
	if f.TopK == 0 || r.array.Shape == nil || len(r.array.Shape) == 0 {
		return nil
	}
	wide := r.array.Shape[len(r.array.Shape)-1]
	if wide < 2 {
		return nil
	}
	rows := product(r.array.Shape) / wide
	var out [][]topEntry
	for row := range min(rows, shownTopRows) {
		order := make([]int, wide)
		values := make([]float64, wide)
		for i := range order {
			order[i] = i
			values[i] = numberAt(r.array.DType, r.array.Bytes, row*wide+i)
		}
		slices.SortStableFunc(order, func(a, b int) int {
			switch x, y := values[a], values[b]; {
			case x > y || y != y && x == x: // NaN last
				return -1
			case x < y || x != x && y == y:
				return 1
			}
			return 0
		})
		var list []topEntry
		for _, i := range order[:min(f.TopK, wide)] {
			t := topEntry{Index: i, Value: number(values[i])}
			if i < len(f.names) {
				t.Label = f.names[i]
			}
			list = append(list, t)
		}
		out = append(out, list)
	}
	return out
}
