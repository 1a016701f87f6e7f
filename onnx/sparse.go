package onnx

import (
	"fmt"

	"github.com/sinter-go/sinter"
)

// denseLimit bounds the bytes of a sparse constant written out, which may be few
// in the file.
const denseLimit = 256 << 20

// dense returns the tensor with its zeros.
func (s *SparseTensor) dense() (*Value, error) {
	if s.Values == nil || s.Indices == nil {
		return nil, fmt.Errorf("a sparse tensor without values or indices")
	}
	shape, size, err := shapeOf(s.Dims)
	if err != nil {
		return nil, err
	}
	values, err := s.Values.Array()
	if err != nil {
		return nil, err
	}
	indices, err := s.Indices.Array()
	if err != nil {
		return nil, err
	}
	if indices.DType != sinter.I64 {
		return nil, fmt.Errorf("indices of type %s, expected int64", indices.DType)
	}
	width := values.DType.Size()
	if size > denseLimit/width {
		return nil, fmt.Errorf("a sparse tensor of %v is too large to be written out", s.Dims)
	}
	n := product(values.Shape)
	at := hostOf(Int64, indices).Ints
	perIndex := 1
	switch {
	case len(indices.Shape) == 2 && indices.Shape[0] == n && indices.Shape[1] == len(shape):
		perIndex = len(shape)
	case len(indices.Shape) == 1 && indices.Shape[0] == n:
	default:
		return nil, fmt.Errorf("indices of shape %v for %d values of %d axes", indices.Shape, n, len(shape))
	}
	out := make([]byte, size*width)
	for i := range n {
		flat := int64(0)
		for j := range perIndex {
			v := at[i*perIndex+j]
			extent := int64(size)
			if len(indices.Shape) == 2 {
				extent = int64(shape[j])
			}
			if v < 0 || v >= extent {
				return nil, fmt.Errorf("the index %d of a sparse tensor of %v", v, s.Dims)
			}
			flat = flat*extent + v
		}
		copy(out[int(flat)*width:], values.Bytes[i*width:(i+1)*width])
	}
	return ArrayValue(s.Values.Elem, sinter.Array{DType: values.DType, Shape: shape, Bytes: out}), nil
}
