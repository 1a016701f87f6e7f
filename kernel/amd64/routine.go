package amd64

import (
	"unsafe"

	"github.com/sinter-go/sinter/internal/execmem"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// Routine is assembled code that is no kernel: what measures a processor.
type Routine struct{ region *execmem.Region }

// Assemble places code into executable memory, until Free. It finds one pointer in
// DI, keeps BP and uses the stack for nothing but its return address.
func Assemble(a *asm.Asm) (*Routine, error) {
	r, err := execmem.Map(a.Finish())
	if err != nil {
		return nil, err
	}
	return &Routine{r}, nil
}

// Call runs the code. It cannot be preempted: a call should take some tens of
// microseconds at most.
func (r *Routine) Call(context unsafe.Pointer) { call(r.region.Addr(), context) }

// Free returns the memory; nobody may be inside Call.
func (r *Routine) Free() { r.region.Free() }
