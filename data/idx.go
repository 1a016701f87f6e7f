package data

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// IDXElement are the Go types of elements that [ReadIDX] returns and [WriteIDX]
// takes.
type IDXElement interface {
	uint8 | int8 | int16 | int32 | float32 | float64
}

// The element types of IDX files, after their code, with their sizes.
var idxSizes = map[byte]int{0x08: 1, 0x09: 1, 0x0b: 2, 0x0c: 4, 0x0d: 4, 0x0e: 8}

const maxIDXAxes = 8

// ReadIDX reads a file of the format that MNIST is distributed in: a big-endian
// array. Data that begins like a gzip file is decompressed. Elements are converted
// to T; one that T does not hold exactly is an error, as are more than [MaxValues]
// of them, data that ends early or goes on, and whatever is not such a file.
func ReadIDX[T IDXElement](r io.Reader) (shape []int, values []T, err error) {
	shape, values, err = readIDX[T](r)
	if err != nil {
		return nil, nil, fmt.Errorf("data: IDX: %w", err)
	}
	return shape, values, nil
}

func readIDX[T IDXElement](r io.Reader) ([]int, []T, error) {
	br := bufio.NewReader(r)
	if magic, _ := br.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(br)
		if err != nil {
			return nil, nil, err
		}
		defer z.Close()
		br = bufio.NewReader(z)
	}
	var head [4]byte
	if _, err := io.ReadFull(br, head[:]); err != nil {
		return nil, nil, fmt.Errorf("no header: %w", err)
	}
	code, axes := head[2], int(head[3])
	size := idxSizes[code]
	switch {
	case head[0] != 0 || head[1] != 0 || size == 0:
		return nil, nil, fmt.Errorf("the file begins with % x, expected 00 00, a type (08 to 0e) and a number of axes", head)
	case axes < 1 || axes > maxIDXAxes:
		return nil, nil, fmt.Errorf("%d axes, expected 1 to %d", axes, maxIDXAxes)
	}
	shape := make([]int, axes)
	n := 1
	for i := range shape {
		var b [4]byte
		if _, err := io.ReadFull(br, b[:]); err != nil {
			return nil, nil, fmt.Errorf("extent of axis %d: %w", i, err)
		}
		extent := binary.BigEndian.Uint32(b[:])
		if extent > MaxValues || n > MaxValues/max(int(extent), 1) {
			return nil, nil, fmt.Errorf("more than %d values", MaxValues)
		}
		shape[i] = int(extent)
		n *= shape[i]
	}
	values := make([]T, 0, min(n, 1<<16)) // grows with what is there, not with what is claimed
	buf := make([]byte, size*4096)
	for len(values) < n {
		part := buf[:min(len(buf), (n-len(values))*size)]
		if _, err := io.ReadFull(br, part); err != nil {
			return nil, nil, fmt.Errorf("%d values are announced, the data ends after %d: %w", n, len(values), err)
		}
		for ; len(part) > 0; part = part[size:] {
			v := idxValue(code, part)
			t := T(v)
			if float64(t) != v && v == v {
				return nil, nil, fmt.Errorf("value %d is %v, which %T does not hold", len(values), v, t)
			}
			values = append(values, t)
		}
	}
	if _, err := br.ReadByte(); err != io.EOF {
		if err == nil {
			err = fmt.Errorf("data goes on after %d values", n)
		}
		return nil, nil, err
	}
	return shape, values, nil
}

// idxValue decodes an element. A float64 holds those of all types.
func idxValue(code byte, b []byte) float64 {
	switch code {
	case 0x08:
		return float64(b[0])
	case 0x09:
		return float64(int8(b[0]))
	case 0x0b:
		return float64(int16(binary.BigEndian.Uint16(b)))
	case 0x0c:
		return float64(int32(binary.BigEndian.Uint32(b)))
	case 0x0d:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.BigEndian.Uint64(b))
}

// WriteIDX writes values as [ReadIDX] reads them, not compressed.
func WriteIDX[T IDXElement](w io.Writer, shape []int, values []T) error {
	n := 1
	for _, d := range shape {
		if d < 0 || d > MaxValues || n > MaxValues/max(d, 1) {
			return fmt.Errorf("data: IDX: shape %v", shape)
		}
		n *= d
	}
	if len(shape) < 1 || len(shape) > maxIDXAxes || n != len(values) {
		return fmt.Errorf("data: IDX: %d values for shape %v", len(values), shape)
	}
	var code byte
	switch any(values).(type) {
	case []uint8:
		code = 0x08
	case []int8:
		code = 0x09
	case []int16:
		code = 0x0b
	case []int32:
		code = 0x0c
	case []float32:
		code = 0x0d
	case []float64:
		code = 0x0e
	}
	var b bytes.Buffer
	b.Write([]byte{0, 0, code, byte(len(shape))})
	for _, d := range shape {
		binary.Write(&b, binary.BigEndian, uint32(d))
	}
	if err := binary.Write(&b, binary.BigEndian, values); err != nil {
		return fmt.Errorf("data: IDX: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// ReadMNIST reads a set from two IDX files, images of shape [n, height, width] (or
// [n, features]) and labels of shape [n], gzip or not. Pixels are scaled from 0 to
// 255 to 0 to 1.
func ReadMNIST(images, labels io.Reader) (*Set, error) {
	shape, pixels, err := ReadIDX[uint8](images)
	if err != nil {
		return nil, fmt.Errorf("images: %w", err)
	}
	marks, classes, err := ReadIDX[uint8](labels)
	if err != nil {
		return nil, fmt.Errorf("labels: %w", err)
	}
	if len(shape) < 2 || len(marks) != 1 || marks[0] != shape[0] {
		return nil, fmt.Errorf("data: images of shape %v and labels of shape %v do not make a set", shape, marks)
	}
	s := &Set{N: shape[0], Features: 1, Pixels: make([]float32, len(pixels)), Labels: make([]int64, len(classes))}
	for _, d := range shape[1:] {
		s.Features *= d
	}
	for i, p := range pixels {
		s.Pixels[i] = float32(p) / 255
	}
	for i, c := range classes {
		s.Labels[i] = int64(c)
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return s, nil
}
