//go:build linux && (amd64 || arm64)

package driver_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/cuda/driver"
	"github.com/sinter-go/sinter/cuda/driver/drivertest"
)

// chainOf makes and launches a graph of kernels with such edges.
func chainOf(t *testing.T, fake *drivertest.Fake, edges ...driver.Edge) error {
	t.Helper()
	d, err := driver.New(fake.Find)
	if err != nil {
		t.Fatal(err)
	}
	device, err := d.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := device.Retain()
	if err != nil {
		t.Fatal(err)
	}
	return ctx.Do(func() error {
		m, err := ctx.LoadModule([]byte("text of a module"))
		if err != nil {
			return err
		}
		f, err := m.Function("kernel")
		if err != nil {
			return err
		}
		s, err := ctx.NewStream()
		if err != nil {
			return err
		}
		x, err := ctx.NewChain()
		if err != nil {
			return err
		}
		one := driver.Dim{X: 1, Y: 1, Z: 1}
		for _, e := range edges {
			if err := x.Kernel(f, one, one, 0, driver.NewParams(8), e); err != nil {
				return errors.Join(err, x.Destroy())
			}
		}
		return errors.Join(x.Ready(), x.SetKernel(0, f, one, one, 0, driver.NewParams(8)), x.Launch(s), x.Destroy())
	})
}

// TestChainEdges: each kernel of a chain follows the one before it by the edge that it was
// given, and the first follows none.
func TestChainEdges(t *testing.T) {
	const late, early = driver.Completion, driver.Programmatic
	fake := drivertest.New()
	defer fake.Close()
	for _, edges := range [][]driver.Edge{{late}, {early}, {late, late, late}, {early, early, early}, {late, early, late, early, early}} {
		if err := chainOf(t, fake, edges...); err != nil {
			t.Fatalf("%v: %v", edges, err)
		}
		for i, is := range fake.Early() {
			if want := i > 0 && edges[i] == early; is != want {
				t.Errorf("%v: kernel %d is early: %v", edges, i, is)
			}
		}
		if n := len(fake.Early()); n != len(edges) {
			t.Errorf("%v: %d kernels", edges, n)
		}
	}
}

// TestChainEdgesUnknown: a driver without programmatic edges makes chains without them, and
// says what it lacks.
func TestChainEdgesUnknown(t *testing.T) {
	fake := drivertest.New()
	defer fake.Close()
	fake.Lacks = []string{"cuGraphAddDependencies_v2"}
	if err := chainOf(t, fake, driver.Completion, driver.Completion); err != nil || slices.Contains(fake.Early(), true) {
		t.Errorf("%v, %v", fake.Early(), err)
	}
	var lacks *driver.Unavailable
	if err := chainOf(t, fake, driver.Completion, driver.Programmatic); !errors.As(err, &lacks) {
		t.Errorf("%v", err)
	}
	fake.Lacks, fake.RefuseEdges = nil, true
	var refused *driver.Error
	if err := chainOf(t, fake, driver.Completion, driver.Programmatic); !errors.As(err, &refused) || refused.Call != "cuGraphAddDependencies" || refused.Code != 801 {
		t.Errorf("%v", err)
	}
}
