package ptx

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// simulator runs entries on the CPU, lane by lane, so that machines without a
// GPU check what the text means: barriers, shuffles, addresses and bits. It
// knows only the language of this package, refuses accesses outside the
// buffers, and wants every lane of a warp at the same step of its own, such as a shuffle.
type simulator struct {
	buffers []simBuffer
	shared  []byte // of the block that runs
	waits   map[uint64]*simArrivals
	cluster []simBlock // the blocks that run together
	maps    []TensorMap
}

// simBlock is a block of a cluster. That one has begun is known to another only behind a
// barrier of the cluster; nothing is written into a block that has ended.
type simBlock struct {
	shared  []byte
	waits   map[uint64]*simArrivals // barriers in shared memory, by their place
	threads []*thread
	begun   bool
	ended   bool
}

type simBuffer struct {
	base uint64
	data []byte
}

const (
	simSharedBase  = 0x7000_0000_0000
	simClusterBase = 0x7100_0000_0000 // plus the number of the block and simClusterStep
	simClusterStep = 0x1_0000_0000
	simRank        = 24 // bits of an address in a block's shared memory, below the rank of the block
	simPoison      = 0xdead_beef_dead_beef
)

type thread struct {
	r        []uint64
	pc       int
	tid      uint32
	ctaX     uint32
	ctaY     uint32
	blocks   uint32 // of the grid, along its first dimension
	finished bool
	at       *step       // where the thread waits
	arrived  bool        // at the barrier of the cluster
	copies   [][]simCopy // by group; the last one is open
}

// simCopy is an asynchronous copy to shared memory that was not waited for. Until then
// its place holds nothing of sense: it may have been written at once, or not yet.
type simCopy struct{ dst, data []byte }

// step is a decoded instruction.
type step struct {
	in     *inst
	guard  int // register index, -1 none
	run    func(s *simulator, t *thread) error
	kind   int
	to     int // branch target
	dst    int // of a poll
	src    int
	lane   int
	parity func(t *thread) uint64 // of the phase that a poll waits for
	warp   func(s *simulator, lanes []*thread) error
}

const (
	stepPlain = iota
	stepBranch
	stepBarrier
	stepWarp // all lanes of a warp take part
	stepArrive
	stepWait
	stepPoll
	stepExit
)

// program is an entry ready to run.
type program struct {
	p     *parsed
	steps []step
	nregs int
	base  map[string]int

	dynamic int // bytes of shared memory beside the static ones
}

func (pr *program) index(name string) int {
	for prefix, b := range pr.base {
		if strings.HasPrefix(name, prefix) {
			var n int
			if _, err := fmt.Sscanf(name[len(prefix):], "%d", &n); err == nil {
				return b + n
			}
		}
	}
	panic("register " + name)
}

func load(text string) (*program, error) {
	p, err := parse(text)
	if err != nil {
		return nil, err
	}
	pr := &program{p: p, base: map[string]int{}}
	for c := class(0); c < numClasses; c++ {
		pr.base[classPrefix[c]] = pr.nregs
		pr.nregs += p.regs[classPrefix[c]] + 1
	}
	labels := map[string]int{}
	n := 0
	for _, in := range p.code {
		if in.label != "" {
			labels[in.label] = n
		} else {
			n++
		}
	}
	for i := range p.code {
		in := &p.code[i]
		if in.label != "" {
			continue
		}
		st := step{in: in, guard: -1}
		if in.guard != "" {
			st.guard = pr.index(in.guard)
		}
		switch {
		case in.op == "bra":
			st.kind, st.to = stepBranch, labels[in.args[0].name]
		case in.op == "bar.sync":
			st.kind = stepBarrier
		case in.op == "barrier.cluster.arrive.relaxed.aligned", in.op == "barrier.cluster.arrive.release.aligned":
			st.kind = stepArrive
		case in.op == "barrier.cluster.wait.acquire.aligned":
			st.kind = stepWait
		case strings.HasPrefix(in.op, "mbarrier.try_wait"):
			st.kind = stepPoll
			st.dst, st.src, st.lane = pr.index(in.args[0].name), pr.index(in.args[1].name), int(in.args[1].value)
			st.parity = pr.getter(in.args[2])
		case in.op == "ret":
			st.kind = stepExit
		case strings.HasPrefix(in.op, "ldmatrix."):
			st.kind = stepWarp
			st.warp, err = pr.readMatrices(in)
		case strings.HasPrefix(in.op, "mma."):
			st.kind = stepWarp
			st.warp, err = pr.multiplyMatrices(in)
		case strings.HasPrefix(in.op, "wgmma.mma_async."):
			st.kind = stepWarp
			st.warp, err = pr.multiplyGroup(in)
		case strings.HasPrefix(in.op, "shfl"), strings.HasPrefix(in.op, "vote"), in.op == "bar.warp.sync":
			st.kind = stepWarp
			st.warp = pr.together(in)
		default:
			st.run, err = pr.compile(in)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", in.line, in.op, err)
		}
		pr.steps = append(pr.steps, st)
	}
	return pr, nil
}

