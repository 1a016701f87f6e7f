package cuda

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/cuda/driver"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel/ptx"
	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
)

// fakeCoder counts what it is asked for. The machine code of a text is an ELF file with
// its hash.
type fakeCoder struct {
	mu             sync.Mutex
	compiled       map[string]int
	loaded, linked int
	refuseCode     func(code []byte) error
	refuseLink     string // a text
}

func codeOf(text string) []byte {
	h := sha256.Sum256([]byte(text))
	return elf(string(h[:]))
}

func (c *fakeCoder) load(e *ptx.Entry, image []byte) (*function, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if string(image) == e.Text {
		c.compiled[e.Text]++
		return &function{}, nil
	}
	if !bytes.Equal(image, codeOf(e.Text)) {
		return nil, errors.New("code of another text")
	}
	c.loaded++
	if c.refuseCode != nil {
		if err := c.refuseCode(image); err != nil {
			return nil, err
		}
	}
	return &function{}, nil
}

func (c *fakeCoder) link(text string) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.linked++
	if text == c.refuseLink {
		return nil, errors.New("not linked")
	}
	return codeOf(text), nil
}

func fakeGPU() (*gpu, *fakeCoder) {
	c := &fakeCoder{compiled: map[string]int{}}
	return &gpu{lib: &driver.Driver{}, target: ptx.Target{Major: 9, Multiprocessors: 132}, loaded: map[string]*function{}, room: 1 << 40, coder: c}, c
}

// programs are parts with nothing loaded for them.
func programs(t *testing.T, g *gpu) (parts []cpu.Bound) {
	mem := make([]byte, 1<<16)
	for _, s := range ptxtest.Elementwise(600)[:6] {
		parts = append(parts, bound(t, g, s, mem))
	}
	clear(g.loaded)
	return parts
}

func save(t *testing.T, g *gpu, limit int64) (list [][]byte, left int, failed error) {
	t.Helper()
	s, err := g.SaveImages(t.Context(), limit)
	if err != nil {
		t.Fatal(err)
	}
	return s.Images, s.Left, s.Failed
}

const plenty = 1 << 30

// TestImages: a device that took the images of another compiles nothing that the other
// has, whether it is told of the programs beforehand or not.
func TestImages(t *testing.T) {
	g, c := fakeGPU()
	parts := programs(t, g)
	if err := g.hold(parts, 0); err != nil {
		t.Fatal(err)
	}
	n := len(c.compiled)
	list, left, failed := save(t, g, plenty)
	if len(list) != n || left != 0 || failed != nil || c.linked != n {
		t.Fatalf("%d images of %d texts, %d left, %v, %d linked", len(list), n, left, failed, c.linked)
	}
	if again, _, _ := save(t, g, plenty); c.linked != n || !slices.EqualFunc(again, list, bytes.Equal) {
		t.Errorf("saved again, %d linked of %d, or other images", c.linked, n)
	}
	for _, prepared := range []bool{false, true} {
		g, c := fakeGPU()
		parts := programs(t, g)
		if taken, err := g.LoadImages(list); taken != n || err != nil {
			t.Fatalf("%d taken of %d, %v", taken, n, err)
		}
		if c.loaded != 0 {
			t.Error("code was loaded before it was needed")
		}
		if prepared {
			g.Prepare([][]cpu.Bound{parts})
		}
		if err := g.hold(parts, 0); err != nil {
			t.Fatal(err)
		}
		if len(c.compiled) != 0 || c.loaded != n || g.stats.Images != int64(n) || g.stats.Loaded != 0 {
			t.Errorf("%d compiled, %d loaded: %+v", len(c.compiled), c.loaded, g.stats)
		}
		if again, _, _ := save(t, g, plenty); c.linked != 0 || !slices.EqualFunc(again, list, bytes.Equal) {
			t.Errorf("saved by the second device, %d linked, or other images", c.linked)
		}
	}
}

