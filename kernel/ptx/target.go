package ptx

import "fmt"

// Target is the GPU that text is made for.
type Target struct {
	// Major and Minor are the compute capability; at least 8.0.
	Major, Minor int
	// Multiprocessors is used to decide when work is split; 0 means 132.
	Multiprocessors int
	// NoHopper leaves alone what only Hopper has, the matrix units of four warps, tensor maps
	// and clusters, for drivers that do not take their text: a device of 9.x then runs as later
	// ones do.
	NoHopper bool
	// TF32 has products of f32 on matrix units: operands are rounded to tf32, which has the
	// exponents of f32 and 10 bits behind the point, and added in f32.
	TF32 bool
	// Prefetch has thin products ask for the first of what they read of the operand with the
	// many lines before they wait for the kernel before them. Whether that is faster has not
	// been measured.
	Prefetch bool
}

// Unsupported says why a kernel or a launch is refused.
type Unsupported struct {
	Kernel string
	Reason string
}

func (e *Unsupported) Error() string {
	return fmt.Sprintf("ptx: kernel %s is not supported: %s", e.Kernel, e.Reason)
}

func (t Target) sms() int64 {
	if t.Multiprocessors > 0 {
		return int64(t.Multiprocessors)
	}
	return 132
}

// hopper reports whether products on matrix units take Hopper's own form, and attention
// its own kernels. Everywhere else products take the form of a warp, which all devices in
// use have.
func (t Target) hopper() bool { return t.Major == 9 && !t.NoHopper }

// clusters reports whether blocks run in clusters.
func (t Target) clusters() bool { return t.Major >= 9 && !t.NoHopper }

// isa is the version of the PTX language in use: the first that knows sm_90,
// so that every driver since CUDA 11.8 accepts the text.
const isa = "7.8"

// hopperISA is the version for the matrix units of Hopper, clusterISA that for what blocks
// of a cluster send each other, and MapBytes the size of a tensor map among the parameters.
const (
	hopperISA  = "8.0"
	clusterISA = "8.1"
	MapBytes   = 128
)

func (t Target) arch() string {
	// Text for sm_80 runs everywhere later; nothing in use needs more.
	if t.Major >= 9 {
		return "sm_90"
	}
	return "sm_80"
}

// shared is how much shared memory a block may have, in bytes.
func (t Target) shared() int {
	switch {
	case t.Major == 8 && (t.Minor == 0 || t.Minor == 7):
		return 163 << 10
	case t.Major == 9 || t.Major == 10:
		return 227 << 10
	}
	return 99 << 10
}
