package ir

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
)

// The kinds of error. [errors.Is] tests an [Error] for its kind.
var (
	ErrShape       = errors.New("shape error")
	ErrDType       = errors.New("dtype error")
	ErrArgument    = errors.New("argument error")
	ErrData        = errors.New("data error")        // a fault that depends on values
	ErrDevice      = errors.New("device error")      // the device failed or is of the wrong kind
	ErrClosed      = errors.New("closed")            // the tensor, stream or device was closed or released
	ErrMemory      = errors.New("out of memory")     // device memory or a limit is exhausted
	ErrCancelled   = errors.New("cancelled")         // a context ended before the work was submitted
	ErrUnsupported = errors.New("unsupported")       // the device does not offer it
	ErrInternal    = errors.New("internal error")    // a fault of Sinter itself
	ErrFormat      = errors.New("malformed program") // text or wire form
)

// Site is the place in the user's program where an operation was recorded.
// Exactly one of the fields is set; the zero Site is unknown.
type Site struct {
	PC   uintptr // of this process
	Text string  // "file.go:12" when it came from another process
}

// String returns "file.go:12", or "" if the site is unknown.
func (s Site) String() string {
	if s.PC == 0 {
		return s.Text
	}
	f, _ := runtime.CallersFrames([]uintptr{s.PC}).Next()
	if f.File == "" {
		return ""
	}
	file := f.File
	if i := strings.LastIndexByte(file, '/'); i >= 0 {
		if j := strings.LastIndexByte(file[:i], '/'); j >= 0 {
			file = file[j+1:]
		}
	}
	return fmt.Sprintf("%s:%d", file, f.Line)
}

// Error is the error of an operation. It marks the tensor that the operation
// would have produced and is passed on, unchanged, to everything computed from it.
type Error struct {
	Kind     error  // one of the Err values of this package
	Op       string // name of the operation
	Operands []Type // what it was given
	Device   string // where it ran, if it got that far
	Site     Site   // the user's line
	Msg      string // what was given and what was expected
	Cause    error
	Detail   string // for a report of a fault of Sinter itself, such as a stack; not part of the line
}

// Errorf makes an error of a kind; the recorder adds operation, operands and site.
func Errorf(kind error, format string, args ...any) *Error {
	return &Error{Kind: kind, Msg: fmt.Sprintf(format, args...)}
}

// Error returns one line that names operation, operands, device and user's line.
func (e *Error) Error() string {
	var b strings.Builder
	if s := e.Site.String(); s != "" {
		b.WriteString(s)
		b.WriteString(": ")
	}
	if e.Op != "" {
		b.WriteString(e.Op)
		if len(e.Operands) > 0 {
			b.WriteByte('(')
			for i, t := range e.Operands {
				if i > 0 {
					b.WriteString(", ")
				}
				b.WriteString(t.String())
			}
			b.WriteByte(')')
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Msg)
	if e.Cause != nil {
		if e.Msg != "" {
			b.WriteString(": ")
		}
		b.WriteString(e.Cause.Error())
	}
	if e.Device != "" {
		fmt.Fprintf(&b, " (on %s)", e.Device)
	}
	return b.String()
}

// Is reports whether target is the error's kind.
func (e *Error) Is(target error) bool { return target == e.Kind }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// AsError returns err as an *Error, wrapping it as an internal error if it is
// of another type.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Kind: ErrInternal, Cause: err}
}