// launch runs a whole grid, cluster by cluster.
func (s *simulator) launch(pr *program, x, y uint32, params []uint64) error {
	n := uint32(max(1, pr.p.blocks))
	if x%n != 0 {
		return fmt.Errorf("%d blocks in clusters of %d", x, n)
	}
	for by := range y {
		for bx := uint32(0); bx < x; bx += n {
			s.cluster = nil
			for i := range n {
				s.cluster = append(s.cluster, newBlock(pr, bx+i, by, x, params))
			}
			if err := s.run(pr); err != nil {
				return fmt.Errorf("block (%d,%d): %w", bx, by, err)
			}
		}
	}
	return nil
}

func newBlock(pr *program, bx, by, blocks uint32, params []uint64) simBlock {
	b := simBlock{waits: map[uint64]*simArrivals{}, shared: make([]byte, pr.p.shared+pr.dynamic), threads: make([]*thread, pr.p.threads)}
	for i := range b.shared {
		b.shared[i] = 0xa5
	}
	regs := make([]uint64, (pr.nregs+len(params))*len(b.threads))
	for i := range regs {
		regs[i] = simPoison
	}
	for i := range b.threads {
		r := regs[i*(pr.nregs+len(params)) : (i+1)*(pr.nregs+len(params))]
		copy(r[pr.nregs:], params)
		b.threads[i] = &thread{r: r, tid: uint32(i), ctaX: bx, ctaY: by, blocks: blocks, copies: make([][]simCopy, 1)}
	}
	return b
}

// run runs the blocks of a cluster, each as far as it goes, in turns.
func (s *simulator) run(pr *program) error {
	for {
		ended, moved := true, s.poll()
		for i := range s.cluster {
			b := &s.cluster[i]
			m, err := s.block(pr, b)
			if err != nil {
				return err
			}
			ended, moved = ended && b.ended, moved || m
		}
		if ended {
			return nil
		}
		if s.release() {
			continue
		}
		if !moved && !s.poll() {
			return fmt.Errorf("the threads wait for each other")
		}
	}
}

// poll moves the threads on whose barrier's phase is over.
func (s *simulator) poll() (moved bool) {
	for i := range s.cluster {
		b := &s.cluster[i]
		for _, t := range b.threads {
			if t.at == nil || t.at.kind != stepPoll {
				continue
			}
			if a := b.waits[t.r[t.at.src]+uint64(t.at.lane)]; a != nil && a.over(t.at.parity(t)) {
				t.r[t.at.dst] = 1
				t.at = nil
				t.pc++
				moved = true
			}
		}
	}
	return moved
}

// release opens the barrier of the cluster if all threads have arrived, and moves those on
// that wait there.
func (s *simulator) release() bool {
	for i := range s.cluster {
		for _, t := range s.cluster[i].threads {
			if !t.arrived {
				return false
			}
		}
	}
	for i := range s.cluster {
		s.cluster[i].begun = true
		for _, t := range s.cluster[i].threads {
			t.arrived = false
			if t.at != nil && t.at.kind == stepWait {
				t.at = nil
				t.pc++
			}
		}
	}
	return true
}

// block runs a block until all its threads have ended or wait for another block.
func (s *simulator) block(pr *program, b *simBlock) (moved bool, err error) {
	s.shared, s.waits = b.shared, b.waits
	for !b.ended {
		for w := 0; w < len(b.threads); w += 32 {
			if err := s.warp(pr, b.threads[w:min(w+32, len(b.threads))]); err != nil {
				return false, err
			}
		}
		waiting, done := 0, 0
		for _, t := range b.threads {
			switch {
			case t.finished:
				done++
			case t.at.kind == stepBarrier:
				waiting++
			}
		}
		b.ended = done == len(b.threads)
		if waiting == 0 {
			return moved, nil
		}
		if waiting < len(b.threads) {
			return false, fmt.Errorf("%d threads wait at a barrier that the others, of which %d have left, do not reach", waiting, done)
		}
		for _, t := range b.threads {
			t.at = nil
			t.pc++
		}
		moved = true
	}
	return moved, nil
}

