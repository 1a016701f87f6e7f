package router

import (
	"time"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// Member is a backend behind a router.
type Member struct {
	// Name of the device, a text that [ParseID] reads without a path. By default
	// it is the backend's own id. For a device of another router it is the name
	// of that router, and the device's id keeps its path: name/cpu.
	Name    string
	Backend backend.Backend
}

// Rule says where an operation runs whose operands are on different devices of a
// router. The operands elsewhere move there; each move is counted.
type Rule uint8

// The rules.
const (
	MixedIsError  Rule = iota // the default: an error that names both devices
	MoveToFirst               // the device of the first operand
	MoveToLargest             // that of the operand with the most bytes, the first of equals
	MoveToDefault             // the router's default device, if an operand is there; else the first operand's
)

// Options configure a router. The zero value is ready to use.
type Options struct {
	// Name goes before the ids that devices show outside of the router, in
	// [backend.Info] and thus in messages: "lab" makes the device cpu "lab/cpu".
	Name string

	// Own says that closing the router closes the members.
	Own bool

	// Mixed says what becomes of operations on operands of different devices.
	Mixed Rule

	// Place, if set, is asked for every node which member shall run it. home is
	// the id of the device on which it was recorded; "" means home as well. The
	// results belong to the device that recorded, wherever they lie. Place must
	// depend on the node alone, be quick, and not use the router.
	Place func(n *ir.Node, home string) string

	// Fallback lets a node run on another member if its own lacks the operation
	// or a dtype. FallbackOrder lists the ids to try; by default all members in
	// their order.
	Fallback      bool
	FallbackOrder []string

	// Bridges are asked, in order and before the built-in ones, to move tensors.
	Bridges []Bridge

	// Chunk is the size in bytes of the pieces in which tensors pass through the
	// host where no faster way exists; 4 MiB by default. HostBytes bounds what all
	// moves together hold on the host; 256 MiB by default. A tensor that has to
	// pass in one piece is let through alone.
	Chunk     int
	HostBytes int64

	// Operations that wait for a move are parked: at most ParkedOps of a client
	// (moves included), 8192 by default, with results of at most ParkedBytes, 4
	// GiB by default. Submit waits for room beyond that.
	ParkedOps   int
	ParkedBytes int64

	// CloseWait is how long closing a client waits for moves of other devices
	// that its work depends on, before these become errors; 10 seconds by default.
	CloseWait time.Duration
}

// defaultChunk is large enough that the cost of a piece is that of its bytes.
const defaultChunk = 4 << 20

func (o Options) withDefaults() (Options, error) {
	set := func(p *int64, v int64) {
		if *p == 0 {
			*p = v
		}
	}
	chunk, ops := int64(o.Chunk), int64(o.ParkedOps)
	set(&chunk, defaultChunk)
	set(&ops, 8192)
	set(&o.HostBytes, 256<<20)
	set(&o.ParkedBytes, 4<<30)
	if o.CloseWait == 0 {
		o.CloseWait = 10 * time.Second
	}
	o.Chunk, o.ParkedOps = int(chunk), int(ops)
	if o.Chunk < 0 || o.ParkedOps < 0 || o.HostBytes < 0 || o.ParkedBytes < 0 || o.CloseWait < 0 {
		return o, ir.Errorf(ir.ErrArgument, "router: chunk of %d bytes, %d bytes on the host, %d operations and %d bytes parked, %v to close: expected positive limits",
			o.Chunk, o.HostBytes, o.ParkedOps, o.ParkedBytes, o.CloseWait)
	}
	if o.Mixed > MoveToDefault {
		return o, ir.Errorf(ir.ErrArgument, "router: there is no rule %d for operands on different devices", o.Mixed)
	}
	if o.Name != "" {
		if _, err := ParseID(o.Name + "/x"); err != nil {
			return o, ir.Errorf(ir.ErrArgument, "router: %q is not a name", o.Name)
		}
	}
	return o, nil
}
