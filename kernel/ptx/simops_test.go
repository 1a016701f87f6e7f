package ptx

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

type getter func(t *thread) uint64

// getter makes the reader of an operand.
func (pr *program) getter(o operand) getter {
	switch o.kind {
	case opndImm:
		v := uint64(o.value)
		return func(*thread) uint64 { return v }
	case opndReg:
		i := pr.index(o.name)
		return func(t *thread) uint64 { return t.r[i] }
	case opndSpecial:
		switch o.name {
		case "%tid.x":
			return func(t *thread) uint64 { return uint64(t.tid) }
		case "%lanemask_lt":
			return func(t *thread) uint64 { return 1<<(t.tid%32) - 1 }
		case "%ctaid.x":
			return func(t *thread) uint64 { return uint64(t.ctaX) }
		case "%nctaid.x":
			return func(t *thread) uint64 { return uint64(t.blocks) }
		case "%ctaid.y":
			return func(t *thread) uint64 { return uint64(t.ctaY) }
		}
	case opndSymbol:
		var n uint64
		if _, err := fmt.Sscanf(o.name, "m%d", &n); err == nil {
			return func(*thread) uint64 { return simMapBase + MapBytes*n }
		}
		return func(*thread) uint64 { return 0 } // the start of shared memory
	}
	panic(fmt.Sprintf("operand %+v", o))
}

func typeBits(t string) int {
	switch t {
	case "u8", "s8":
		return 8
	case "b16", "u16", "s16", "f16", "bf16":
		return 16
	case "b64", "u64", "s64", "f64":
		return 64
	case "pred":
		return 1
	}
	return 32
}

func mask(v uint64, n int) uint64 {
	if n == 64 {
		return v
	}
	return v & (1<<n - 1)
}

func signed(v uint64, n int) int64 { return int64(v<<(64-n)) >> (64 - n) }

// compile turns an instruction into a function of the thread.
func (pr *program) compile(in *inst) (func(*simulator, *thread) error, error) {
	parts := strings.Split(in.op, ".")
	last := parts[len(parts)-1]
	if quiet(in.op) {
		return func(*simulator, *thread) error { return nil }, nil
	}
	switch parts[0] {
	case "prefetch": // of memory that there is
		base, off := pr.index(in.args[0].name), uint64(in.args[0].value)
		return func(s *simulator, t *thread) error {
			_, err := s.memory(t.r[base]+off, 1)
			return err
		}, nil
	case "cp":
		if parts[2] == "bulk" {
			return pr.bringBox(in)
		}
		return pr.compileCopy(in)
	case "mbarrier":
		return pr.compileBarrier(in, parts[1])
	case "ld", "st", "red", "atom":
		if parts[1] == "async" {
			return pr.compileSend(in, typeBits(last)/8)
		}
		return pr.compileMemory(in, parts, last)
	}
	if parts[0] == "mov" && (in.args[0].kind == opndGroup || in.args[1].kind == opndGroup) {
		return pr.compileSplit(in, last)
	}
	dst := pr.index(in.args[0].name)
	var get []getter
	for _, a := range in.args[1:] {
		get = append(get, pr.getter(a))
	}
	n := typeBits(last)
	width := n // of the result
	f, err := operation(parts, last, n)
	if err != nil {
		return nil, err
	}
	switch parts[0] {
	case "cvt":
		width = typeBits(parts[len(parts)-2])
		if width < 32 && parts[len(parts)-2][0] == 's' || parts[len(parts)-2] == "s32" {
			width = 32
		}
	case "setp":
		width = 1
	case "bfind":
		width = 32
	case "cvta":
		width = 64
	}
	if len(parts) > 1 && parts[1] == "wide" {
		width = 64
	}
	return func(_ *simulator, t *thread) error {
		var v [4]uint64
		for i, g := range get {
			v[i] = g(t)
		}
		t.r[dst] = mask(f(v), width)
		return nil
	}, nil
}

