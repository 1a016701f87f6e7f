package cuda_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/cuda"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/kernel/ptx"
)

// accelerated offers what a device with an accelerator can, as [cuda.Device] does.
type accelerated struct{ *cpu.Device }

func (d *accelerated) As(target any) bool { return d.AsAccelerated(target) }

// imageTexts is an accelerator whose texts are their own machine code.
type imageTexts struct {
	texts
	taken map[string]bool
}

func (x *imageTexts) SaveImages(ctx context.Context, limit int64) (backend.SavedImages, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out backend.SavedImages
	for _, text := range slices.Sorted(maps.Keys(x.entries)) {
		if limit -= int64(len(text)); limit < 0 {
			out.Left++
			continue
		}
		out.Images = append(out.Images, []byte(text))
	}
	return out, nil
}

func (x *imageTexts) LoadImages(images [][]byte) (taken int, err error) {
	for i, b := range images {
		if !bytes.HasPrefix(b, []byte(".version")) {
			err = fmt.Errorf("image %d is no text", i)
			continue
		}
		x.taken[string(b)] = true
		taken++
	}
	return taken, err
}

// TestBundleImages: a bundle of a device that compiles texts has the code of those that
// ran, which another device gets if it is trusted, and not otherwise.
func TestBundleImages(t *testing.T) {
	if testing.Short() {
		t.Skip("it trains three times")
	}
	open := func(a cpu.Accelerator) *sinter.Device {
		d, err := cpu.New(cpu.Options{Accelerator: a, ID: "texts"})
		if err != nil {
			t.Fatal(err)
		}
		dev := sinter.NewRuntime().Adopt(&accelerated{d})
		t.Cleanup(func() { dev.Close() })
		return dev
	}
	fresh := func() *imageTexts {
		return &imageTexts{texts{target: ptx.Target{Major: 9}, entries: map[string]*ptx.Entry{}}, map[string]bool{}}
	}
	save := func(d *sinter.Device, opts ...fusion.PlanOption) ([]byte, fusion.SavedPlans) {
		var b bytes.Buffer
		saved, err := sinter.SaveBundle(d, &b, opts...)
		if err != nil {
			t.Fatal(err)
		}
		return b.Bytes(), saved
	}
	first := fresh()
	dev := open(first)
	want, err := trainSmall(t, dev)
	if err != nil {
		t.Fatal(err)
	}
	bundle, saved := save(dev, fusion.WithCode())
	if n := len(first.entries); n == 0 || saved.Images != n || saved.NoImage != 0 || saved.Refused != nil {
		t.Fatalf("%+v of %d texts", saved, n)
	}
	if b, s := save(dev); s.Images != 0 || bytes.Contains(b, []byte(".version")) {
		t.Errorf("code that nobody asked for: %+v", s)
	}
	room := int64(len(bundle)-200) + 64<<10 // a header counts as much
	if b, s := save(dev, fusion.WithCode(), fusion.WithMaxBytes(room)); s.Images == 0 || s.Images+s.NoImage != saved.Images || s.NoImage == 0 || int64(len(b)) > room {
		t.Errorf("in %d bytes %d: %+v", room, len(b), s)
	}

	second := fresh()
	dev = open(second)
	loaded, err := sinter.LoadBundle(dev, bytes.NewReader(bundle), fusion.WithTrustedCode())
	if err != nil || loaded.Refused != nil || loaded.Images != saved.Images || loaded.Plans != saved.Plans {
		t.Fatalf("%+v of %+v, %v", loaded, saved, err)
	}
	got, err := trainSmall(t, dev)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Error("the parameters differ")
	}
	if err := dev.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	for text, e := range second.entries {
		if !second.taken[text] {
			t.Errorf("%s runs, and the bundle has no code of it", e.Name)
		}
	}

	third := fresh()
	dev = open(third)
	if loaded, err := sinter.LoadBundle(dev, bytes.NewReader(bundle)); err != nil || loaded.Images != 0 || len(third.taken) != 0 || loaded.Plans != saved.Plans {
		t.Errorf("without trust: %+v, %v", loaded, err)
	}
	var refused *fusion.PlansRefused
	dev = open(&texts{target: ptx.Target{Major: 9}, entries: map[string]*ptx.Entry{}})
	if loaded, err := sinter.LoadBundle(dev, bytes.NewReader(bundle), fusion.WithTrustedCode()); err != nil ||
		!errors.As(loaded.Refused, &refused) || refused.Reason != fusion.PlansImages || !strings.Contains(refused.Error(), "takes no images") {
		t.Errorf("a device without images: %+v, %v", loaded, err)
	}
	for text := range first.entries {
		first.entries["no text"] = first.entries[text]
		break
	}
	bundle, _ = save(open(first), fusion.WithCode()) // whose accelerator has run already
	dev = open(third)
	if loaded, err := sinter.LoadBundle(dev, bytes.NewReader(bundle), fusion.WithTrustedCode()); err != nil || loaded.Images != saved.Images ||
		!errors.As(loaded.Refused, &refused) || refused.Reason != fusion.PlansImages || !strings.Contains(refused.Error(), "is no text") {
		t.Errorf("an image that is none: %+v, %v", loaded, err)
	}
	for _, cut := range []int{len(bundle) - 1, len(bundle) / 2, 100} {
		if _, err := sinter.LoadBundle(dev, bytes.NewReader(bundle[:cut]), fusion.WithTrustedCode()); !errors.As(err, &refused) || refused.Reason != fusion.PlansDamaged {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
}

// TestBundleOnGPU: a GPU that took the code of a bundle trains without the driver's
// compiler, and has the same parameters.
func TestBundleOnGPU(t *testing.T) {
	run := func(bundle []byte) (params [][]float32, made []byte, stats cuda.Stats) {
		d := open(t, cuda.Options{})
		dev := sinter.NewRuntime().Adopt(d)
		defer dev.Close()
		if bundle != nil {
			loaded, err := sinter.LoadBundle(dev, bytes.NewReader(bundle), fusion.WithTrustedCode())
			if err != nil || loaded.Refused != nil || loaded.Images == 0 {
				t.Fatalf("%+v, %v", loaded, err)
			}
		}
		params, err := trainSmall(t, dev)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		saved, err := sinter.SaveBundle(dev, &b, fusion.WithCode())
		if err != nil || saved.NoImage != 0 || saved.Refused != nil {
			t.Fatalf("%+v, %v", saved, err)
		}
		return params, b.Bytes(), d.Stats()
	}
	want, bundle, cold := run(nil)
	got, _, warm := run(bundle)
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Error("the parameters differ")
	}
	if warm.Images == 0 || warm.BadImages != 0 || warm.Loaded != 0 {
		t.Errorf("%+v after %+v", warm, cold)
	}
}
