package ptx

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/sinter-go/sinter/kernel"
)

// Matrix units of a warp on the simulator.

// indices are the places of registers.
func (pr *program) indices(o operand, n int) ([]int, error) {
	if o.kind != opndGroup || len(o.group) != n {
		return nil, fmt.Errorf("%d registers, expected %d", len(o.group), n)
	}
	out := make([]int, n)
	for i, r := range o.group {
		out[i] = pr.index(r)
	}
	return out, nil
}

// readMatrices is ldmatrix: matrices of eight rows of eight elements of 16 bits. Lane 8i+j
// tells the address of row j of matrix i; of each, a lane gets two neighbours of a row, or
// of a column if it is transposed.
func (pr *program) readMatrices(in *inst) (func(s *simulator, lanes []*thread) error, error) {
	count, ok := map[string]int{"x1": 1, "x2": 2, "x4": 4}[strings.Split(in.op, ".")[4]]
	if !ok || !strings.HasPrefix(in.op, "ldmatrix.sync.aligned.m8n8.") || !strings.HasSuffix(in.op, ".shared.b16") {
		return nil, fmt.Errorf("unknown form")
	}
	turned := strings.Contains(in.op, ".trans")
	dst, err := pr.indices(in.args[0], count)
	if err != nil {
		return nil, err
	}
	base, off := pr.index(in.args[1].name), uint64(in.args[1].value)
	return func(s *simulator, lanes []*thread) error {
		for i := range count {
			var m [8][8]uint64
			var banks [8]bool // fours of them
			for j := range m {
				bank := (lanes[8*i+j].r[base] + off) / 16 % 8
				if banks[bank] {
					return fmt.Errorf("rows of matrix %d lie in one bank", i)
				}
				banks[bank] = true
				row, err := s.memory(simSharedBase+lanes[8*i+j].r[base]+off, 16)
				if err != nil {
					return fmt.Errorf("lane %d: %w", 8*i+j, err)
				}
				for k := range m[j] {
					m[j][k] = uint64(binary.LittleEndian.Uint16(row[2*k:]))
				}
			}
			for l, t := range lanes {
				a, b := l/4, l%4*2
				if turned {
					t.r[dst[i]] = m[b][a] | m[b+1][a]<<16
				} else {
					t.r[dst[i]] = m[a][b] | m[a][b+1]<<16
				}
			}
		}
		return nil
	}, nil
}

// multiplyMatrices is mma.sync of m16n8k16, or m16n8k8 of tf32: 16 rows by 8 columns of sums, to
// each of which 16 or 8 products are added. The order in which the hardware adds them, and how it rounds, is its
// own; here they are added exactly, as far as f64 goes, and rounded once. So kernels that
// take the steps of a group in other sixteens, or in another order, have other bits here too.
func (pr *program) multiplyMatrices(in *inst) (func(s *simulator, lanes []*thread) error, error) {
	var wide func(uint16) float32
	steps := 16
	switch in.op {
	case multiplyTF32:
		steps = 8
	case "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32":
		wide = kernel.BF16ToF32
	case "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32":
		wide = kernel.F16ToF32
	default:
		return nil, fmt.Errorf("unknown form")
	}
	var regs [4][]int
	for i, n := range []int{4, 4, 2, 4} {
		var err error
		if regs[i], err = pr.indices(in.args[i], n); err != nil {
			return nil, err
		}
	}
	return func(_ *simulator, lanes []*thread) error {
		var a [16][16]float64 // rows by steps
		var b [8][16]float64  // columns by steps
		for l, t := range lanes {
			if steps == 8 { // the lowest 13 bits count for nothing
				tf32 := func(r int) float64 { return float64(f32of(t.r[r] &^ 0x1fff)) }
				for i, r := range regs[1] {
					a[l/4+i%2*8][l%4+i/2*4] = tf32(r)
				}
				for i, r := range regs[2] {
					b[l/4][l%4+i*4] = tf32(r)
				}
				continue
			}
			line, step := l/4, l%4*2
			for h := range 2 { // of a word
				half := func(r int) float64 { return float64(wide(uint16(t.r[r] >> (16 * h)))) }
				for i, r := range regs[1] {
					a[line+i%2*8][step+i/2*8+h] = half(r)
				}
				for i, r := range regs[2] {
					b[line][step+i*8+h] = half(r)
				}
			}
		}
		for l, t := range lanes {
			var sums [4]uint64
			for i := range sums {
				row, col := l/4+i/2*8, l%4*2+i%2
				sum := 0.0
				for k := range steps {
					sum += a[row][k] * b[col][k]
				}
				sums[i] = f32bits(float32(sum + float64(f32of(t.r[regs[3][i]]))))
			}
			for i, r := range regs[0] {
				t.r[r] = sums[i]
			}
		}
		return nil
	}, nil
}
