package metamorphic

import (
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/backend/faulty"
	"github.com/sinter-go/sinter/cpu"
)

// reference is the way that says what is right: one node after the other, by the
// interpreter, on one thread, under the script of the way.
func (w Way) reference() Way {
	return Way{Name: "reference", Batch: 1, Script: w.Script, Open: func() (backend.Backend, error) {
		return openDevice(cpu.Options{Generator: cpu.Interpret, Threads: 1}, w.Script)
	}}
}

// openDevice opens a device on which things go wrong by a script, if there is one.
func openDevice(o cpu.Options, script string) (backend.Backend, error) {
	d, err := cpu.New(o)
	if err != nil || script == "" {
		return d, err
	}
	s, err := faulty.Parse(script)
	if err != nil {
		return nil, err
	}
	return faulty.New(d, s), nil
}