func (pr *program) compileSplit(in *inst, last string) (func(*simulator, *thread) error, error) {
	half := typeBits(last) / 2
	if g := in.args[0]; g.kind == opndGroup {
		lo, hi, src := pr.index(g.group[0]), pr.index(g.group[1]), pr.getter(in.args[1])
		return func(_ *simulator, t *thread) error {
			v := src(t)
			t.r[lo], t.r[hi] = mask(v, half), mask(v>>half, half)
			return nil
		}, nil
	}
	g := in.args[1]
	lo, hi, dst := pr.index(g.group[0]), pr.index(g.group[1]), pr.index(in.args[0].name)
	return func(_ *simulator, t *thread) error {
		t.r[dst] = mask(t.r[lo], half) | mask(t.r[hi], half)<<half
		return nil
	}, nil
}

// compileCopy is cp.async: bytes to shared memory, and zeros where fewer are read, which are
// there when the thread has waited for the group of copies that they belong to.
func (pr *program) compileCopy(in *inst) (func(*simulator, *thread) error, error) {
	switch in.op {
	case "cp.async.commit_group":
		return func(_ *simulator, t *thread) error {
			t.copies = append(t.copies, nil)
			return nil
		}, nil
	case "cp.async.wait_group":
		left := int(in.args[0].value) + 1 // and the group that is not closed
		return func(_ *simulator, t *thread) error {
			for len(t.copies) > left {
				for _, c := range t.copies[0] {
					copy(c.dst, c.data)
				}
				t.copies = t.copies[1:]
			}
			return nil
		}, nil
	}
	bytes := int(in.args[2].value)
	to, from, n := pr.index(in.args[0].name), pr.index(in.args[1].name), pr.index(in.args[3].name)
	return func(s *simulator, t *thread) error {
		dst, err := s.memory(simSharedBase+t.r[to]+uint64(in.args[0].value), bytes)
		if err != nil {
			return err
		}
		data := make([]byte, bytes)
		if size := t.r[n]; size > uint64(bytes) {
			return fmt.Errorf("%d bytes are read for %d", size, bytes)
		} else if size > 0 {
			at := t.r[from] + uint64(in.args[1].value)
			if at%uint64(bytes) != 0 || at >= simSharedBase {
				return fmt.Errorf("a copy of %d bytes from %#x", bytes, at)
			}
			src, err := s.bytes(at, int(size))
			if err != nil {
				return err
			}
			copy(data, src)
		}
		for i := range dst {
			dst[i] = 0xa5
		}
		open := &t.copies[len(t.copies)-1]
		*open = append(*open, simCopy{dst, data})
		return nil
	}, nil
}

// compileBarrier makes a barrier, or tells it that a thread has come and that so many bytes
// will.
func (pr *program) compileBarrier(in *inst, what string) (func(*simulator, *thread) error, error) {
	at, n := in.args[0], func(*thread) uint64 { return 0 }
	if what == "arrive" {
		at = in.args[1]
	}
	if count := in.args[len(in.args)-1]; count.kind != opndMem {
		n = pr.getter(count)
	}
	base := pr.index(at.name)
	return func(s *simulator, t *thread) error {
		place := t.r[base] + uint64(at.value)
		if place%8 != 0 || place+8 > uint64(len(s.shared)) {
			return fmt.Errorf("a barrier at %d of %d", place, len(s.shared))
		}
		if what == "init" {
			s.waits[place] = &simArrivals{expected: int(n(t)), threads: int(n(t))}
			return nil
		}
		a, err := s.barrierAt(place)
		if err != nil {
			return err
		}
		a.threads--
		a.bytes += int(n(t))
		a.settle()
		return nil
	}, nil
}

// compileSend writes into another block, and counts the bytes at a barrier there.
func (pr *program) compileSend(in *inst, size int) (func(*simulator, *thread) error, error) {
	to, v, bar := in.args[0], pr.index(in.args[1].name), in.args[2]
	toBase, barBase := pr.index(to.name), pr.index(bar.name)
	const low = 1<<simRank - 1
	return func(s *simulator, t *thread) error {
		at, counted := t.r[toBase]+uint64(to.value), t.r[barBase]+uint64(bar.value)
		if at>>simRank != counted>>simRank {
			return fmt.Errorf("the barrier is in another block")
		}
		b, err := s.memory(simClusterBase+at>>simRank*simClusterStep+at&low, size)
		if err != nil {
			return err
		}
		a := s.cluster[at>>simRank].waits[counted&low]
		if a == nil {
			return fmt.Errorf("no barrier at %d", counted&low)
		}
		writeSized(b, size, t.r[v])
		a.bytes -= size
		a.settle()
		return nil
	}, nil
}

