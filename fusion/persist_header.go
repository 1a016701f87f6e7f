package fusion

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/internal/wire"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// The head of a file of plans: magic, length of the header, header, SHA-256 of the
// header and the body; then the body.
const (
	planMagic     = "SNTPLAN1"
	maxPlanHeader = 64 << 10
	maxPlanParts  = 1 << 16

	// planVersion is the version of the body, and of what the planner makes: it
	// changes with either.
	planVersion = 2
)

// PlansReason says what of a file of plans does not fit.
type PlansReason string

// The reasons for which plans are refused.
const (
	PlansNoFile     PlansReason = "no file of plans"
	PlansDamaged    PlansReason = "damaged"       // cut, or the hash differs
	PlansTooLarge   PlansReason = "too large"     // see [WithMaxBytes]
	PlansBuild      PlansReason = "another build" // of the planner, or its version
	PlansOperations PlansReason = "another operation table"
	PlansKernels    PlansReason = "another kernel IR"
	PlansArch       PlansReason = "another architecture"
	PlansDevice     PlansReason = "another kind of device"
	PlansOptions    PlansReason = "other options of the planner"
	PlansContent    PlansReason = "malformed content"
	PlansStale      PlansReason = "a plan that does not hold here"
	PlansCode       PlansReason = "code of another generator"      // the plans are taken, their code is not
	PlansImages     PlansReason = "machine code that is not taken" // likewise; the other images are taken
)

// PlansRefused is why a file of plans, or a part of it, was not taken.
type PlansRefused struct {
	Reason    PlansReason
	Got, Want string // versions, where they differ
	Cause     error
}

