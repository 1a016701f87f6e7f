package backend

import (
	"context"
	"time"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// The capabilities below, and those of memory.go and mover.go, are optional: a
// client asks for them with [As], and a decorator offers those its inner backend
// has.

// Compiler is a backend that runs kernels given in the kernel IR. Fused kernels
// reach a device only through it.
type Compiler interface {
	// Compile makes a kernel ready to launch, on the goroutine of the caller and
	// without waiting for the queue. Equal kernels may share code. A kernel that
	// the generator refuses runs on the interpreter.
	Compile(k *kernel.Kernel) (Compiled, error)

	// Launch appends launches to the queue, in order with Submit. An error means
	// that nothing was queued: beside the reasons of Submit, a kernel is another
	// device's (ir.ErrDevice), or a piece does not fit its kernel, or has addresses
	// outside a tensor (ir.ErrArgument, ir.ErrDType).
	Launch(ctx context.Context, launches []Launch) error
}

// Compiled is a kernel that a Compiler made ready. Release returns its code once
// queued launches of it are done.
type Compiled interface {
	Kernel() *kernel.Kernel
	// Generated reports whether the kernel became code of the device; false
	// means that it is interpreted.
	Generated() bool
	Release()
}

// ByEngine is a [Compiled] that may be computed by something else than code of the device's
// own, such as a vendor's library.
type ByEngine interface {
	// Engine is its name, "" if the device's code computes the kernel.
	Engine() string
}

// Tiler is a compiler that tells what belongs into the kernel of a product. One that runs
// a product on packed tiles takes everything: the operands of the
// contraction are laid out in panels by what computes them, so that views, casts and
// scales before a product are evaluated once per panel element instead of once per
// product, and in any layout; what follows it is evaluated on finished tiles.
type Tiler interface {
	// Tiles reports whether the contraction of a kernel runs so where its axes have these
	// extents. It compiles nothing.
	Tiles(k *kernel.Kernel, extents []int64) bool
	// Apart reports whether a contraction of so many results is faster apart from what
	// the kernel does beside: what follows may keep the units of products waiting, or
	// they may not take the whole. It compiles nothing.
	Apart(k *kernel.Kernel, results int64) bool
}

// CodeKeeper is a compiler whose generated code can be kept and loaded by a later
// process.
type CodeKeeper interface {
	// CodeID names what generates the code: architecture, instruction set, version.
	// Code is good where the id is the same, and nowhere else. "" means none.
	CodeID() string
	// SaveCode returns the code of a kernel, nil if it has none. It may wait for the
	// device.
	SaveCode(ctx context.Context, k Compiled) ([]byte, error)
	// LoadCode makes a kernel of code that SaveCode gave for an equal one. The code
	// is executed as it is: the caller vouches for it.
	LoadCode(k *kernel.Kernel, code []byte) (Compiled, error)
}

// ImageKeeper is a compiler that makes machine code of texts of its own, several for a
// kernel and some for nodes, whose code can be kept and loaded by a later process.
type ImageKeeper interface {
	// SaveImages returns the code of what the device has made and keeps, of at most limit
	// bytes. It waits for queued work, and that which comes meanwhile waits.
	SaveImages(ctx context.Context, limit int64) (SavedImages, error)
	// LoadImages takes images that SaveImages gave, so that what they are of need not be
	// compiled. Those that are damaged, or not good here, are left: taken counts the
	// others, and the error says why for the first. The code is executed as it is: the
	// caller vouches for it.
	LoadImages(images [][]byte) (taken int, err error)
}

// SavedImages is the machine code of a device.
type SavedImages struct {
	// Images say what they are of and where they are good. Their order depends on their
	// texts alone.
	Images [][]byte
	Left   int   // texts without an image, for want of room or of code
	Failed error // why no code could be made, for the first such text; nil if only room lacked
}

// Warmer is a backend that makes ready beforehand what it makes for nodes that are
// submitted: so a node of a known plan waits for no compilation.
type Warmer interface {
	// Warm makes what a node will need whose operands lie in memory as given; one
	// without strides is row-major. It does not wait for the queue, and what it does
	// not know how to warm is no error.
	Warm(n *ir.Node, operands []ir.Layout) error
}

// Launch is one function: pieces that write disjoint parts of its results, in any
// order or at once. A result whose id is not known yet is allocated, row-major,
// with the type given.
//
// If a piece notes a fault that depends on data, the device runs Nodes one by one
// instead, so that each result, or its error, is what it would be unfused. If an
// operand carries an error, results get it unless Nodes tell that they do not
// depend on it. Without Nodes, each result depends on each operand. A launch
// without pieces only frees what it consumes.
type Launch struct {
	Pieces   []Piece
	Nodes    Nodes   // what the launch computes, in a legal order, intermediates included
	Also     []ir.ID // operands of Nodes that no piece reads, though results depend on them
	Consumes []ir.ID // freed once the launch has run: this was their last use
}

// Piece is one compiled kernel over its iteration space. See [kernel.Launch].
type Piece struct {
	Kernel      Compiled
	Extents     []int64
	Start, Full []int64 // of a part of a larger space; nil for a whole one
	Args        []LaunchArg
	Params      []uint64
}

// LaunchArg binds a kernel argument to a tensor of the device, which lies
// row-major: Offset and Strides count elements from its first one.
type LaunchArg struct {
	Tensor                     ir.Tensor
	Offset                     int64
	Strides                    []int64
	GatherStride, GatherExtent int64
	// Over, of a result: a tensor in Consumes whose memory the result may take if
	// nobody else owns it. The planner promises that the kernel reads each element
	// before it writes the one that takes its place. 0 for none.
	Over ir.ID
}

// Profiler is a backend that measures windows of its queue. A nil window from
// ProfileStart means: measure between two syncs instead.
type Profiler interface {
	ProfileStart() (Window, error)
}

// Window is an open measurement. End closes it in queue order and returns the
// time the device spent inside; Abandon drops it in queue order, ignores errors
// and never flushes.
type Window interface {
	End(ctx context.Context) (time.Duration, error)
	Abandon()
}

// KernelWindow is a [Window] that tells the time of each kernel inside, once End has
// returned: the one that took most time first. What a device runs beside kernels, such as
// its host's part, is in the window's time only.
type KernelWindow interface {
	Window
	Kernels() []KernelTime
}

// KernelTime is what the runs of one kernel or routine took.
type KernelTime struct {
	Name string
	Runs int64
	Time time.Duration
}

// Memory is a backend that reports and manages its memory. Counts drain the
// queue first; Cleanup bypasses it.
type Memory interface {
	MemoryUsage(ctx context.Context) (MemoryUsage, error)
	Cleanup()
}

// MemoryUsage counts bytes and tensors of a device.
type MemoryUsage struct {
	Tensors  int   // ids that are known
	InUse    int64 // bytes of live buffers
	Reserved int64 // bytes held from the system, free pools included
	Peak     int64 // largest InUse so far
	Limit    int64 // 0 if there is none
}

// Pools is a backend that cuts its memory out of pools of equal blocks.
type Pools interface {
	// PoolReport describes the pools that hold memory, once queued work is done.
	PoolReport(ctx context.Context) ([]PoolUsage, error)

	// Persistent opens a window, or closes one, behind everything queued. Tensors
	// made inside, parameters above all, get memory of their own, apart from what
	// comes and goes; it is used again inside later windows and returned by
	// Cleanup, while none is open, or Close. Windows may overlap.
	Persistent(ctx context.Context, on bool) error
}

// PoolUsage describes a pool.
type PoolUsage struct {
	Block      int64 // bytes of a block
	Persistent bool  // it serves persistent windows
	Slabs      int   // pieces of the system's memory
	Blocks     int   // in them
	Live       int   // blocks in use
	Reserved   int64 // bytes of the slabs
	Idle       int64 // bytes of slabs without a live block
}

// Capturer is a backend that records a sequence of launches and replays it.
type Capturer interface {
	CaptureStart() error
	CaptureStop() (Graph, error)
}

// Graph is a captured sequence, replayed in queue order.
type Graph interface {
	Replay() error
	Release()
}

// Collective is a backend that takes part in operations over several devices.
type Collective interface {
	Rank() int
	Ranks() int
}

// Counters are totals since a device was opened, for tests and explanations.
type Counters struct {
	Nodes, Kernels, Views, Routines, Compiled, Interpreted int64
	CacheHits, CacheMisses                                 int64

	Launches  int64 // of clients that ran, each of them one kernel
	InPlace   int64 // results that took the memory of an operand
	Reruns    int64 // launches whose nodes ran one by one, for a fault or an operand's error
	BytesRead int64 // by kernels, each argument once and no more of it than there is
	// BytesWritten counts those of results, in the same way.
	BytesWritten int64
	// KernelTime is what kernels and routines took while a window of the device was
	// open, without what leads to them; see [Profiler].
	KernelTime time.Duration
}

// Supporter is a backend that lacks operations, or dtypes or sizes of some, and
// says so beforehand. What it takes may still fail.
type Supporter interface {
	// Supports returns nil, or an error of kind [ir.ErrUnsupported] that says
	// what of the node the device lacks. It does not wait for the device.
	Supports(n *ir.Node) error
}

// Counting is a backend that counts what it does.
type Counting interface {
	Counters() Counters
}
