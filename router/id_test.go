package router_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/router"
)

func TestIDRoundTrip(t *testing.T) {
	for _, text := range []string{"cpu", "cuda:0", "cuda:12", "name/cpu", "a/b/cuda:1", "fusion<cpu>", "x.y-z_1"} {
		id, err := router.ParseID(text)
		if err != nil || id.String() != text {
			t.Errorf("%q becomes %q, %v", text, id, err)
		}
	}
	for _, text := range []string{"", ":0", "cpu:", "cpu:01", "cpu:-1", "cpu:x", "cpu:99999999999", "/cpu", "a//b", "a/", "a b", "a:0/cpu", "cpu:0:1", "é", strings.Repeat("a", 300)} {
		if id, err := router.ParseID(text); !errors.Is(err, ir.ErrArgument) {
			t.Errorf("%q is read as %#v, %v", text, id, err)
		}
	}
}

func FuzzID(f *testing.F) {
	for _, s := range []string{"cpu", "cuda:0", "a/b/c:1", "x/", ":"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := router.ParseID(s); err == nil && id.String() != s {
			t.Errorf("%q becomes %q", s, id)
		}
	})
}

func TestDevices(t *testing.T) {
	cpu0, interp := open(t, "cpu"), open(t, "interp")
	inner := owned(t, router.Options{}, router.Member{Backend: cpu0}, named("cuda:1", interp))
	if got := inner.Name(); got != "direct<(cpu, interp)>" {
		t.Errorf("the router's name is %q", got)
	}
	members, err := inner.Members("lab")
	if err != nil {
		t.Fatal(err)
	}
	outer := owned(t, router.Options{Name: "top"}, append(members, named("cpu", open(t, "cpu")))...)
	want := []string{"lab/cpu", "lab/cuda:1", "cpu"}
	for i, id := range outer.Devices() {
		if id.String() != want[i] {
			t.Errorf("device %d is %s, want %s", i, id, want[i])
		}
		c := device(t, outer, id.String())
		if c.ID() != id || c.Info().ID != "top/"+want[i] || c != device(t, outer, id.String()) {
			t.Errorf("client of %s: %s, %s", id, c.ID(), c.Info().ID)
		}
	}
	if device(t, outer, "") != device(t, outer, "lab/cpu") || device(t, outer, "cpu:0") != device(t, outer, "cpu") {
		t.Error("the default device is not the first, or cpu:0 is not cpu")
	}
	_, err = outer.Device("cuda:1")
	if !errors.Is(err, ir.ErrDevice) || !strings.Contains(err.Error(), "lab/cpu, lab/cuda:1, cpu") {
		t.Errorf("an unknown device: %v", err)
	}
	if got := outer.Name(); got != "direct<(direct<(cpu, interp)>, direct<(cpu, interp)>, cpu)>" {
		t.Errorf("the outer router's name is %q", got)
	}

	rt := sinter.NewRuntime()
	rt.Drivers.Add("top", outer)
	for id, want := range map[string]string{"top/lab/cuda:1": "top/lab/cuda:1", "top:2": "top/cpu", "top": "top/lab/cpu"} {
		d, err := rt.Device(id)
		if err != nil || d.ID() != want {
			t.Errorf("device %s of the registry: %v, %v", id, d, err)
		}
	}
	a, _ := rt.Device("top:1")
	if b, _ := rt.Device("top/lab/cuda:1"); a != b {
		t.Error("a device has two faces")
	}
	if _, err := rt.Device("top/gpu"); !errors.Is(err, ir.ErrDevice) {
		t.Errorf("an unknown device of a router: %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	a, b := open(t, "cpu"), open(t, "cpu")
	t.Cleanup(func() { a.Close(); b.Close() })
	for name, members := range map[string][]router.Member{
		"none":        nil,
		"nil":         {{}},
		"same name":   {{Backend: a}, {Backend: b}},
		"index 0":     {named("x", a), named("x:0", b)},
		"one backend": {named("x", a), named("y", a)},
		"bad name":    {named("a b", a)},
		"path":        {named("a/b", a)},
	} {
		if _, err := router.New(members...); !errors.Is(err, ir.ErrArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, o := range []router.Options{{Chunk: -1}, {Mixed: 9}, {Name: "a b"}, {FallbackOrder: []string{"gpu"}}} {
		if _, err := o.New(named("x", a)); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}
