package fusion

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/internal/wire"
	"github.com/sinter-go/sinter/ir"
)

// PlanOption configures [Client.SavePlans] and [Client.LoadPlans].
type PlanOption func(*planFile)

// WithCode also saves the machine code of kernels, where the device gives it out
// ([backend.CodeKeeper], [backend.ImageKeeper]): on a GPU, what the driver made of the
// texts that it was given so far, which takes it as long again, on all processors. It is
// of use only to [WithTrustedCode].
func WithCode() PlanOption { return func(f *planFile) { f.code = true } }

// WithTrustedCode lets LoadPlans run the machine code of a file, if it was generated
// by the same generator for the same instruction set, and on a GPU by no later driver
// for the same compute capability; without it, kernels are compiled from their IR.
//
// The code is executed as it is, with all rights of the process, and the hash in the
// file protects against accidents only. Trust nothing but a file that the program's
// own build made and that nobody else could write, such as one embedded by go:embed.
func WithTrustedCode() PlanOption { return func(f *planFile) { f.trusted = true } }

// WithMaxBytes bounds the file: SavePlans leaves out the plans used longest ago,
// LoadPlans refuses a larger one. The default is 64 MB.
func WithMaxBytes(n int64) PlanOption { return func(f *planFile) { f.limit = n } }

// WithRows gives LoadPlans the custom operations that plans may use.
func WithRows(t *ir.Table) PlanOption { return func(f *planFile) { f.table = t } }

// planFile is a file of plans as it is written or read.
type planFile struct {
	c       *Client
	code    bool
	trusted bool
	limit   int64
	table   *ir.Table

	kernels [][]byte // wire forms, sorted
	codes   [][]byte // of the kernels; none, or one each
	images  [][]byte // of a backend.ImageKeeper
	byWire  map[string]int
	codeErr error // why the code is not used
	made    int   // kernels compiled by a load
	loaded  int   // kernels loaded as code
}

const defaultPlanBytes = 64 << 20

func newPlanFile(c *Client, opts []PlanOption) *planFile {
	f := &planFile{c: c, limit: defaultPlanBytes, byWire: map[string]int{}}
	for _, o := range opts {
		o(f)
	}
	return f
}

// SavedPlans says what a file holds.
type SavedPlans struct {
	Plans   int   // one per set of sizes
	Kernels int   // that they use
	Code    int   // of them with machine code
	Images  int   // of machine code that belongs to no single kernel ([backend.ImageKeeper])
	Skipped int   // plans left out: too many bytes, or an optimization without state
	Bytes   int64 // written

	NoImage int   // texts that the device has compiled and of which the file has no image
	Refused error // why, for the first that could not be made; nil if only bytes lacked
}

// LoadedPlans says what became of a file.
type LoadedPlans struct {
	Plans    int   // ready to run
	Known    int   // the client had them already
	Compiled int   // kernels compiled from their IR
	Code     int   // kernels loaded as machine code
	Images   int   // of machine code that the device took, and loads when it needs them
	Refused  error // of the first plan, or of the code, that was not taken; nil if all were
}

// SavePlans writes the plans that the client keeps: what they are found by, in a
// form that does not depend on the process, their blocks, what later reads taught,
// and the kernels. A client of the same build over an equal device reads them with
// LoadPlans and then runs the same work without a search. Values are not written,
// but for scalars in attributes; the users' lines are.
func (c *Client) SavePlans(w io.Writer, opts ...PlanOption) (SavedPlans, error) {
	f := newPlanFile(c, opts)
	if c.compiler == nil {
		return SavedPlans{}, ir.Errorf(ir.ErrUnsupported, "device %s takes no kernels: there are no plans", c.info.ID)
	}
	var rep SavedPlans
	structures := map[string]int{}
	var list, entries [][]byte
	size := int64(0)
	for _, e := range c.snapshot() {
		b, n, skipped := f.entry(e, structures, &list)
		rep.Skipped += skipped
		if n == 0 {
			continue
		}
		grown := int64(len(b))
		for _, s := range list {
			grown += int64(len(s))
		}
		for wire := range f.byWire {
			grown += int64(len(wire))
		}
		if size+grown > f.limit-maxPlanHeader {
			rep.Skipped += n
			continue
		}
		size += int64(len(b))
		rep.Plans += n
		entries = append(entries, b)
	}
	f.sortKernels()
	rep.Kernels = len(f.kernels)
	if f.code {
		if err := f.collectCode(); err != nil {
			return SavedPlans{}, err
		}
		left := f.limit - maxPlanHeader - size
		for _, b := range append(slices.Clone(f.kernels), list...) {
			left -= int64(len(b))
		}
		for i, b := range f.codes {
			if left -= int64(len(b)); left < 0 {
				f.codes[i] = nil
			} else if len(b) > 0 {
				rep.Code++
			}
		}
		if err := f.collectImages(max(left, 0), &rep); err != nil {
			return SavedPlans{}, err
		}
	}
	var body planWriter
	for _, section := range [][][]byte{f.kernels, f.codes, f.images, list, entries} {
		body.int(len(section))
		for _, b := range section {
			body.bytes(b)
		}
	}
	head := f.header(body.b)
	n, err := w.Write(append(head, body.b...))
	rep.Bytes = int64(n)
	return rep, err
}

// savedEntry is a copy of what the cache knows of a path.
type savedEntry struct {
	demand   []bool
	variants []variant
	used     int64
}