// TestImagesRefused: what does not fit or is damaged is left, and the error is that of the
// first; what the driver does not take is compiled from its text, once.
func TestImagesRefused(t *testing.T) {
	g, _ := fakeGPU()
	parts := programs(t, g)
	if err := g.hold(parts, 0); err != nil {
		t.Fatal(err)
	}
	list, _, _ := save(t, g, plenty)
	n := len(list)
	list[1] = bytes.Clone(list[1])
	list[1][imageHead+elfHead] ^= 1
	list[2] = list[2][:40]
	g, c := fakeGPU()
	parts = programs(t, g)
	taken, err := g.LoadImages(list)
	if taken != n-2 || err == nil || ir.AsError(err).Kind != ir.ErrFormat || !strings.Contains(err.Error(), "image 2 of") || !strings.Contains(err.Error(), "damaged") {
		t.Fatalf("%d taken of %d, %v", taken, n, err)
	}
	c.refuseCode = func(code []byte) error {
		if bytes.Contains(list[0], code) {
			return errors.New("not this code")
		}
		return nil
	}
	if err := g.hold(parts, 0); err != nil {
		t.Fatal(err)
	}
	if len(c.compiled) != 3 || g.stats.Loaded != 3 || g.stats.Images != int64(n-3) || g.stats.BadImages != 1 {
		t.Errorf("%d compiled: %+v", len(c.compiled), g.stats)
	}
	clear(g.loaded) // as if dropped for others
	g.age++
	if err := g.hold(parts, 0); err != nil {
		t.Fatal(err)
	}
	if g.stats.BadImages != 1 {
		t.Errorf("an image that the driver does not take is tried again: %+v", g.stats)
	}

	g, c = fakeGPU()
	parts = programs(t, g)
	if _, err := g.LoadImages(list[:1]); err != nil {
		t.Fatal(err)
	}
	c.refuseCode = func([]byte) error { return &driver.Error{Code: 2} } // out of memory, which passes
	err = g.hold(parts, 0)
	if err == nil || len(g.images.by) != 1 || len(g.refusals) != 0 {
		t.Errorf("%v, %d images, %d refusals", err, len(g.images.by), len(g.refusals))
	}

	g, _ = fakeGPU()
	g.target.Minor = 1
	if taken, err := g.LoadImages(list[:1]); taken != 0 || ir.AsError(err).Kind != ir.ErrUnsupported {
		t.Errorf("another capability: %d taken, %v", taken, err)
	}
}

// TestImagesBounds: images are left out for want of room, for a text that the linker does
// not take, and where a device keeps no more; a context ends linking.
func TestImagesBounds(t *testing.T) {
	g, c := fakeGPU()
	parts := programs(t, g)
	if err := g.hold(parts, 0); err != nil {
		t.Fatal(err)
	}
	for text := range g.loaded {
		c.refuseLink = text
		break
	}
	list, left, failed := save(t, g, plenty)
	n := len(list)
	if n == 0 || left != 1 || failed == nil || failed.Error() != "not linked" {
		t.Fatalf("%d images, %d left, %v", n, left, failed)
	}
	c.refuseLink = ""
	each := int64(len(list[0])) // all of the fake's are of one length
	if list, left, failed = save(t, g, 2*each+each/2); len(list) != 2 || left != n-1 || failed != nil {
		t.Errorf("%d images in the room of two, %d left, %v", len(list), left, failed)
	}
	g, _ = fakeGPU()
	g.images.bytes = maxImagesBytes - each // as if there were many
	taken, err := g.LoadImages(list)
	if taken != 1 || err == nil || ir.AsError(err).Kind != ir.ErrMemory {
		t.Errorf("%d taken by a full device, %v", taken, err)
	}
	g.closed = true
	if _, err := g.LoadImages(list); ir.AsError(err).Kind != ir.ErrClosed {
		t.Errorf("a closed device: %v", err)
	}
	if _, err := g.SaveImages(t.Context(), plenty); ir.AsError(err).Kind != ir.ErrClosed {
		t.Errorf("a closed device: %v", err)
	}
	g, _ = fakeGPU()
	parts = programs(t, g)
	if err := g.hold(parts, 0); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.SaveImages(ctx, plenty); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
