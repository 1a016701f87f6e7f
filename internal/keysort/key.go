// Package keysort sorts and selects by keys: unsigned integers that have the order
// of the elements that they stand for.
//
// What is sorted are items: a key of 32 bits above the place of its element, so
// that items differ, every way of sorting them gives the same order, and equal keys
// keep the order of their places. Keys of 64 bits are sorted by their upper half first.
package keysort

import "unsafe"

// Bits are the bits of an element.
type Bits interface {
	uint8 | uint16 | uint32 | uint64
}

// Class says how bits are to be read.
type Class uint8

// The classes of elements.
const (
	Unsigned Class = iota
	Signed
	Float // IEEE, in any split of exponent and fraction
)

// Order is the order of elements of one type: that of numbers, with -0 equal to +0,
// and NaN, equal to itself, after everything else; or its reverse.
type Order[T Bits] struct {
	class Class
	inf   T // bits of +inf, of a float
	flip  T // all ones to reverse
}

// OrderOf returns the order of a class; inf has the bits of infinity, of a float.
func OrderOf[T Bits](c Class, inf T, descending bool) Order[T] {
	o := Order[T]{class: c, inf: inf}
	if descending {
		o.flip = ^T(0)
	}
	return o
}

func sign[T Bits]() T { return 1 << (unsafe.Sizeof(T(0))*8 - 1) }

// floatKey orders the bits of a float. Numbers above 0 get the sign bit, those below
// are inverted.
func floatKey[T Bits](b, inf T) T {
	s := sign[T]()
	if m := b &^ s; m > inf {
		return ^T(0)
	} else if m == 0 {
		return s
	}
	return b ^ (-(b >> (unsafe.Sizeof(b)*8 - 1)) | s)
}

// Key returns the key of an element.
func (o Order[T]) Key(b T) T {
	switch o.class {
	case Signed:
		b ^= sign[T]()
	case Float:
		b = floatKey(b, o.inf)
	}
	return b ^ o.flip
}

// Keys writes the keys of len(dst) elements of src, step apart.
func (o Order[T]) Keys(dst, src []T, step int) {
	if len(dst) == 0 {
		return
	}
	if o.class == Float {
		if step == 1 {
			src = src[:len(dst)]
			for i, b := range src {
				dst[i] = floatKey(b, o.inf) ^ o.flip
			}
			return
		}
		for i := range dst {
			dst[i] = floatKey(src[i*step], o.inf) ^ o.flip
		}
		return
	}
	flip := o.flip
	if o.class == Signed {
		flip ^= sign[T]()
	}
	for i := range dst {
		dst[i] = src[i*step] ^ flip
	}
}

// Items writes items of len(dst) elements of src, step apart, the first of which
// has the place from. Elements have at most 32 bits.
func (o Order[T]) Items(dst []uint64, src []T, step, from int) {
	if len(dst) == 0 {
		return
	}
	at := uint64(from)
	if o.class == Float {
		if step == 1 {
			src = src[:len(dst)]
			for i, b := range src {
				dst[i] = uint64(floatKey(b, o.inf)^o.flip)<<32 | (at + uint64(i))
			}
			return
		}
		for i := range dst {
			dst[i] = uint64(floatKey(src[i*step], o.inf)^o.flip)<<32 | (at + uint64(i))
		}
		return
	}
	flip := o.flip
	if o.class == Signed {
		flip ^= sign[T]()
	}
	for i := range dst {
		dst[i] = uint64(src[i*step]^flip)<<32 | (at + uint64(i))
	}
}

// Element returns the bits of the element that has a key; ok is false where several
// elements have it, zeros and NaNs.
func (o Order[T]) Element(key T) (b T, ok bool) {
	key ^= o.flip
	s := sign[T]()
	switch o.class {
	case Signed:
		return key ^ s, true
	case Float:
		if key&s == 0 {
			return ^key, true
		}
		return key ^ s, key != s && key != ^T(0)
	}
	return key, true
}
