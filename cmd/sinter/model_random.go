package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/onnx"
)

// madeValue makes an input of random draws or zeros.
func madeValue(kind, shapeText string, t *onnx.Type, seed uint64) (*onnx.Value, error) {
	var shape []int
	var err error
	if shapeText != "" || t == nil || !t.HasShape {
		shape, err = parseShape(shapeText)
	} else {
		shape = declaredShape(t, nil)
	}
	if err != nil {
		return nil, err
	}
	elem := onnx.Float
	if t != nil && t.Elem != onnx.Undefined {
		elem = t.Elem
	}
	v, err := fill(kind, elem, shape, seed)
	if err != nil {
		return nil, err
	}
	return checked(v, t)
}

// fill makes elements: zeros, or draws from 0 to 1 (integers: 0 or 1) that only
// depend on the seed.
func fill(kind string, elem onnx.Elem, shape []int, seed uint64) (*onnx.Value, error) {
	size := 1
	for _, d := range shape {
		if d > 0 && size > maxFilled/d {
			return nil, fmt.Errorf("the shape %v has more than %d elements", shape, maxFilled)
		}
		size *= d
	}
	e, err := encoderOf(elem, size)
	if err != nil {
		return nil, err
	}
	if elem == onnx.String {
		e.texts = make([]string, size)
		return e.value(shape), nil
	}
	draws := splitMix(seed)
	for range size {
		switch {
		case kind == "zeros":
			e.integer(0)
		case e.dtype.IsFloat():
			e.float(float64(draws.next()>>40) / (1 << 24))
		default:
			e.integer(int64(draws.next() >> 63))
		}
	}
	return e.value(shape), nil
}

const maxFilled = 1 << 30

// splitMix is the generator of Steele, Lea and Flood: equal on all machines.
type splitMix uint64

func (s *splitMix) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// parseShape reads extents: "1x3x224", "1,3,224" or "" for none.
func parseShape(s string) ([]int, error) {
	shape := []int{}
	if s == "" {
		return shape, nil
	}
	for _, word := range strings.FieldsFunc(s, func(r rune) bool { return r == 'x' || r == ',' }) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("the shape %q: %q is no extent; expected a form like 1x3x224x224", s, word)
		}
		shape = append(shape, n)
	}
	return shape, nil
}

// declaredShape returns the extents of a type: those that are not known by their
// names in dims, else 1.
func declaredShape(t *onnx.Type, dims map[string]int) []int {
	shape := make([]int, len(t.Dims))
	for i, d := range t.Dims {
		n, named := dims[d.Param]
		switch {
		case d.Size >= 0:
			shape[i] = int(d.Size)
		case named && d.Param != "":
			shape[i] = n
		default:
			shape[i] = 1
		}
	}
	return shape
}

// shapeText writes extents as parseShape reads them.
func shapeText(shape []int) string {
	words := make([]string, len(shape))
	for i, n := range shape {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, "x")
}
