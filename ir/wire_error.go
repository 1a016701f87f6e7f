package ir

import (
	"errors"
	"strings"
)

// errorKinds gives every kind of error its number in wire form: its place here,
// from 1. New kinds are appended.
var errorKinds = [...]error{
	ErrShape, ErrDType, ErrArgument, ErrData, ErrDevice, ErrClosed,
	ErrMemory, ErrCancelled, ErrUnsupported, ErrInternal, ErrFormat,
}

// Limits of an error in wire form; longer parts are cut, since an error must
// always travel.
const (
	maxErrorOperands = 64
	maxErrorRank     = 64
	maxErrorText     = 1 << 14
)

// AppendError appends the binary form of an error to b: "SNTE", version, number
// of the kind (0 if it is none of this package's), operation, operand types,
// device, site, message and the text of the cause, whose own kind is lost.
func AppendError(b []byte, e *Error) []byte {
	w := wireWriter{b: append(b, wireErrorMagic...)}
	w.uint(WireVersion)
	kind := uint64(0)
	for i, k := range errorKinds {
		if e.Kind == k {
			kind = uint64(i + 1)
		}
	}
	w.uint(kind)
	w.errorText(e.Op)
	operands := e.Operands[:min(len(e.Operands), maxErrorOperands)]
	w.uint(uint64(len(operands)))
	for _, t := range operands {
		// The error may be about this very type, so anything goes.
		w.uint(uint64(t.DType))
		shape := t.Shape[:min(len(t.Shape), maxErrorRank)]
		w.uint(uint64(len(shape)))
		for _, d := range shape {
			w.int(int64(d))
		}
	}
	w.errorText(e.Device)
	w.errorText(e.Site.String())
	w.errorText(e.Msg)
	cause := ""
	if e.Cause != nil {
		cause = e.Cause.Error()
	}
	w.errorText(cause)
	return w.b
}

func (w *wireWriter) errorText(s string) {
	w.string(cut(strings.ToValidUTF8(s, "?"), maxErrorText))
}

// DecodeError reads the binary form of an error. A kind that this package does
// not know becomes [ErrInternal].
func DecodeError(b []byte) (*Error, error) {
	r := wireReader{b: b}
	r.magic(wireErrorMagic, "error")
	e := &Error{Kind: ErrInternal}
	if k := r.uint("kind"); k >= 1 && k <= uint64(len(errorKinds)) {
		e.Kind = errorKinds[k-1]
	}
	e.Op = r.string("operation", maxErrorText)
	for n := r.count("operands", maxErrorOperands, 2); n > 0 && r.err == nil; n-- {
		t := Type{DType(r.uintUpTo("dtype", 0xff)), Shape{}}
		for k := r.count("axes", maxErrorRank, 1); k > 0 && r.err == nil; k-- {
			t.Shape = append(t.Shape, int(r.int("extent")))
		}
		e.Operands = append(e.Operands, t)
	}
	e.Device = r.string("device", maxErrorText)
	e.Site.Text = r.string("site", maxErrorText)
	e.Msg = r.string("message", maxErrorText)
	if cause := r.string("cause", maxErrorText); cause != "" {
		e.Cause = errors.New(cause)
	}
	if r.err == nil && r.off < len(r.b) {
		r.fail("%d bytes follow the end", len(r.b)-r.off)
	}
	if r.err != nil {
		return nil, r.err
	}
	return e, nil
}
