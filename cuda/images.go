package cuda

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cuda/driver"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel/ptx"
)

// coder makes code of entries: the driver, but in tests. Any goroutine may call it.
type coder interface {
	// load makes an entry ready from its text, which is compiled, or from machine code.
	load(e *ptx.Entry, image []byte) (*function, error)
	// link compiles a text, and returns its machine code.
	link(text string) ([]byte, error)
}

// driverCoder is the driver.
type driverCoder struct{ ctx *driver.Context }

func (c driverCoder) link(text string) (code []byte, err error) {
	err = c.ctx.Do(func() (err error) {
		code, err = c.ctx.Link([]byte(text))
		return err
	})
	return code, err
}

// images is machine code by the text that it was made of. An entry whose text is there is
// loaded from it, not compiled. Any goroutine may call its methods.
type images struct {
	mu    sync.Mutex
	by    map[textHash]*image
	bytes int64 // of code
}

// maxImagesBytes bounds the code that a device keeps, beside the number of its functions.
const maxImagesBytes = 256 << 20

// find is the image of a text, nil if there is none.
func (s *images) find(text string) *image {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.by) == 0 { // do not hash what cannot be there
		return nil
	}
	return s.by[sha256.Sum256([]byte(text))]
}

// add keeps an image. That of a text that has one is left.
func (s *images) add(x *image) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by[x.text] != nil {
		return nil
	}
	if n := int64(len(x.code)); s.bytes+n > maxImagesBytes || len(s.by) >= maxLoaded {
		return ir.Errorf(ir.ErrMemory, "%d bytes of code beside %d images of %d bytes, at most %d of %d are kept",
			n, len(s.by), s.bytes, maxLoaded, maxImagesBytes)
	}
	if s.by == nil {
		s.by = map[textHash]*image{}
	}
	s.by[x.text] = x
	s.bytes += int64(len(x.code))
	return nil
}

func (s *images) drop(x *image) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by[x.text] == x {
		delete(s.by, x.text)
		s.bytes -= int64(len(x.code))
	}
}

// entryMade is an entry that was loaded, or could not be.
type entryMade struct {
	f                   *function
	fromImage, badImage bool
	err                 error
}

// makeEntry loads an entry from its image if there is one. Otherwise the driver compiles
// it, as it does if it does not take the image, which is dropped. Any goroutine may.
func (g *gpu) makeEntry(e *ptx.Entry) (m entryMade) {
	if x := g.images.find(e.Text); x != nil {
		if m.f, m.err = g.coder.load(e, x.code); m.err == nil || lacksMemory(m.err) {
			m.fromImage = true
			return m
		}
		g.images.drop(x)
		m.badImage = true
	}
	m.f, m.err = g.coder.load(e, []byte(e.Text))
	return m
}

// keep notes what became of an entry. mu is held.
func (g *gpu) keep(e *ptx.Entry, m entryMade) {
	if m.badImage {
		g.stats.BadImages++
	}
	switch {
	case m.err != nil:
		g.remember(e, m.err)
		return
	case m.fromImage:
		g.stats.Images++
	default:
		g.stats.Loaded++
	}
	g.loaded[e.Text] = m.f
}

var _ backend.ImageKeeper = (*gpu)(nil)

// SaveImages links the texts of the functions that are loaded, on all processors, unless
// their code is there. The driver does not give out the code of a module.
func (g *gpu) SaveImages(ctx context.Context, limit int64) (backend.SavedImages, error) {
	var out backend.SavedImages
	g.mu.Lock()
	err := g.unusable()
	texts := map[textHash]string{}
	var order []textHash
	for text := range g.loaded {
		h := textHash(sha256.Sum256([]byte(text)))
		texts[h] = text
		order = append(order, h)
	}
	g.mu.Unlock()
	if err != nil {
		return out, err
	}
	slices.SortFunc(order, func(a, b textHash) int { return bytes.Compare(a[:], b[:]) })
	found, errs := make([]*image, len(order)), make([]error, len(order))
	parallel(len(order), func(i int) {
		if ctx.Err() == nil {
			found[i], errs[i] = g.imageOf(order[i], texts[order[i]])
		}
	})
	if err := ctx.Err(); err != nil {
		return out, &ir.Error{Kind: ir.ErrCancelled, Msg: "linking kernels", Device: g.id, Cause: err}
	}
	for i, x := range found {
		if errs[i] != nil {
			out.Left++
			if out.Failed == nil {
				out.Failed = errs[i]
			}
			continue
		}
		b := x.appendTo(nil)
		if limit -= int64(len(b)); limit < 0 {
			limit += int64(len(b)) // a shorter one may fit
			out.Left++
			continue
		}
		out.Images = append(out.Images, b)
	}
	return out, nil
}

// imageOf is the image of a text that is loaded.
func (g *gpu) imageOf(h textHash, text string) (*image, error) {
	if x := g.images.find(text); x != nil {
		return x, nil
	}
	code, err := g.coder.link(text)
	if err != nil {
		return nil, err
	}
	if err := checkCode(code); err != nil {
		return nil, err
	}
	x := &image{text: h, major: uint32(g.target.Major), minor: uint32(g.target.Minor), driver: uint32(g.lib.Version()), code: code}
	_ = g.images.add(x) // where there is room, whoever saves again need not link again
	return x, nil
}

// LoadImages keeps images for the entries that will need them.
func (g *gpu) LoadImages(list [][]byte) (taken int, err error) {
	g.mu.Lock()
	unusable := g.unusable()
	g.mu.Unlock()
	if unusable != nil {
		return 0, unusable
	}
	for i, b := range list {
		x, e := readImage(b)
		if e == nil {
			e = x.fits(g.target, g.lib.Version())
		}
		if e == nil {
			e = g.images.add(x)
		}
		if e == nil {
			taken++
		} else if err == nil {
			err = fmt.Errorf("image %d of %d: %w", i+1, len(list), e)
		}
	}
	return taken, err
}
