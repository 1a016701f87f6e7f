package cpu

import (
	"context"

	"github.com/sinter-go/sinter/backend"
)

// imageKeeper asks an accelerator for its machine code on the device goroutine, so that
// whatever was queued has been compiled, and closing the device waits.
type imageKeeper struct {
	d *Device
	a backend.ImageKeeper
}

func (k imageKeeper) SaveImages(ctx context.Context, limit int64) (backend.SavedImages, error) {
	type answer struct {
		saved backend.SavedImages
		err   error
	}
	done := make(chan answer, 1)
	if err := k.d.do(ctx, func() {
		saved, err := k.a.SaveImages(ctx, limit)
		done <- answer{saved, err}
	}); err != nil {
		return backend.SavedImages{}, err
	}
	a := <-done
	return a.saved, a.err
}

func (k imageKeeper) LoadImages(images [][]byte) (taken int, err error) {
	if k.d.q.isClosed() {
		return 0, errClosed
	}
	return k.a.LoadImages(images)
}