func (pr *program) compileMemory(in *inst, parts []string, last string) (func(*simulator, *thread) error, error) {
	size := typeBits(last) / 8
	at := in.args[0]
	val := in.args[len(in.args)-1]
	switch parts[0] {
	case "ld":
		at, val = in.args[1], in.args[0]
	case "atom":
		at = in.args[1]
		was, base, add := pr.index(in.args[0].name), pr.index(at.name), pr.getter(val)
		return func(s *simulator, t *thread) error {
			b, err := s.memory(t.r[base]+uint64(at.value), size)
			if err == nil {
				t.r[was] = readSized(b, size)
				writeSized(b, size, t.r[was]+add(t))
			}
			return err
		}, nil
	}
	if len(parts) > 1 && parts[1] == "param" {
		dst := pr.index(val.name)
		if pr.p.many > 0 { // an array, which a register may point into
			base := getter(func(*thread) uint64 { return 0 })
			if at.name != manyName {
				i := pr.index(at.name)
				base = func(t *thread) uint64 { return t.r[i] }
			}
			return func(_ *simulator, t *thread) error {
				n := int(base(t)) + int(at.value)
				if n < 0 || n+size > pr.p.many || n%size != 0 {
					return fmt.Errorf("byte %d of %d of parameters", n, pr.p.many)
				}
				t.r[dst] = mask(t.r[pr.nregs+n/8]>>(8*(n%8)), 8*size)
				return nil
			}, nil
		}
		var n int
		fmt.Sscanf(at.name, "a%d", &n)
		return func(_ *simulator, t *thread) error {
			t.r[dst] = t.r[pr.nregs+n]
			return nil
		}, nil
	}
	names := val.group
	if val.kind == opndReg {
		names = []string{val.name}
	}
	var regs []int
	for _, r := range names {
		regs = append(regs, pr.index(r))
	}
	base, space := pr.index(at.name), uint64(0)
	if len(parts) > 1 && parts[1] == "shared" { // such addresses count from its start
		space = simSharedBase
	}
	return func(s *simulator, t *thread) error {
		b, err := s.memory(space+t.r[base]+uint64(at.value), size*len(regs))
		if err != nil {
			return err
		}
		if len(parts) > 1 && parts[1] == "global" && t.r[base] >= simSharedBase {
			return fmt.Errorf("global access to shared memory")
		}
		for i, r := range regs {
			p := b[i*size:]
			switch {
			case parts[0] == "red" && parts[2] == "add":
				writeSized(p, size, readSized(p, size)+t.r[r])
			case parts[0] == "red":
				writeSized(p, size, max(readSized(p, size), t.r[r]))
			case parts[0] == "st":
				writeSized(p, size, t.r[r])
			case last[0] == 's':
				t.r[r] = mask(uint64(signed(readSized(p, size), 8*size)), 32)
			default:
				t.r[r] = readSized(p, size)
			}
		}
		return nil
	}, nil
}

