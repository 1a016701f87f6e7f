package cpu

import (
	"fmt"
	"runtime"

	"github.com/sinter-go/sinter/cpu/tune"
	"github.com/sinter-go/sinter/ir"
)

// Generator says how kernels become code.
type Generator string

// The generators. Auto takes the widest that the processor has.
const (
	Auto      Generator = "auto"
	Interpret Generator = "interp"
	AVX2      Generator = "avx2"
	AVX512    Generator = "avx512"
)

// Options configure a device. The zero value is ready to use.
type Options struct {
	ID        string             // of the device, "cpu" by default
	Generator Generator          // Auto by default
	Threads   int                // that one kernel may use; GOMAXPROCS by default
	QueueOps  int                // operations that may wait before Submit blocks; 4096 by default
	Memory    int64              // bytes that tensors may take; unlimited by default
	Routines  map[string]Routine // of opaque rows, beside the built-in ones; see AddRoutine
	// Tuning has rankings of the choices that change speed and no bit, which the device
	// follows and Tune fills. By default it is the machine's table, which "sinter tune"
	// saves; an empty one (tune.New) stands for the defaults, as SINTER_TUNE=off does.
	Tuning *tune.Table
	// TuneIdle lets the device measure products that it meets, while it is idle, for
	// later ones of their kind. SINTER_TUNE=idle does so for all devices.
	TuneIdle bool
	// NoPacking keeps the device from keeping the second operands of products that are
	// used again and again a second time, in the order in which micro-kernels read them.
	NoPacking bool
	// Accelerator is the processor that has the tensors and runs kernels, nil for the
	// host's. The device closes it.
	Accelerator Accelerator
	// Poison is for tests of kernels and routines: memory that nobody may read is
	// filled with signalling values, and what is written around a buffer, or to one
	// that was freed, becomes an error of the next Sync, or of Close.
	Poison bool
}

func (o Options) withDefaults() (Options, error) {
	if o.ID == "" {
		o.ID = "cpu"
	}
	if o.Generator == "" {
		o.Generator = Auto
	}
	if o.Threads == 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	if o.QueueOps == 0 {
		o.QueueOps = 4096
	}
	if o.Memory == 0 {
		o.Memory = physicalMemory()
	}
	if o.Threads < 1 || o.Threads > 1024 {
		return o, ir.Errorf(ir.ErrArgument, "threads is %d, expected 1 to 1024", o.Threads)
	}
	if o.QueueOps < 1 || o.Memory < 0 {
		return o, ir.Errorf(ir.ErrArgument, "queue of %d operations, memory of %d bytes: expected positive limits", o.QueueOps, o.Memory)
	}
	if o.Accelerator != nil && o.Poison {
		return o, ir.Errorf(ir.ErrArgument, "memory of an accelerator cannot be poisoned")
	}
	switch o.Generator {
	case Auto:
		o.Generator = bestGenerator()
	case Interpret:
	case AVX2, AVX512:
		if !hasGenerator(o.Generator) {
			return o, ir.Errorf(ir.ErrUnsupported, "generator %q: this processor or target does not have it", o.Generator)
		}
	default:
		return o, ir.Errorf(ir.ErrArgument, "generator %q, expected auto, interp, avx2 or avx512", o.Generator)
	}
	return o, nil
}

// String returns the options as text.
func (o Options) String() string {
	return fmt.Sprintf("id=%s generator=%s threads=%d queue=%d memory=%d", o.ID, o.Generator, o.Threads, o.QueueOps, o.Memory)
}
