package metamorphic

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/router"
)

// Fusing draws a way to run a program on a fusing client: what is under it, its
// budgets, how it is used, and what goes wrong.
func Fusing(rng *rand.Rand, p *ir.Program) Way {
	dev := cpu.Options{Threads: pick(rng, 1, 1, 2, 5), Poison: rng.IntN(2) == 0,
		Generator: pick(rng, cpu.Interpret, cpu.Auto, cpu.Auto, cpu.AVX2, cpu.AVX512)}
	if d, err := cpu.New(dev); err != nil { // a generator that the processor lacks
		dev.Generator = cpu.Auto
	} else {
		_ = d.Close()
	}
	o := fusion.Options{
		Off:      rng.IntN(12) == 0,
		MaxOps:   pick(rng, 0, 0, 1, 3, 7, 20),
		MaxBytes: pick(rng, int64(0), 0, 0, 5000),
		Plans:    pick(rng, 0, 0, 1, 2, 5),
		Kernels:  pick(rng, 0, 0, 1, 4),
		Small:    pick(rng, int64(0), 64, -1),
		Oracle:   rng.IntN(12) == 0,
		Plan: fusion.PlanOptions{
			NoInPlace:   rng.IntN(4) == 0,
			Unfused:     rng.IntN(16) == 0,
			MaxNodes:    pick(rng, 0, 0, 0, 2, 5),
			MaxPieces:   pick(rng, 0, 0, 1, 3),
			MaxAttempts: pick(rng, 0, 0, 0, 1),
		},
	}
	w := Way{
		Batch:  pick(rng, 0, -1, -1, 1, 3),
		Alias:  rng.IntN(3) == 0,
		Free:   rng.IntN(3) > 0,
		Peek:   rng.IntN(2) == 0,
		Repeat: rng.IntN(3),
		Resize: rng.IntN(2) == 0,
		Seed:   rng.Uint64(),
	}
	if rng.IntN(5) > 1 {
		w.Streams = 1 + rng.IntN(4)
		w.Forget = rng.IntN(4) == 0
		w.Disturb = rng.IntN(4) == 0
	}
	stack := pick(rng, "over", "over", "over", "router over", "over router")
	if stack == "over" && rng.IntN(4) == 0 {
		w.Script = script(rng, p)
	}
	if stack == "router over" {
		w.Streams, w.Forget = 0, false
	}
	ref := w.reference()
	w.Ref = &ref
	w.Name = fmt.Sprintf("fusion %s %v %+v %+v", stack, dev, o, struct {
		Batch, Repeat, Streams                     int
		Alias, Free, Peek, Resize, Forget, Disturb bool
		Script                                     string
	}{w.Batch, w.Repeat, w.Streams, w.Alias, w.Free, w.Peek, w.Resize, w.Forget, w.Disturb, w.Script})
	switch stack {
	case "over":
		w.Open = func() (backend.Backend, error) {
			d, err := openDevice(dev, w.Script)
			if err != nil {
				return nil, err
			}
			return fusion.New(d, o), nil
		}
	case "router over":
		w.Open = func() (backend.Backend, error) { return overClients(dev, o, w.Seed) }
	case "over router":
		inner := routed(w.Seed, pick(rng, "", "delay mul 20us", "drop HostMemory Streams", "drop Compiler"))
		w.Open = func() (backend.Backend, error) {
			d, err := inner()
			if err != nil {
				return nil, err
			}
			return fusion.New(d, o), nil
		}
	}
	return w
}

func pick[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

// script says what goes wrong with a program. It depends on the names of operations
// alone, so that it is the same in whatever order they run.
func script(rng *rand.Rand, p *ir.Program) string {
	var ops []string // views do not reach a device under a client that fuses
	for i := range p.Nodes {
		if r := p.Nodes[i].Row; r.Access != ir.View {
			ops = append(ops, r.Name)
		}
	}
	if len(ops) == 0 {
		return ""
	}
	var lines []string
	for range 1 + rng.IntN(2) {
		op := pick(rng, ops...)
		switch rng.IntN(5) {
		case 0, 1:
			lines = append(lines, fmt.Sprintf("fail %s * %s bad luck", op, pick(rng, "data", "device", "memory")))
		case 2:
			lines = append(lines, "delay "+op+" 50us")
		case 3:
			lines = append(lines, "lack op "+op)
		case 4:
			lines = append(lines, "drop "+pick(rng, "Compiler", "HostMemory", "Streams", "Memory", "Supporter"))
		}
	}
	return strings.Join(lines, "\n")
}

// overClients opens a device of a router whose members fuse; nodes run on one of
// them by a hash.
func overClients(dev cpu.Options, o fusion.Options, salt uint64) (backend.Backend, error) {
	names := []string{"a", "b"}
	var members []router.Member
	for _, name := range names {
		d, err := cpu.New(dev)
		if err != nil {
			return nil, err
		}
		members = append(members, router.Member{Name: name, Backend: fusion.New(d, o)})
	}
	r, err := router.Options{Own: true, Chunk: 1024, Place: place(names, salt)}.New(members...)
	if err != nil {
		return nil, err
	}
	c, err := r.Device("a")
	if err != nil {
		return nil, err
	}
	return routedDevice{c, r}, nil
}