// snapshot copies what is kept, the last used first.
func (c *Client) snapshot() []savedEntry {
	c.cache.mu.Lock()
	defer c.cache.mu.Unlock()
	var out []savedEntry
	for _, l := range c.cache.entries {
		for _, e := range l {
			s := savedEntry{demand: slices.Clone(e.demand), used: e.used}
			for _, v := range e.variants {
				s.variants = append(s.variants, variant{v.keep, v.dies, slices.Clone(v.bound)})
			}
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b savedEntry) int { return int(b.used - a.used) })
	return out
}

func (f *planFile) sortKernels() {
	for wire := range f.byWire {
		f.kernels = append(f.kernels, []byte(wire))
	}
	slices.SortFunc(f.kernels, func(a, b []byte) int { return slices.Compare(a, b) })
	for i, wire := range f.kernels {
		f.byWire[string(wire)] = i
	}
}

// collectCode asks the device for the code of the kernels.
func (f *planFile) collectCode() error {
	keeper, ok := backend.As[backend.CodeKeeper](f.c.inner)
	if !ok || keeper.CodeID() == "" {
		return nil
	}
	f.codes = make([][]byte, len(f.kernels))
	ks := &f.c.kernels
	ks.mu.Lock()
	var all []*Kernel
	for _, k := range ks.found {
		all = append(all, k.k)
	}
	ks.mu.Unlock()
	for _, k := range all {
		i, ok := f.byWire[string(k.Code.Kernel().AppendWire(nil))]
		if !ok {
			continue
		}
		code, err := keeper.SaveCode(context.Background(), k.Code)
		if err != nil {
			return err
		}
		f.codes[i] = code
	}
	return nil
}

// collectImages asks the device for machine code that belongs to no single kernel, of at
// most left bytes with the count that stands before each.
func (f *planFile) collectImages(left int64, rep *SavedPlans) error {
	keeper, ok := backend.As[backend.ImageKeeper](f.c.inner)
	if !ok {
		return nil
	}
	const perImage = binary.MaxVarintLen64
	saved, err := keeper.SaveImages(context.Background(), left)
	if err != nil {
		return err
	}
	for _, b := range saved.Images {
		if need := int64(len(b)) + perImage; need <= left && len(f.images) < maxPlanParts {
			left -= need
			f.images = append(f.images, b)
		}
	}
	rep.Images, rep.Refused = len(f.images), saved.Failed
	rep.NoImage = saved.Left + len(saved.Images) - len(f.images)
	return nil
}

// loadImages hands the images of a file to the device, where they are trusted.
func (f *planFile) loadImages() (taken int) {
	if !f.trusted || len(f.images) == 0 {
		return 0
	}
	keeper, ok := backend.As[backend.ImageKeeper](f.c.inner)
	if !ok {
		f.codeErr = &PlansRefused{Reason: PlansImages, Cause: ir.Errorf(ir.ErrUnsupported, "device %s takes no images", f.c.info.ID)}
		return 0
	}
	taken, err := keeper.LoadImages(f.images)
	if err != nil {
		f.codeErr = &PlansRefused{Reason: PlansImages, Cause: err}
	}
	return taken
}

// LoadPlans reads plans that SavePlans wrote, beside those that the client has. A
// file of another build, operation table, kind of device or set of options is
// refused as a whole with a [*PlansRefused] before its content is read; so is one
// that is damaged. The report tells of single plans that were not taken.
//
// A file decides how work is cut into kernels, never what is computed: every plan is
// laid out and its kernels are built anew, and compared with the file. So a hostile
// file may cost time and bounded memory, no more, unless its code is trusted
// ([WithTrustedCode]) or a fuser's Restore does as it says.
func (c *Client) LoadPlans(r io.Reader, opts ...PlanOption) (LoadedPlans, error) {
	f := newPlanFile(c, opts)
	var rep LoadedPlans
	if c.compiler == nil {
		return rep, ir.Errorf(ir.ErrUnsupported, "device %s takes no kernels: there are no plans", c.info.ID)
	}
	body, err := f.read(r)
	if err != nil {
		return rep, err
	}
	p := planReader{wire.Reader{B: body}}
	sections := [5][][]byte{}
	for i := range sections {
		for n := p.Count("parts", maxPlanParts, 1); n > 0 && p.Err == nil; n-- {
			sections[i] = append(sections[i], p.bytes("part"))
		}
	}
	f.kernels, f.codes, f.images = sections[0], sections[1], sections[2]
	structures, entries := sections[3], sections[4]
	if len(f.codes) > 0 && len(f.codes) != len(f.kernels) {
		p.Fail("%d pieces of code for %d kernels", len(f.codes), len(f.kernels))
	}
	p.End()
	if p.Err != nil {
		return rep, refusedContent(p.Err)
	}
	for i, wire := range f.kernels {
		f.byWire[string(wire)] = i
	}
	note := func(err error) {
		if rep.Refused == nil {
			rep.Refused = err
		}
	}
	for i, b := range entries {
		if c.full() { // a hostile file may have many entries
			note(&PlansRefused{Reason: PlansStale, Cause: fmt.Errorf("the client keeps no more than %d plans", c.opt.Plans)})
			break
		}
		list, demand, err := f.readEntry(b, structures)
		if err != nil {
			return rep, refusedContent(fmt.Errorf("entry %d: %w", i, err))
		}
		for _, s := range list {
			switch fresh, err := f.restore(s, demand); {
			case reasonIs(err, PlansContent):
				return rep, err
			case err != nil:
				note(fmt.Errorf("entry %d: %w", i, err))
			case fresh:
				rep.Plans++
			default:
				rep.Known++
			}
		}
	}
	rep.Compiled, rep.Code, rep.Images = f.made, f.loaded, f.loadImages()
	if f.codeErr != nil {
		note(f.codeErr)
	}
	return rep, nil
}
