package sinter

import (
	"context"
	"sync"

	"github.com/sinter-go/sinter/fusion"
)

// Stream is an ordered record of operations for one device. Recording never
// waits for results; work runs on a read, a sync, a flush, the end of a top-level
// scope, or when a budget is reached, never by a timer. It is safe for concurrent
// use.
type Stream struct {
	dev *Device
	ctx context.Context
	fs  *fusion.Stream

	constants constants

	plainOnce sync.Once
	plain     *fusion.Stream // without fusion, for scopes that ask for none
}

func newStream(d *Device, ctx context.Context) *Stream {
	s := &Stream{dev: d, ctx: ctx, fs: d.client.NewStream(ctx)}
	s.fs.Owner = s
	return s
}

// Device returns the stream's device.
func (s *Stream) Device() *Device { return s.dev }

// Cuts counts why recorded work was run.
func (s *Stream) Cuts() map[fusion.Cut]int64 { return s.fs.Cuts() }

// Flush runs what was recorded, and does not wait for it.
func (s *Stream) Flush() { s.fs.Flush() }

// unfused returns the stream of the operations of s that are not to be fused:
// what they need of s is run first.
func (s *Stream) unfused() *fusion.Stream {
	s.plainOnce.Do(func() {
		s.plain = s.dev.client.NewStream(s.ctx)
		s.plain.Owner = s
		s.plain.SetFusion(false)
	})
	return s.plain
}