func (e *PlansRefused) Error() string {
	s := "plans refused: " + string(e.Reason)
	if e.Got != "" || e.Want != "" {
		s += fmt.Sprintf(": got %.80q, expected %.80q", e.Got, e.Want)
	}
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns the cause and [ir.ErrFormat].
func (e *PlansRefused) Unwrap() []error {
	if e.Cause == nil {
		return []error{ir.ErrFormat}
	}
	return []error{ir.ErrFormat, e.Cause}
}

func refusedContent(err error) error { return &PlansRefused{Reason: PlansContent, Cause: err} }

// identity are the versions that a file must match, in order.
func (f *planFile) identity() []struct {
	reason PlansReason
	is     string
} {
	o := f.c.planner.Options
	options := fmt.Sprintf("unfused=%v alone=%v in-place=%v nodes=%d pieces=%d attempts=%d bisect=%v", o.Unfused, o.Alone != nil, !o.NoInPlace,
		o.maxNodes(), o.maxPieces(), orDefault(o.MaxAttempts, 24), f.c.opt.Bisect != nil)
	for _, x := range f.c.planner.Fusers {
		options += " fuser=" + x.Name()
	}
	return []struct {
		reason PlansReason
		is     string
	}{
		{PlansBuild, fmt.Sprintf("%d %s", planVersion, moduleVersion())},
		{PlansOperations, tableFingerprint()},
		{PlansKernels, fmt.Sprint(kernel.WireVersion)},
		{PlansArch, runtime.GOARCH},
		{PlansDevice, f.c.inner.Name() + " " + f.c.info.Kind},
		{PlansOptions, options},
	}
}

// moduleVersion is the version of this module in the program, with its checksum;
// "devel" in the module itself, where planVersion and the comparison of kernels have
// to do.
var moduleVersion = sync.OnceValue(func() string {
	const path = "github.com/sinter-go/sinter"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, d := range info.Deps {
		if d.Path == path {
			if d.Replace != nil {
				d = d.Replace
			}
			return d.Version + " " + d.Sum
		}
	}
	return "devel"
})

// tableFingerprint is the hash of all that rows of the table say in data.
var tableFingerprint = sync.OnceValue(func() string {
	h := sha256.New()
	for _, r := range ir.Rows() {
		writeRow(h, r)
	}
	return hex.EncodeToString(h.Sum(nil))
})

func writeRow(w io.Writer, r *ir.Row) {
	fmt.Fprintf(w, "%q %d %d %d %d %v %q\n", r.Name, r.Number, r.Version, r.Access, r.Effects, r.Variadic, r.Results)
	for _, o := range r.Operands {
		fmt.Fprintf(w, "  %q %d\n", o.Name, o.Class)
	}
	for _, a := range r.Attrs {
		fmt.Fprintf(w, "  %q %d %v %v\n", a.Name, a.Kind, a.Binding, a.Default)
	}
	fmt.Fprintf(w, "  %q %d\n", []string{r.Body.Any, r.Body.F32, r.Body.F64, r.Body.Int, r.Body.Bool}, r.Compute)
}

// codeID is that of the device's generator, "" if it gives no code out.
func (f *planFile) codeID() string {
	if k, ok := backend.As[backend.CodeKeeper](f.c.inner); ok {
		return k.CodeID()
	}
	return ""
}

// header writes the head of a file with the body.
func (f *planFile) header(body []byte) []byte {
	var h planWriter
	for _, v := range f.identity() {
		h.bytes([]byte(v.is))
	}
	id := ""
	if len(f.codes) > 0 {
		id = f.codeID()
	}
	h.bytes([]byte(id))
	h.int(len(body))
	out := planWriter{b: []byte(planMagic)}
	out.bytes(h.b)
	sum := sha256.New()
	sum.Write(out.b)
	sum.Write(body)
	return sum.Sum(out.b)
}

// read reads a file, checks that it is of this build and undamaged, and returns its
// body. Nothing is allocated for a length that the bytes do not bear out.
func (f *planFile) read(r io.Reader) ([]byte, error) {
	cut := func(err error) error { return &PlansRefused{Reason: PlansDamaged, Cause: err} }
	magic := make([]byte, len(planMagic))
	if n, err := io.ReadFull(r, magic); err != nil && n > 0 && strings.HasPrefix(planMagic, string(magic[:n])) {
		return nil, cut(err)
	} else if err != nil || string(magic) != planMagic {
		return nil, &PlansRefused{Reason: PlansNoFile, Got: string(magic[:n]), Want: planMagic}
	}
	size := 0
	prefix := []byte{}
	for shift := 0; ; shift += 7 {
		var b [1]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return nil, cut(err)
		}
		prefix = append(prefix, b[0])
		if size |= int(b[0]&0x7f) << shift; b[0] < 0x80 {
			break
		}
		if shift > 14 {
			return nil, refusedContent(fmt.Errorf("a header of more than %d bytes", maxPlanHeader))
		}
	}
	if size > maxPlanHeader {
		return nil, refusedContent(fmt.Errorf("a header of %d bytes, at most %d", size, maxPlanHeader))
	}
	head := make([]byte, size)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, cut(err)
	}
	h := planReader{wire.Reader{B: head}}
	for _, v := range f.identity() {
		got := h.bytes("version")
		if h.Err == nil && string(got) != v.is {
			return nil, &PlansRefused{Reason: v.reason, Got: string(got), Want: v.is}
		}
	}
	code := h.bytes("generator")
	length := h.int("length", math.MaxInt)
	h.End()
	switch {
	case h.Err != nil:
		return nil, refusedContent(h.Err)
	case int64(length) > f.limit:
		return nil, &PlansRefused{Reason: PlansTooLarge, Got: fmt.Sprint(length), Want: fmt.Sprintf("at most %d bytes", f.limit)}
	}
	var sum [sha256.Size]byte
	if _, err := io.ReadFull(r, sum[:]); err != nil {
		return nil, cut(err)
	}
	var body bytes.Buffer
	if n, err := io.CopyN(&body, r, int64(length)); err != nil {
		return nil, cut(fmt.Errorf("%d bytes of %d: %w", n, length, err))
	}
	hash := sha256.New()
	hash.Write(magic)
	hash.Write(prefix)
	hash.Write(head)
	hash.Write(body.Bytes())
	if !bytes.Equal(hash.Sum(nil), sum[:]) {
		return nil, &PlansRefused{Reason: PlansDamaged, Cause: fmt.Errorf("the hash of the content differs")}
	}
	if id := f.codeID(); f.trusted && string(code) != id {
		f.trusted = false
		f.codeErr = &PlansRefused{Reason: PlansCode, Got: string(code), Want: id}
	}
	return body.Bytes(), nil
}