// operation is the meaning of an opcode on raw operands.
func operation(parts []string, last string, n int) (func([4]uint64) uint64, error) {
	switch last {
	case "f32", "f64":
		if f := floatOperation(parts, last); f != nil {
			return f, nil
		}
	case "f16", "bf16", "f16x2", "bf16x2":
		if f := halfOperation(parts, last); f != nil {
			return f, nil
		}
	}
	if parts[0] == "cvt" && strings.HasSuffix(parts[2], "x2") {
		narrow, err := conversion([]string{"cvt", parts[1], strings.TrimSuffix(parts[2], "x2"), last}, last)
		return func(v [4]uint64) uint64 { return narrow([4]uint64{v[0]})<<16 | mask(narrow([4]uint64{v[1]}), 16) }, err
	}
	s := last[0] == 's'
	wide := func(v uint64) int64 {
		if s {
			return signed(v, n)
		}
		return int64(mask(v, n))
	}
	switch parts[0] {
	case "mov":
		return func(v [4]uint64) uint64 { return v[0] }, nil
	case "cvta":
		if parts[1] == "param" { // of a tensor map, whose address it is
			return func(v [4]uint64) uint64 { return v[0] }, nil
		}
		return func(v [4]uint64) uint64 { return simSharedBase + v[0] }, nil
	case "mapa":
		return func(v [4]uint64) uint64 {
			return mask(v[1], 32)<<simRank | v[0] // as st.async takes it
		}, nil
	case "add":
		return func(v [4]uint64) uint64 { return v[0] + v[1] }, nil
	case "sub":
		return func(v [4]uint64) uint64 { return v[0] - v[1] }, nil
	case "mul":
		switch parts[1] {
		case "hi":
			return func(v [4]uint64) uint64 { return mask(v[0], 32) * mask(v[1], 32) >> 32 }, nil
		case "wide":
			return func(v [4]uint64) uint64 { return mask(v[0], 32) * mask(v[1], 32) }, nil
		}
		return func(v [4]uint64) uint64 { return v[0] * v[1] }, nil
	case "mad":
		return func(v [4]uint64) uint64 { return v[0]*v[1] + v[2] }, nil
	case "div":
		return func(v [4]uint64) uint64 {
			if mask(v[1], n) == 0 || s && wide(v[1]) == -1 {
				return simPoison // unspecified on the hardware
			}
			if s {
				return uint64(wide(v[0]) / wide(v[1]))
			}
			return mask(v[0], n) / mask(v[1], n)
		}, nil
	case "rem":
		return func(v [4]uint64) uint64 {
			if mask(v[1], n) == 0 || s && wide(v[1]) == -1 {
				return simPoison
			}
			if s {
				return uint64(wide(v[0]) % wide(v[1]))
			}
			return mask(v[0], n) % mask(v[1], n)
		}, nil
	case "min", "max":
		less := func(a, b uint64) bool {
			if s {
				return wide(a) < wide(b)
			}
			return mask(a, n) < mask(b, n)
		}
		return func(v [4]uint64) uint64 {
			if less(v[0], v[1]) == (parts[0] == "min") {
				return v[0]
			}
			return v[1]
		}, nil
	case "and":
		return func(v [4]uint64) uint64 { return v[0] & v[1] }, nil
	case "or":
		return func(v [4]uint64) uint64 { return v[0] | v[1] }, nil
	case "xor":
		return func(v [4]uint64) uint64 { return v[0] ^ v[1] }, nil
	case "not":
		return func(v [4]uint64) uint64 { return ^v[0] }, nil
	case "shl":
		return func(v [4]uint64) uint64 { return v[0] << min(mask(v[1], 32), uint64(n)) }, nil
	case "shr":
		return func(v [4]uint64) uint64 {
			k := min(mask(v[1], 32), uint64(n))
			if s {
				return uint64(wide(v[0]) >> k)
			}
			return mask(v[0], n) >> k
		}, nil
	case "bfe":
		return func(v [4]uint64) uint64 {
			x := mask(mask(v[0], 32)>>v[1], int(v[2]))
			if s {
				return uint64(signed(x, int(v[2])))
			}
			return x
		}, nil
	case "prmt":
		return func(v [4]uint64) uint64 {
			bytes, out := mask(v[0], 32)|v[1]<<32, uint64(0)
			for i := range 4 {
				sel := v[2] >> (4 * i) & 15
				b := bytes >> (8 * (sel & 7)) & 0xff
				if sel > 7 { // the sign of the byte
					b = 0xff * (b >> 7)
				}
				out |= b << (8 * i)
			}
			return out
		}, nil
	case "bfi":
		return func(v [4]uint64) uint64 {
			m := uint64(1<<v[3]-1) << v[2]
			return v[1]&^m | v[0]<<v[2]&m
		}, nil
	case "dp4a": // bytes times bytes, each signed or not, and a sum
		byteAt := func(v uint64, i int, t string) int32 {
			if b := byte(v >> (8 * i)); t == "s32" {
				return int32(int8(b))
			} else {
				return int32(b)
			}
		}
		return func(v [4]uint64) uint64 {
			sum := int32(v[2])
			for i := range 4 {
				sum += byteAt(v[0], i, parts[1]) * byteAt(v[1], i, parts[2])
			}
			return uint64(uint32(sum))
		}, nil
	case "popc":
		return func(v [4]uint64) uint64 { return uint64(bits.OnesCount64(mask(v[0], n))) }, nil
	case "bfind":
		return func(v [4]uint64) uint64 { return uint64(bits.Len64(mask(v[0], n)) - 1) }, nil
	case "selp":
		return func(v [4]uint64) uint64 {
			if v[2]&1 != 0 {
				return v[0]
			}
			return v[1]
		}, nil
	case "setp":
		return func(v [4]uint64) uint64 {
			a, b := mask(v[0], n), mask(v[1], n)
			less := a < b
			if s {
				less = wide(v[0]) < wide(v[1])
			}
			return truth(compareHolds(parts[1], less, a == b))
		}, nil
	case "cvt":
		if strings.Join(parts, ".") == roundTF32 { // to the nearest, away from 0 in the middle
			return func(v [4]uint64) uint64 {
				if x := f32of(v[0]); x != x {
					return 0x7fffffff
				}
				return mask(v[0]+0x1000, 32) &^ 0x1fff
			}, nil
		}
		return conversion(parts, last)
	}
	return nil, fmt.Errorf("unknown instruction")
}

