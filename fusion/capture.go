package fusion

import (
	"fmt"
	"slices"
	"sync"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// CaptureReason says why work was not captured, or a capture not replayed.
type CaptureReason string

// The reasons. Those from CaptureInput on are guards of a replay.
const (
	CaptureBusy     CaptureReason = "another capture is open"
	CaptureDevice   CaptureReason = "the device takes no kernels"
	CaptureOracle   CaptureReason = "oracle mode, or a bisection"
	CaptureRead     CaptureReason = "a tensor was read" // what follows may depend on data
	CaptureOutput   CaptureReason = "a result was not stored by the work"
	CaptureHost     CaptureReason = "data from the host, released since"
	CaptureUnlike   CaptureReason = "the rounds differ"
	CaptureInput    CaptureReason = "an input of another type or layout"
	CaptureReleased CaptureReason = "an input was released, or failed"
	CaptureArrival  CaptureReason = "an input is on its way"
)

// CaptureRefused is why work was not captured, or a capture not replayed. Nothing
// has happened then.
type CaptureRefused struct {
	Reason CaptureReason
	Detail string
}

func (e *CaptureRefused) Error() string {
	if e.Detail == "" {
		return "not captured: " + string(e.Reason)
	}
	return "not captured: " + string(e.Reason) + ": " + e.Detail
}

func refuseCapture(r CaptureReason, format string, args ...any) *CaptureRefused {
	return &CaptureRefused{r, fmt.Sprintf(format, args...)}
}

// Capture notes what a stream runs, from [Stream.StartCapture] to [Capture.Stop].
// A client has one at a time.
type Capture struct {
	s *Stream

	mu   sync.Mutex
	runs []capturedRun
	why  *CaptureRefused
}

// capturedRun is a segment as it ran.
type capturedRun struct {
	leaves []leaf // whose places are their identity; no references are held
	recs   []rec
	types  []ir.Type
	keep   []bool
	b      *bound
	cut    Cut
	places []*stored
}

// StartCapture runs what is recorded, and notes from then on what the stream runs.
func (s *Stream) StartCapture() (*Capture, error) {
	c := s.c
	switch {
	case c.compiler == nil:
		return nil, refuseCapture(CaptureDevice, "%s", c.inner.Name())
	case c.opt.Oracle || c.opt.Bisect != nil:
		return nil, refuseCapture(CaptureOracle, "")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush(CutFlush)
	k := &Capture{s: s}
	if !c.capture.CompareAndSwap(nil, k) {
		return nil, refuseCapture(CaptureBusy, "")
	}
	return k, nil
}

// noteCapture notes a segment that ran, before its results are settled.
func (c *Client) noteCapture(s *Stream, in *instance, b *bound, keep []bool, places []*stored, cut Cut) {
	k := c.capture.Load()
	if k == nil || k.s != s {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if cut == CutRead {
		k.refuse(CaptureRead, "%s", in.recs[len(in.recs)-1].site)
	}
	k.runs = append(k.runs, capturedRun{in.leaves, in.recs, in.types, keep, b, cut, places})
}

// noteRead notes that somebody reads what a value holds.
func (c *Client) noteRead() {
	if k := c.capture.Load(); k != nil {
		k.mu.Lock()
		k.refuse(CaptureRead, "")
		k.mu.Unlock()
	}
}

// refuse keeps the first reason.
func (k *Capture) refuse(r CaptureReason, format string, args ...any) {
	if k.why == nil {
		k.why = refuseCapture(r, format, args...)
	}
}

// Abandon ends the capture without a result.
func (k *Capture) Abandon() { k.s.c.capture.CompareAndSwap(k, nil) }

// Stop runs what is recorded, into the capture, and ends it. Inputs are the values
// for which a replay is given others; outputs those that it makes; keys the values of
// integer attributes (keys of random draws) and numbers the constants
// ([Stream.Constant]) that a replay is given anew. Everything else that the work reads
// is a constant of it. Inputs and outputs may have been released meanwhile; outputs
// must have been stored before that.
func (k *Capture) Stop(inputs, outputs []*Value, keys []int64, numbers []*Value) (*Launches, error) {
	s := k.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush(CutFlush)
	k.Abandon()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.why != nil {
		return nil, k.why
	}
	l := &Launches{s: s, keys: len(keys), numbers: len(numbers)}
	given, err := bindingsOf(keys, numbers)
	if err != nil {
		return nil, err
	}
	from := map[*stored]source{}
	for i, v := range inputs {
		st := v.st.Load()
		g := inputGuard{typ: *v.typ}
		if st != nil {
			if st.base == nil {
				return nil, refuseCapture(CaptureInput, "input %d failed, or is a constant", i)
			}
			g.layout, g.base = st.layout, st.base.typ
			if first, twice := from[st]; twice {
				g.same = first.at + 1
			} else {
				from[st] = source{kind: fromInput, at: int32(i)}
			}
		}
		l.inputs = append(l.inputs, g)
	}
	for i := range k.runs {
		if err := l.add(i, &k.runs[i], from, given); err != nil {
			l.Release()
			return nil, err
		}
	}
	for i, v := range outputs {
		src, ok := from[v.st.Load()]
		if !ok || v.st.Load() == nil {
			l.Release()
			return nil, refuseCapture(CaptureOutput, "output %d, %v", i, v.typ)
		}
		l.outputs = append(l.outputs, output{src, *v.typ})
		l.use(src)
	}
	read := l.read()
	for i := range l.inputs {
		if g := &l.inputs[i]; !read[i] && g.same == 0 && !slices.ContainsFunc(l.inputs, func(x inputGuard) bool { return int(x.same) == i+1 }) {
			*g = inputGuard{typ: g.typ}
		}
	}
	return l, nil
}

// sourceKind says where something comes from in a replay.
type sourceKind uint8

const (
	fromInput    sourceKind = iota // number at
	fromResult                     // result pos of segment at
	fromConstant                   // st, of which a reference is held
)

type source struct {
	kind    sourceKind
	at, pos int32
	st      *stored
}

type output struct {
	source
	typ ir.Type
}

// inputGuard is what must hold of an input: bound plans rely on it.
type inputGuard struct {
	typ, base ir.Type // base: without a dtype if the work does not read it
	layout    ir.Layout
	same      int32 // 1 + the number of an input before it that was the same value
}

// segmentReplay is a segment, ready to run again.
type segmentReplay struct {
	b      *bound
	recs   []rec
	types  []ir.Type
	leaves []source
	of     []ir.Type // of the leaves
	keep   []bool
	uses   []int32 // of the results, by later segments and outputs
	given  []boundAttr
	cut    Cut
}

// boundAttr is an attribute that is given anew: a key, or a number.
type boundAttr struct {
	rec, attr, binding int
	number             bool
}

// Bindings are what a replay is given anew, in the order of [Capture.Stop].
type Bindings struct {
	Keys    []int64
	Numbers []ir.Scalar // of the dtypes that they had
}

// given finds the bindings of a capture in what was recorded.
type given struct {
	keys    map[int64]int
	numbers map[*ir.Attr]int // by the attributes, which all uses of a constant share
}

func bindingsOf(keys []int64, numbers []*Value) (given, error) {
	g := given{make(map[int64]int, len(keys)), make(map[*ir.Attr]int, len(numbers))}
	for i, k := range keys {
		if _, twice := g.keys[k]; !twice {
			g.keys[k] = i
		}
	}
	for i, v := range numbers {
		st := v.st.Load()
		if st == nil || st.constant == nil {
			return g, refuseCapture(CaptureInput, "number %d is no constant", i)
		}
		g.numbers[&st.constant.attrs[0]] = i
	}
	return g, nil
}

// of returns which attributes of an operation are bindings.
func (g *given) of(at int, r *rec) (out []boundAttr) {
	random := r.op.Row.Effects&ir.EffectRandom != 0
	if !random && len(g.numbers) == 0 || len(r.attrs) == 0 {
		return nil
	}
	n, number := g.numbers[&r.attrs[0]]
	for j := range r.op.Row.Attrs {
		switch spec := &r.op.Row.Attrs[j]; {
		case number && spec.Kind == ir.AttrScalar:
			out = append(out, boundAttr{at, j, n, true})
		case random && spec.Kind == ir.AttrInt && spec.Binding:
			if b, ok := g.keys[r.attrs[j].Int]; ok {
				out = append(out, boundAttr{at, j, b, false})
			}
		}
	}
	return out
}

// Launches is captured work: bound plans in order, to be run again on other inputs
// without recording. It is safe for concurrent use.
type Launches struct {
	s        *Stream
	inputs   []inputGuard
	segments []segmentReplay
	outputs  []output
	keys     int // how many bindings there are
	numbers  int

	once sync.Once // of Release
}

// add adds a segment that ran.
func (l *Launches) add(at int, r *capturedRun, from map[*stored]source, anew given) error {
	g := segmentReplay{b: r.b, recs: r.recs, types: r.types, keep: r.keep, uses: make([]int32, len(r.types)), cut: r.cut}
	for _, x := range r.leaves {
		src, ok := from[x.st]
		if !ok {
			if x.st.base == nil || !x.st.base.acquire() {
				return refuseCapture(CaptureHost, "%v", *x.typ)
			}
			src = source{kind: fromConstant, st: x.st}
			from[x.st] = src
		}
		g.leaves, g.of = append(g.leaves, src), append(g.of, *x.typ)
		l.use(src)
	}
	for i, st := range r.places {
		if st != nil {
			from[st] = source{kind: fromResult, at: int32(at), pos: int32(i)}
		}
	}
	for i := range r.recs {
		g.given = append(g.given, anew.of(i, &r.recs[i])...)
	}
	l.segments = append(l.segments, g)
	return nil
}

// eachSource calls f for everything that the work reads or gives.
func (l *Launches) eachSource(f func(*source)) {
	for i := range l.segments {
		for j := range l.segments[i].leaves {
			f(&l.segments[i].leaves[j])
		}
	}
	for i := range l.outputs {
		f(&l.outputs[i].source)
	}
}

// read tells which inputs the work reads.
func (l *Launches) read() []bool {
	read := make([]bool, len(l.inputs))
	l.eachSource(func(s *source) {
		if s.kind == fromInput {
			read[s.at] = true
		}
	})
	return read
}

func (l *Launches) use(s source) {
	if s.kind == fromResult {
		l.segments[s.at].uses[s.pos]++
	}
}

// Release gives the constants of the work back. Replays then fail.
func (l *Launches) Release() {
	l.once.Do(l.release)
}

func (l *Launches) release() {
	seen := map[*stored]bool{}
	for i := range l.segments {
		for _, src := range l.segments[i].leaves {
			if src.kind == fromConstant && !seen[src.st] {
				seen[src.st] = true
				src.st.base.release()
			}
		}
	}
}

// Unlike says what keeps two captures from being the same work, as a
// [*CaptureRefused]; nil if they are. The same are plans, what they read, and all
// attributes but those that are bindings.
func (l *Launches) Unlike(o *Launches) error {
	unlike := func(format string, args ...any) error { return refuseCapture(CaptureUnlike, format, args...) }
	if len(l.segments) != len(o.segments) || len(l.inputs) != len(o.inputs) || len(l.outputs) != len(o.outputs) || l.keys != o.keys || l.numbers != o.numbers {
		return unlike("%d segments, %d inputs, %d outputs, %d draws, %d numbers; before %d, %d, %d, %d, %d",
			len(o.segments), len(o.inputs), len(o.outputs), o.keys, o.numbers,
			len(l.segments), len(l.inputs), len(l.outputs), l.keys, l.numbers)
	}
	for i := range l.inputs {
		if a, b := &l.inputs[i], &o.inputs[i]; !a.typ.Equal(b.typ) || !a.base.Equal(b.base) || !sameLayout(a.layout, b.layout) || a.same != b.same {
			return unlike("input %d is %v, before %v, or lies otherwise", i, b.typ, a.typ)
		}
	}
	for i := range l.segments {
		a, b := &l.segments[i], &o.segments[i]
		if a.b != b.b || !slices.Equal(a.keep, b.keep) || len(a.recs) != len(b.recs) || !slices.Equal(a.given, b.given) {
			return unlike("segment %d has another plan", i)
		}
		for j := range a.leaves {
			if x, y := a.leaves[j], b.leaves[j]; x != y {
				what := "another source"
				if x.kind == fromConstant && y.kind == fromConstant {
					what = "new contents from outside in each round"
				}
				return unlike("%v that segment %d reads has %s", a.of[j], i, what)
			}
		}
		for j := range a.recs {
			if at, ok := a.otherAttr(b, j); !ok {
				r := &b.recs[j]
				return unlike("%s at %s has another %s in each round", r.op.Row.Name, r.site, r.op.Row.Attrs[at].Name)
			}
		}
	}
	for i := range l.outputs {
		if l.outputs[i].source != o.outputs[i].source {
			return unlike("output %d has another source", i)
		}
	}
	return nil
}

// otherAttr compares the attributes of an operation, but for bindings.
func (g *segmentReplay) otherAttr(o *segmentReplay, i int) (attr int, same bool) {
	a, b := g.recs[i].attrs, o.recs[i].attrs
	for j := range a {
		bound := false
		for _, k := range g.given {
			bound = bound || k.rec == i && k.attr == j
		}
		if !bound && (a[j].Kind != b[j].Kind || a[j].Int != b[j].Int || a[j].Bits != b[j].Bits || !slices.Equal(a[j].List, b[j].List)) {
			return j, false
		}
	}
	return 0, true
}

func sameLayout(a, b ir.Layout) bool {
	return a.Offset == b.Offset && slices.Equal(a.Strides, b.Strides)
}

// passCapturer captures by the inner backend: what is recorded is run before a
// capture opens, into it before it closes, and before a replay.
type passCapturer struct {
	c     *Client
	inner backend.Capturer
}

func (p passCapturer) CaptureStart() error {
	p.c.flush(CutFlush)
	return p.inner.CaptureStart()
}

func (p passCapturer) CaptureStop() (backend.Graph, error) {
	p.c.flush(CutFlush)
	g, err := p.inner.CaptureStop()
	if err != nil {
		return nil, err
	}
	return passGraph{p.c, g}, nil
}

type passGraph struct {
	c *Client
	backend.Graph
}

func (g passGraph) Replay() error {
	g.c.flush(CutFlush)
	return g.Graph.Replay()
}