// warp runs until every lane has finished or waits at a barrier.
func (s *simulator) warp(pr *program, lanes []*thread) error {
	for {
		together := 0
		for _, t := range lanes {
			if err := s.thread(pr, t); err != nil {
				return fmt.Errorf("thread %d: %w", t.tid, err)
			}
			if t.at != nil && t.at.kind == stepWarp {
				together++
			}
		}
		if together == 0 {
			return nil
		}
		if together != 32 {
			return fmt.Errorf("%d lanes at a step of their warp", together)
		}
		st := lanes[0].at
		for _, t := range lanes {
			if t.at != st {
				return fmt.Errorf("lanes at different steps of their warp")
			}
		}
		if err := st.warp(s, lanes); err != nil {
			return fmt.Errorf("line %d: %s: %w", st.in.line, st.in.op, err)
		}
		for _, t := range lanes {
			t.at = nil
			t.pc++
		}
	}
}

// together is the meaning of an instruction of a whole warp.
func (pr *program) together(in *inst) func(s *simulator, lanes []*thread) error {
	if in.op == "bar.warp.sync" {
		return func(*simulator, []*thread) error { return nil }
	}
	dst, src := pr.index(in.args[0].name), pr.index(in.args[1].name)
	var result func(vals *[32]uint64, lane int) uint64
	distance := int(in.args[2].value)
	switch {
	case strings.HasPrefix(in.op, "vote.sync.ballot"):
		result = func(vals *[32]uint64, _ int) (all uint64) {
			for i, v := range vals {
				all |= v & 1 << i
			}
			return all
		}
	case strings.HasPrefix(in.op, "shfl.sync.up"):
		result = func(vals *[32]uint64, lane int) uint64 {
			if lane < distance {
				return vals[lane]
			}
			return vals[lane-distance]
		}
	case strings.HasPrefix(in.op, "shfl.sync.bfly"):
		result = func(vals *[32]uint64, lane int) uint64 { return vals[lane^distance] }
	default:
		panic(in.op)
	}
	return func(_ *simulator, lanes []*thread) error {
		var vals [32]uint64
		for i, t := range lanes {
			vals[i] = t.r[src] & 0xffffffff
		}
		for i, t := range lanes {
			t.r[dst] = result(&vals, i)
		}
		return nil
	}
}

// thread runs one lane until it waits or finishes.
func (s *simulator) thread(pr *program, t *thread) error {
	if t.finished || t.at != nil {
		return nil
	}
	for count := 0; ; count++ {
		if count > 50_000_000 {
			return fmt.Errorf("does not end")
		}
		st := &pr.steps[t.pc]
		if st.guard >= 0 && (t.r[st.guard]&1 != 0) == st.in.not {
			t.pc++
			continue
		}
		switch st.kind {
		case stepBranch:
			t.pc = st.to
			continue
		case stepBarrier, stepWarp:
			t.at = st
			return nil
		case stepArrive:
			if t.arrived {
				return fmt.Errorf("arrives twice at the barrier of the cluster")
			}
			t.arrived = true
			t.pc++
			continue
		case stepWait, stepPoll:
			t.at = st
			return nil
		case stepExit:
			t.finished = true
			return nil
		}
		if err := st.run(s, t); err != nil {
			return fmt.Errorf("line %d: %s: %w", st.in.line, st.in.op, err)
		}
		t.pc++
	}
}

// memory finds the bytes at an address.
func (s *simulator) memory(addr uint64, size int) ([]byte, error) {
	if addr%uint64(size) != 0 && size <= 16 {
		return nil, fmt.Errorf("address %#x is not aligned to %d", addr, size)
	}
	return s.bytes(addr, size)
}

// bytes is memory at any address.
func (s *simulator) bytes(addr uint64, size int) ([]byte, error) {
	if addr >= simClusterBase {
		n, off := (addr-simClusterBase)/simClusterStep, (addr-simClusterBase)%simClusterStep
		if n >= uint64(len(s.cluster)) {
			return nil, fmt.Errorf("block %d of a cluster of %d", n, len(s.cluster))
		}
		b := &s.cluster[n]
		if !b.begun || b.ended || off+uint64(size) > uint64(len(b.shared)) {
			return nil, fmt.Errorf("shared address %d of %d in block %d of the cluster: begun %v, ended %v", off, len(b.shared), n, b.begun, b.ended)
		}
		return b.shared[off : off+uint64(size)], nil
	}
	if addr >= simSharedBase {
		off := addr - simSharedBase
		if off+uint64(size) > uint64(len(s.shared)) {
			return nil, fmt.Errorf("shared address %d of %d", off, len(s.shared))
		}
		return s.shared[off : off+uint64(size)], nil
	}
	for _, b := range s.buffers {
		if addr >= b.base && addr+uint64(size) <= b.base+uint64(len(b.data)) {
			return b.data[addr-b.base:][:size], nil
		}
	}
	return nil, fmt.Errorf("address %#x (%d bytes) is in no buffer", addr, size)
}

func readSized(b []byte, size int) uint64 {
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

func writeSized(b []byte, size int, v uint64) {
	switch size {
	case 1:
		b[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	default:
		binary.LittleEndian.PutUint64(b, v)
	}
}