func compareHolds(name string, less, equal bool) bool {
	switch name {
	case "eq":
		return equal
	case "ne", "neu":
		return !equal
	case "lt":
		return less
	case "le":
		return less || equal
	case "gt":
		return !less && !equal
	case "ge":
		return !less
	}
	panic(name)
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func f32of(v uint64) float32 { return math.Float32frombits(uint32(v)) }
func f32bits(x float32) uint64 {
	return uint64(math.Float32bits(x))
}

// floatOperation handles float arithmetic and comparison; nil for the rest.
func floatOperation(parts []string, t string) func([4]uint64) uint64 {
	one := func(f32 func(a, b, c float32) float32, f64 func(a, b, c float64) float64) func([4]uint64) uint64 {
		if t == "f32" {
			return func(v [4]uint64) uint64 { return f32bits(f32(f32of(v[0]), f32of(v[1]), f32of(v[2]))) }
		}
		return func(v [4]uint64) uint64 {
			return math.Float64bits(f64(math.Float64frombits(v[0]), math.Float64frombits(v[1]), math.Float64frombits(v[2])))
		}
	}
	switch parts[0] {
	case "add":
		return one(func(a, b, _ float32) float32 { return a + b }, func(a, b, _ float64) float64 { return a + b })
	case "sub":
		return one(func(a, b, _ float32) float32 { return a - b }, func(a, b, _ float64) float64 { return a - b })
	case "mul":
		return one(func(a, b, _ float32) float32 { return float32(a * b) }, func(a, b, _ float64) float64 { return float64(a * b) })
	case "div":
		return one(func(a, b, _ float32) float32 { return a / b }, func(a, b, _ float64) float64 { return a / b })
	case "fma":
		return one(kernel.FMA32, math.FMA)
	case "sqrt":
		return one(func(a, _, _ float32) float32 { return float32(math.Sqrt(float64(a))) },
			func(a, _, _ float64) float64 { return math.Sqrt(a) })
	case "min", "max":
		pick := math.Min
		if parts[0] == "max" {
			pick = math.Max
		}
		return one(func(a, b, _ float32) float32 {
			if a != a || b != b {
				return float32(math.NaN())
			}
			return float32(pick(float64(a), float64(b)))
		}, func(a, b, _ float64) float64 { return pick(a, b) })
	case "setp":
		get := func(v uint64) float64 { return float64(f32of(v)) }
		if t == "f64" {
			get = math.Float64frombits
		}
		return func(v [4]uint64) uint64 {
			a, b := get(v[0]), get(v[1])
			nan := a != a || b != b
			switch parts[1] {
			case "nan":
				return truth(nan)
			case "neu":
				return truth(nan || a != b)
			}
			return truth(!nan && compareHolds(parts[1], a < b, a == b))
		}
	}
	return nil
}

// halfOperation is arithmetic of a half type, rounded once, on one element or two. The
// result is exact in f64, or a sum of numbers so far apart that rounding it there first
// changes nothing.
func halfOperation(parts []string, t string) func([4]uint64) uint64 {
	wide, narrow := kernel.F16ToF32, kernel.F16FromF64
	if strings.HasPrefix(t, "b") {
		wide, narrow = kernel.BF16ToF32, kernel.BF16FromF64
	}
	ops := map[string]func(a, b float64) float64{
		"add": func(a, b float64) float64 { return a + b },
		"sub": func(a, b float64) float64 { return a - b },
		"mul": func(a, b float64) float64 { return a * b },
		"min": math.Min, // as .NaN: NaN if either is, -0 below 0
		"max": math.Max,
	}
	f := ops[parts[0]]
	if f == nil {
		return nil
	}
	one := func(a, b uint64) uint64 {
		x, y := float64(wide(uint16(a))), float64(wide(uint16(b)))
		if (x != x || y != y) && parts[1] == "NaN" { // the functions of Go let infinity win
			return uint64(narrow(math.NaN()))
		}
		return uint64(narrow(f(x, y)))
	}
	if strings.HasSuffix(t, "x2") {
		return func(v [4]uint64) uint64 { return one(v[0]>>16, v[1]>>16)<<16 | one(v[0], v[1]) }
	}
	return func(v [4]uint64) uint64 { return one(v[0], v[1]) }
}

// conversion is the meaning of cvt.
func conversion(parts []string, from string) (func([4]uint64) uint64, error) {
	to, mode := parts[len(parts)-2], ""
	if len(parts) == 4 {
		mode = parts[1]
	}
	types := map[string]ir.DType{"f16": ir.F16, "bf16": ir.BF16, "f32": ir.F32, "f64": ir.F64,
		"s8": ir.I8, "s16": ir.I16, "s32": ir.I32, "s64": ir.I64, "u8": ir.U8, "u16": ir.U16, "u32": ir.U32, "u64": ir.U64}
	tf, ok1 := types[from]
	tt, ok2 := types[to]
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("conversion from %s to %s", from, to)
	}
	if from == to { // rounding to an integral value
		round := map[string]func(float64) float64{"rmi": math.Floor, "rpi": math.Ceil, "rzi": math.Trunc, "rni": math.RoundToEven}[mode]
		if round == nil {
			return nil, fmt.Errorf("mode %q", mode)
		}
		if from == "f32" {
			return func(v [4]uint64) uint64 { return f32bits(float32(round(float64(f32of(v[0]))))) }, nil
		}
		return func(v [4]uint64) uint64 { return math.Float64bits(round(math.Float64frombits(v[0]))) }, nil
	}
	if mode == "rz" {
		return towardZero(tf, tt)
	}
	if tf.IsInt() && tt.IsInt() { // most are of addresses
		return func(v [4]uint64) uint64 {
			x := mask(v[0], tf.Bits())
			if tf.Kind() == ir.KindInt {
				x = uint64(signed(x, tf.Bits()))
			}
			if tt.Kind() == ir.KindInt {
				return uint64(signed(x, tt.Bits()))
			}
			return mask(x, tt.Bits())
		}, nil
	}
	return func(v [4]uint64) uint64 {
		x := mask(v[0], tf.Bits())
		if tf.IsFloat() && tt.IsInt() && (from == "f64" || to == "s64" || to == "u64") {
			f := math.Float64frombits(x)
			if from == "f32" {
				f = float64(f32of(x))
			}
			if f != f { // what the hardware gives there
				return 1 << (tt.Bits() - 1)
			}
		}
		r := kernel.Convert(tt, tf, x)
		if tt.Kind() == ir.KindInt {
			r = uint64(signed(r, tt.Bits()))
		}
		return r
	}, nil
}

// towardZero covers the truncating conversions used to round to odd.
func towardZero(from, to ir.DType) (func([4]uint64) uint64, error) {
	switch {
	case from == ir.F64 && to == ir.F32:
		return func(v [4]uint64) uint64 {
			x := math.Float64frombits(v[0])
			r := float32(x)
			if math.Abs(float64(r)) > math.Abs(x) {
				r = math.Float32frombits(math.Float32bits(r) - 1)
			}
			return f32bits(r)
		}, nil
	case from.IsInt() && to == ir.F64:
		return func(v [4]uint64) uint64 {
			neg := from == ir.I64 && int64(v[0]) < 0
			u := v[0]
			if neg {
				u = -u
			}
			if extra := bits.Len64(u) - 53; extra > 0 {
				u = u >> extra << extra
			}
			r := math.Float64bits(float64(u))
			if neg {
				r |= 1 << 63
			}
			return r
		}, nil
	}
	return nil, fmt.Errorf("truncation from %s to %s", from, to)
}
