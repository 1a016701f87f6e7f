package sinter

import (
	"io"

	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
)

// SaveBundle writes the plans that the device has made for what ran on it so far: a
// file that a later process loads with [LoadBundle], so that it starts warm. A
// program runs its work once, keeps the file beside its source, and embeds it:
//
//	//go:embed warm.plans
//	var warm []byte
//
//	report, err := sinter.LoadBundle(device, bytes.NewReader(warm))
//
// See [fusion.Client.SavePlans] for what is in it, and [fusion.WithCode] for machine
// code.
func SaveBundle(d *Device, w io.Writer, opts ...fusion.PlanOption) (fusion.SavedPlans, error) {
	if d == nil {
		return fusion.SavedPlans{}, ir.Errorf(ir.ErrArgument, "there is no device")
	}
	if w == nil {
		return fusion.SavedPlans{}, ir.Errorf(ir.ErrArgument, "there is nothing to write the bundle to")
	}
	d.client.Flush() // what is recorded has plans too
	return d.client.SavePlans(w, opts...)
}

// LoadBundle reads plans that [SaveBundle] wrote. Work that they know runs without a
// search, and without a compilation but that of the load itself; on a GPU, whose driver
// compiles what kernels are translated to, so with [fusion.WithTrustedCode]. A bundle of another
// build of the program, kind of device, or set of options is refused as a whole with
// a [*fusion.PlansRefused], which a program may ignore: it starts cold then.
//
// A bundle changes how work is cut into kernels and never what it computes, unless
// [fusion.WithTrustedCode] runs machine code in it: see there whom to trust.
func LoadBundle(d *Device, r io.Reader, opts ...fusion.PlanOption) (fusion.LoadedPlans, error) {
	if d == nil {
		return fusion.LoadedPlans{}, ir.Errorf(ir.ErrArgument, "there is no device")
	}
	if r == nil {
		return fusion.LoadedPlans{}, ir.Errorf(ir.ErrArgument, "there is nothing to read the bundle from")
	}
	return d.client.LoadPlans(r, append([]fusion.PlanOption{fusion.WithRows(&d.runtime.Table)}, opts...)...)
}
