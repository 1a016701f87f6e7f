package amd64

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// The words at the start of the context block, in bytes from DI.
const (
	wLanes      = 8 * iota // extent along the vector axis
	wRows                  // rows left to run
	wReduced               // extent of the reduced axis, when it is a loop
	wStripe                // bytes from the first to the current partial, lanes along a kept axis
	wStripeMask            // bytes of all partials, less one
	wElement               // bytes from the first to the current element of a chunk, likewise
	wTurn                  // steps since turned arguments were copied, times the lanes of all copies
	wTurnSteps             // how many steps were copied
	wTurnEnd               // where the lanes of the first step end
	wChunkLeft             // steps left in the chunk
	wMainEnd               // end of the unmasked part along the vector axis
	wLimit                 // elements that the current striped pass covers
	wChunkFrom             // the current chunk: start,
	wStripeEnd             // end of its whole stripes,
	wChunkEnd              // and end
	wGroup                 // first partial of the current group
	wChunks                // chunks done
	wLeft                  // reduced elements left
	wCount                 // lanes in use in a masked step
	wFault                 // not zero: something in the data was at fault
	wIndex                 // kernel.MaxAxes words: current logical index per axis
)

const (
	wExtent = wIndex + 8*kernel.MaxAxes  // extents of the reduced axes
	wCarry  = wExtent + 8*kernel.MaxAxes // steps left along them before the next outer one moves
	wArgs   = wCarry + 8*kernel.MaxAxes
	argSize = argWrap + 8*kernel.MaxAxes
)

// The words of one argument, relative to its place.
const (
	argPtr  = 8 * iota // where the current row begins
	argCur             // running pointer over the reduced axis
	argRow             // bytes from row to row
	argVec             // bytes along the vector axis
	argRed             // bytes along the reduced axis, when it is a loop
	argStep            // bytes along the gathered axis
	argEnd             // extent of the gathered axis
	// argWrap is kernel.MaxAxes words: the bytes back over a reduced axis and one
	// step along the next outer one.
	argWrap
)

// paramSlot is a vector that the caller fills before a call.
type paramSlot struct {
	off    int32
	typ    ir.DType
	index  int  // number of the parameter, or of the axis
	extent bool // an extent instead of a parameter
	launch bool // of the launch, not of the whole
}

// array is room for the results of the chunks of a pass.
type array struct {
	word  int32 // with its place
	size  int   // bytes per chunk, of all copies
	chunk int   // elements
	whole bool  // as many bytes per element of one chunk, and no more
}

// program is generated code and what is needed to call it.
type program struct {
	k       *kernel.Kernel
	level   Level
	code    []byte
	ctxSize int
	lanes   int
	vAxis   int // axis along which lanes run; -1: none
	uAxis   int // axis of the row loop; -1: none
	rAxis   int // innermost reduced axis, run as a loop; -1: none
	rFrom   int // outermost one
	byRows  bool
	unroll  int
	slots   []paramSlot
	buffers []int32 // words with the place of each row buffer
	arrays  []array
	block   int  // elements that take all stages at once; 0: the whole row does
	faults  bool // the code may set wFault
	cost    int  // instructions per element, roughly
}

func (g *gen) word(off int32) asm.Mem { return asm.Ptr(asm.DI, off) }

func (g *gen) argWord(arg int, field int32) asm.Mem {
	return asm.Ptr(asm.DI, wArgs+int32(arg)*argSize+field)
}

// slot reserves one vector in the context block.
func (g *gen) slot() asm.Mem { return asm.Ptr(asm.DI, g.reserve(64)) }

// reserve takes n bytes of the context block, at a multiple of 64.
func (g *gen) reserve(n int32) int32 {
	at := g.ctx
	g.ctx += (n + 63) &^ 63
	return at
}
