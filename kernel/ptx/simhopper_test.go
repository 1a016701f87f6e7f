package ptx

import (
	"fmt"
	"strings"

	"github.com/sinter-go/sinter/kernel"
)

// Hopper's matrix units, bulk copies of boxes and barriers of many phases on the simulator.
// A copy is done when it is begun, and a product when it is asked for: what the simulator
// finds is a wait that is missing, and whatever is wrong about addresses, boxes, the order
// in which slabs lie and who has which sums.

const simMapBase = 0x7200_0000_0000 // of tensor maps, MapBytes each

// simArrivals is a barrier in shared memory: who and what is still to come in its phase.
type simArrivals struct{ expected, threads, bytes, phase int }

// settle begins the next phase if nothing is left to come.
func (a *simArrivals) settle() {
	if a.threads == 0 && a.bytes == 0 {
		a.phase++
		a.threads = a.expected
	}
}

// over reports whether the phase of a parity is.
func (a *simArrivals) over(parity uint64) bool { return uint64(a.phase)&1 != parity&1 }

// barrierAt finds a barrier of the block.
func (s *simulator) barrierAt(place uint64) (*simArrivals, error) {
	if a := s.waits[place]; a != nil {
		return a, nil
	}
	return nil, fmt.Errorf("no barrier at %d", place)
}

// bringBox is cp.async.bulk.tensor of a tensor of three axes of 2-byte elements: a box at
// some coordinates, of which what lies outside is 0. Lines of 128 bytes change the places
// of their sixteens by exclusive or with the low bits of the line's number in shared memory.
func (pr *program) bringBox(in *inst) (func(*simulator, *thread) error, error) {
	if in.op != "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes" {
		return nil, fmt.Errorf("unknown form")
	}
	to, box, bar := in.args[0], in.args[1], in.args[2]
	toBase, mapBase, barBase := pr.index(to.name), pr.index(box.name), pr.index(bar.name)
	var at [3]int
	for i, r := range box.group {
		at[i] = pr.index(r)
	}
	return func(s *simulator, t *thread) error {
		n := (t.r[mapBase] - simMapBase) / MapBytes
		if n >= uint64(len(s.maps)) {
			return fmt.Errorf("no tensor map at %#x", t.r[mapBase])
		}
		m := s.maps[n]
		place := t.r[toBase] + uint64(to.value)
		if place%1024 != 0 || 2*m.Box[0] != boxLine || m.Box[2] != 1 {
			return fmt.Errorf("a box of %v at %d", m.Box, place)
		}
		first := [3]int64{}
		for i := range first {
			first[i] = int64(int32(uint32(t.r[at[i]])))
		}
		for line := range int64(m.Box[1]) {
			row, err := s.memory(simSharedBase+place+uint64(line)*boxLine, boxLine)
			if err != nil {
				return err
			}
			for e := range int64(m.Box[0]) {
				x, y, z, v := first[0]+e, first[1]+line, first[2], uint64(0)
				if x >= 0 && x < m.Extents[0] && y >= 0 && y < m.Extents[1] && z >= 0 && z < m.Extents[2] {
					b, err := s.memory(m.Base+uint64(2*x+y*m.Strides[0]+z*m.Strides[1]), 2)
					if err != nil {
						return err
					}
					v = readSized(b, 2)
				}
				p := (place/boxLine+uint64(line))%8<<4 ^ uint64(2*e)
				writeSized(row[p:], 2, v)
			}
		}
		a, err := s.barrierAt(t.r[barBase] + uint64(bar.value))
		if err != nil {
			return err
		}
		a.bytes -= int(2 * m.Box[0] * m.Box[1])
		a.settle()
		return nil
	}, nil
}

// simMatrix is an operand in shared memory, as a descriptor says.
type simMatrix struct {
	start, blocks, eights uint64
	turned                bool
}

func matrixAt(d uint64, turned bool) (simMatrix, error) {
	if d>>62 != 1 || d>>49&7 != 0 {
		return simMatrix{}, fmt.Errorf("descriptor %#x", d)
	}
	return simMatrix{start: d & 0x3fff << 4, blocks: d >> 16 & 0x3fff << 4, eights: d >> 32 & 0x3fff << 4, turned: turned}, nil
}

// at is where the element of a line and a step lies: steps are neighbours, or, turned, 64
// lines are, and others lie in blocks of their own.
func (m simMatrix) at(line, step uint64) uint64 {
	p := m.start + line/8*m.eights + line%8*boxLine + 2*step
	if m.turned {
		p = m.start + line/64*m.blocks + step/8*m.eights + step%8*boxLine + line%64*2
	}
	return p ^ p/boxLine%8<<4
}

// multiplyGroup is what a warp does of wgmma.mma_async of 64 rows by some columns and 16
// steps, its 16 of the rows: the sums are those of multiplyMatrices.
func (pr *program) multiplyGroup(in *inst) (func(s *simulator, lanes []*thread) error, error) {
	var columns int
	var unit string
	if _, err := fmt.Sscanf(in.op, "wgmma.mma_async.sync.aligned.m64n%dk16.f32.%s", &columns, &unit); err != nil {
		return nil, err
	}
	wide := map[string]func(uint16) float32{"bf16.bf16": kernel.BF16ToF32, "f16.f16": kernel.F16ToF32}[unit]
	if wide == nil || len(in.args) != 8 || in.args[1].kind != opndReg {
		return nil, fmt.Errorf("unknown form")
	}
	sums, err := pr.indices(in.args[0], columns/2)
	if err != nil {
		return nil, err
	}
	x, z, add := pr.index(in.args[1].name), pr.index(in.args[2].name), pr.index(in.args[3].name)
	turnX, turnZ := in.args[6].value == 1, in.args[7].value == 1
	return func(s *simulator, lanes []*thread) error {
		for _, t := range lanes {
			if t.r[x] != lanes[0].r[x] || t.r[z] != lanes[0].r[z] || t.r[add]&1 == 0 {
				return fmt.Errorf("lanes do not agree")
			}
		}
		a, err := matrixAt(lanes[0].r[x], turnX)
		if err != nil {
			return err
		}
		b, err := matrixAt(lanes[0].r[z], turnZ)
		if err != nil {
			return err
		}
		read := func(m simMatrix, from, lines int) ([][16]float64, error) {
			out := make([][16]float64, lines)
			for i := range out {
				for k := range out[i] {
					v, err := s.memory(simSharedBase+m.at(uint64(from+i), uint64(k)), 2)
					if err != nil {
						return nil, err
					}
					out[i][k] = float64(wide(uint16(readSized(v, 2))))
				}
			}
			return out, nil
		}
		rows, err := read(a, int(lanes[0].tid/32%4*16), 16)
		if err != nil {
			return err
		}
		cols, err := read(b, 0, columns)
		if err != nil {
			return err
		}
		for l, t := range lanes {
			for i, r := range sums {
				row, col := &rows[l/4+i/2%2*8], &cols[i/4*8+l%4*2+i%2]
				sum := 0.0
				for k := range 16 {
					sum += row[k] * col[k]
				}
				t.r[r] = f32bits(float32(sum + float64(f32of(t.r[r]))))
			}
		}
		return nil
	}, nil
}

// quiet reports whether an instruction does nothing that the simulator sees, where grids run
// one after the other.
func quiet(op string) bool {
	for _, prefix := range []string{"fence.", "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group", "setmaxnreg.", "prefetch.tensormap", "griddepcontrol."} {
		if strings.HasPrefix(op, prefix) {
			return true
		}
	}
	return false
}
