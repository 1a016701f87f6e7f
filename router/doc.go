// Package router makes any number of backends one: a device of a router is a
// [Client], itself a backend, and tensors move between the devices while work
// goes on.
//
//	r, err := router.New(router.Member{Backend: cpu}, router.Member{Backend: gpu})
//	c, err := r.Device("cuda:0")
//	c.Receive(ctx, other, t, id) // asynchronous; what needs id waits, nothing else
//
// Members are backends of any kind and stack, devices of other routers included.
//
// # Invariants
//
// Ids. A client names tensors by its user's ids, members know them by ids that
// the client draws from a space of its own, so that a member may be used directly
// and through several clients at once. An id is a name for a value: one or more
// replicas of a tensor on members, or an error. [Client.Alias] makes a second name
// and asks no member. A value goes from its members when no name, parked operation
// or move needs it.
//
// Order. Work is ordered by data alone. A node whose operands are on the member
// that runs it is forwarded at once. One that waits for a move is parked, its
// results are then awaited too, and it is delivered when the last operand arrives;
// parked nodes for one member go in the order of submission. Nothing waits for
// anything else: a device that is slow, or stuck, holds up what needs its tensors.
// Free, Alias and Read follow data in the same way.
//
// Moves. The source of a move stays usable and may be freed at once. A move runs
// on a goroutine of its own, through the first [Bridge] that serves the pair. The
// error of a tensor moves with it, unchanged but for a note in its Detail.
//
// Locks. A client's lock guards its ids, the router's lock guards values; they are
// taken in this order, and neither is held in a call to a member or a bridge.
//
// Bounds. Parked operations and moves are limited per client in number and bytes
// (Submit and Receive wait for room), bytes on the host per router.
//
// Failure. A member that is closed, loses its device or panics takes its own
// tensors with it: they, and what is computed from them, are errors that name
// device and reason. Tensors that were moved away live on, and so do the others.
//
// There is no seed of a device, as random numbers are functions of keys that
// operations carry; and no empty handle, as clients choose ids: an id is empty
// until work defines it.
package router
