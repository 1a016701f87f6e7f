package cuda

import (
	"encoding/binary"
	"errors"

	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/cuda/driver"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/ptx"
)

// faults are words that kernels note faults in, one for each run that may note one. They
// are zero whenever a run takes one, and copied to the host when somebody asks. A round of
// the same runs takes the same words, so that its graph needs no change.
//
// The lock of the gpu guards it, but for noted and what is copied: the device goroutine
// alone asks.
type faults struct {
	words driver.Ptr // on the device
	taken []int      // the runs that have the first of them
	last  int        // the number of a run
	copy  []byte     // page-locked: what was noted
	noted driver.Event
}

// faultWords is how many there are: one for each run that is not asked about.
const faultWords = cpu.MaxUnasked + 1

func (f *faults) open(ctx *driver.Context, s driver.Stream) (err error) {
	if f.words, err = s.Alloc(8 * faultWords); err != nil {
		return err
	}
	if f.copy, err = ctx.AllocHost(8 * faultWords); err != nil {
		return err
	}
	if f.noted, err = ctx.NewEvent(); err != nil {
		return err
	}
	return s.Fill32(f.words, 0, 2*faultWords)
}

func (f *faults) close(ctx *driver.Context, s driver.Stream) error {
	return errors.Join(s.Free(f.words), ctx.FreeHost(f.copy), f.noted.Destroy())
}

// word is the one of the next run, and the number that the run would have: 0 and 0 for one
// that notes no fault.
func (f *faults) word(may bool) (at driver.Ptr, number int, err error) {
	switch {
	case !may:
		return 0, 0, nil
	case len(f.taken) == faultWords:
		return 0, 0, ir.Errorf(ir.ErrInternal, "%d runs were not asked about, expected at most %d", faultWords+1, faultWords)
	}
	return f.words + driver.Ptr(8*len(f.taken)), f.last + 1, nil
}

// took notes that a run has the word that it was given, and returns its number.
func (f *faults) took(number int) int {
	if number != 0 {
		f.last = number
		f.taken = append(f.taken, number)
	}
	return number
}

// Faults waits for the runs that may have noted a fault, and returns what they noted.
func (g *gpu) Faults() (noted []cpu.Noted, err error) {
	f := &g.faults
	var taken []int
	err = g.do(func() error {
		if taken = f.taken; len(taken) == 0 {
			return nil
		}
		f.taken = nil
		if err := g.issue(); err != nil {
			return err
		}
		if err := g.stream.CopyToHost(f.copy[:8*len(taken)], f.words); err != nil {
			return err
		}
		if err := g.stream.Fill32(f.words, 0, uint64(2*len(taken))); err != nil {
			return err
		}
		return g.stream.Record(f.noted)
	})
	if err == nil && len(taken) > 0 {
		err = g.wait(f.noted)
	}
	if err != nil {
		return nil, err
	}
	for i, run := range taken {
		if code, at := ptx.DecodeFault(binary.LittleEndian.Uint64(f.copy[8*i:])); code != kernel.NoFault {
			noted = append(noted, cpu.Noted{Run: run, Code: code, At: at})
		}
	}
	return noted, nil
}
