package contract

import (
	"runtime"
	"unsafe"

	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64"
)

// Sizes of tasks; see [Blocking] for those of blocks.
const (
	taskWork  = 4 << 20 // products of a task, unless one strip has more
	packTask  = 1 << 15 // elements that one task of packing writes
	tasksEach = 4       // per thread, if there are as many tiles
)

// round is a part of a problem whose packed operands exist at one time: some trips
// of the loops, rows and columns.
type round struct {
	*problem
	from, to int64 // trips
	rows     [2]int64
	cols     [2]int64
	slots    [2][]int64 // by side: where a trip finds its packed operand
	made     [2][]int64 // by side: a trip for which a packed operand is made
	blocks   [2]*[]byte
	slotSize [2]int64
	tiles    int64 // of rows
	block    int64 // tiles in a block
	strips   int64 // of columns
	group    int64 // strips in a task
	local    bool  // tasks pack the strips that they read, which no other does
}

// blockRows is how many packed rows are kept at a time.
func (p *problem) blockRows() int64 {
	n := max(p.blocking.PackBytes/p.apart(p.lanes), 1)
	rows := int64(p.Code.tiles.Rows) * p.blocking.Tiles
	return max(n/rows, 1) * rows
}

// blockCols is how many packed columns are kept at a time.
func (p *problem) blockCols() int64 {
	strip := int64(p.Code.tiles.Cols)
	return max(p.blocking.PackBytes/(p.lanes*p.size*strip), 1) * strip
}

// work divides the problem into rounds, each of which packs and then multiplies.
func (p *problem) work(threads int) *kernel.Work {
	w := &kernel.Work{}
	rows, cols := p.extents[0], p.extents[1]
	stepM, stepN := rows, cols
	if p.slotBytes(0, 1) > 0 && p.constant[0] == nil {
		stepM = min(rows, p.blockRows())
	}
	local := p.packsAlone(threads)
	if p.ops[1].mode != inPlace && !local && p.constant[1] == nil {
		stepN = min(cols, p.blockCols())
	}
	trips := int64(1)
	if stepM == rows && stepN == cols {
		trips = p.trips
		for i := range p.ops {
			if n := p.slotBytes(i, p.extents[i]); n > 0 && p.constant[i] == nil && !(i == 1 && local) {
				trips = min(trips, max(1, p.blocking.PackBytes/n))
			}
		}
	}
	var blocks [2]*[]byte
	for from := int64(0); from < p.trips; from += trips {
		for n := int64(0); n < cols; n += stepN {
			for m := int64(0); m < rows; m += stepM {
				r := &round{problem: p, from: from, to: min(from+trips, p.trips), rows: [2]int64{m, min(m+stepM, rows)}, cols: [2]int64{n, min(n+stepN, cols)}}
				if r.local = local; !local {
					r.place(1, &blocks[1], stepN, trips)
				}
				r.place(0, &blocks[0], stepM, trips)
				r.divide(threads)
				r.phases(w, m == 0, n == 0 || stepM < rows, threads)
			}
		}
	}
	w.Release = func() {
		p.findFault()
		runtime.KeepAlive(p.l)
		for _, b := range blocks {
			giveBytes(b)
		}
	}
	return w
}

// newFault is where the parts note faults, nil if they cannot meet any.
func (f *form) newFault() *kernel.Fault {
	if !f.faults {
		return nil
	}
	return new(kernel.Fault)
}

// findFault runs the interpreter if a part has noted a fault, to learn where the first
// is in the whole. The values come out the same.
func (p *problem) findFault() {
	if p.fault == nil || p.l.Fault == nil {
		return
	}
	if code, _ := p.fault.First(); code != kernel.NoFault {
		p.interpreter().Run(p.l)
	}
}

// packsAlone reports whether each strip of columns is read by one task only, which
// then packs it into a cache instead of memory.
func (p *problem) packsAlone(threads int) bool {
	o, t := &p.ops[1], p.Code.tiles
	if o.mode == inPlace || p.constant[1] != nil || p.extents[0] > int64(t.Rows)*p.blocking.Tiles {
		return false
	}
	strips := (p.extents[1] + int64(t.Cols) - 1) / int64(t.Cols)
	return p.packedCount(1) == p.trips && (threads == 1 || strips*p.trips >= int64(2*threads))
}

// slotBytes is the size of one packed operand of so many rows or columns, sums of rows
// included.
func (p *problem) slotBytes(i int, n int64) int64 {
	o, size := &p.ops[i], int64(0)
	if o.mode != inPlace {
		switch {
		case i == 1:
			strip := int64(p.Code.tiles.Cols)
			size = (n + strip - 1) / strip * o.row
		case p.sides[0].along:
			size = p.lanes * o.kstep
		default:
			size = n * o.row
		}
	}
	if i == 0 && p.sides[1].flip {
		size += n * sumBytes
	}
	return size
}

// place finds room for the packed operands of a side, of which no round has more rows
// or columns than most, nor more trips.
func (r *round) place(i int, block **[]byte, most, trips int64) {
	o := &r.ops[i]
	if r.slotSize[i] = r.slotBytes(i, most); r.slotSize[i] == 0 {
		return
	}
	seen := map[int64]int64{}
	for trip := r.from; trip < r.to; trip++ {
		number := int64(0)
		for j, rest := len(o.index)-1, trip; j >= 0; j-- {
			number += rest % r.loops.extents[j] * o.index[j]
			rest /= r.loops.extents[j]
		}
		slot, ok := seen[number]
		if !ok {
			if slot = int64(len(seen)); r.constant[i] != nil {
				slot = number
			}
			seen[number] = slot
			r.made[i] = append(r.made[i], trip)
		}
		r.slots[i] = append(r.slots[i], slot)
	}
	if r.constant[i] != nil {
		return
	}
	if *block == nil { // it serves all rounds: a later one may meet more operands than this
		*block = takeBytes(int(r.slotSize[i] * min(trips, r.packedCount(i))))
	}
	r.blocks[i] = *block
}

// divide chooses the blocks and groups that tasks cover.
func (r *round) divide(threads int) {
	t := r.Code.tiles
	r.tiles = (r.rows[1] - r.rows[0] + int64(t.Rows) - 1) / int64(t.Rows)
	r.strips = (r.cols[1] - r.cols[0] + int64(t.Cols) - 1) / int64(t.Cols)
	r.block = min(r.tiles, r.blocking.Tiles)
	perStrip := r.block * int64(t.Rows*t.Cols) * r.lanes
	r.group = min(max(taskWork/perStrip, 1), r.blocking.Strips, r.strips)
	enough := int64(tasksEach * threads)
	for threads > 1 && r.tasks() < enough && (r.group > 1 || r.block > 1) {
		if r.group > 1 {
			r.group = (r.group + 1) / 2
		} else if r.local {
			break
		} else {
			r.block = (r.block + 1) / 2
		}
	}
}

func (r *round) blocksOfRows() int64   { return (r.tiles + r.block - 1) / r.block }
func (r *round) groupsOfStrips() int64 { return (r.strips + r.group - 1) / r.group }
func (r *round) tasks() int64 {
	return (r.to - r.from) * r.blocksOfRows() * r.groupsOfStrips()
}

// phases adds those of the round.
func (r *round) phases(w *kernel.Work, columns, rows bool, threads int) {
	r.packing(w, rows && r.constant[0] == nil, columns && !r.local && r.constant[1] == nil)
	work := (r.to - r.from) * (r.rows[1] - r.rows[0]) * (r.cols[1] - r.cols[0]) * r.k
	if r.singleRow() {
		lanes := int64(r.rowTiles.Lanes)
		r.group = (r.extents[1]/int64(tasksEach*threads) + lanes - 1) / lanes * lanes
		r.group = max(min(r.group, rowCols), 16*lanes)
		w.Phases = append(w.Phases, kernel.Phase{Tasks: (r.to - r.from) * ((r.extents[1] + r.group - 1) / r.group), Cost: work, Do: r.multiplyRow})
		return
	}
	w.Phases = append(w.Phases, kernel.Phase{Tasks: r.tasks(), Cost: work, Do: r.multiply})
}

// packing adds the phase that packs rows, or columns, or both.
func (r *round) packing(w *kernel.Work, rows, columns bool) {
	var pack kernel.Phase
	var tasks [2]int64
	var each [2]int64 // rows, or strips, in a task
	if r.slotSize[0] > 0 && rows {
		each[0] = max(1, packTask/r.k)
		tasks[0] = int64(len(r.made[0])) * ((r.rows[1] - r.rows[0] + each[0] - 1) / each[0])
		pack.Cost += int64(len(r.made[0])) * (r.rows[1] - r.rows[0]) * r.k * int64(len(r.pack[0].K.Body))
	}
	if r.ops[1].mode != inPlace && columns {
		each[1] = 1
		tasks[1] = int64(len(r.made[1])) * r.strips
		pack.Cost += int64(len(r.made[1])) * (r.cols[1] - r.cols[0]) * r.k * int64(len(r.pack[1].K.Body))
	}
	if pack.Tasks = tasks[0] + tasks[1]; pack.Tasks > 0 {
		pack.Do = func(n int64) {
			if n < tasks[0] {
				r.packRows(n, each[0])
			} else {
				r.packStrip(n - tasks[0])
			}
		}
		w.Phases = append(w.Phases, pack)
	}
}

// coordinates of a trip.
func (p *problem) coordinates(trip int64, at []int64) []int64 {
	at = at[:len(p.loops.axes)]
	for j := len(at) - 1; j >= 0; j-- {
		at[j] = trip % p.loops.extents[j]
		trip /= p.loops.extents[j]
	}
	return at
}

// slot is where a packed operand begins.
func (r *round) slot(i int, number int64) unsafe.Pointer {
	if r.constant[i] != nil {
		return unsafe.Add(r.constant[i], number*r.slotSize[i])
	}
	return unsafe.Add(unsafe.Pointer(unsafe.SliceData(*r.blocks[i])), number*r.slotSize[i])
}

// packRows is task n of packing rows.
func (r *round) packRows(n, each int64) {
	var buf [kernel.MaxAxes]int64
	per := (r.rows[1] - r.rows[0] + each - 1) / each
	slot := n / per
	from := r.rows[0] + n%per*each
	to := min(from+each, r.rows[1])
	o, trip := &r.ops[0], r.made[0][slot]
	if o.mode != inPlace {
		base := unsafe.Add(r.slot(0, slot), (from-r.rows[0])*o.row)
		o.walk.run(base, r.slotSize[0], r.coordinates(trip, buf[:]), [2]int64{from, 0}, [2]int64{to, r.k})
		if fill := r.lanes*r.size - r.k*o.size; fill > 0 && r.per > 1 {
			for m := range to - from {
				clear(unsafe.Slice((*byte)(unsafe.Add(base, m*o.row+r.k*o.size)), fill))
			}
		}
	}
	if r.sides[1].flip {
		r.sumRows(trip, slot, from, to)
	}
	runtime.KeepAlive(r)
}

// packStrip is task n of packing columns.
func (r *round) packStrip(n int64) {
	o, strip := &r.ops[1], int64(r.Code.tiles.Cols)
	slot, first := n/r.strips, r.cols[0]+n%r.strips*strip
	dst := unsafe.Add(r.slot(1, slot), n%r.strips*o.row)
	r.strip(dst, r.made[1][slot], [2]int64{first, 0}, [2]int64{min(first+strip, r.cols[1]), r.lanes})
}

// strip packs columns and lanes of k [from, to) of a trip.
func (r *round) strip(dst unsafe.Pointer, trip int64, from, to [2]int64) {
	var buf [kernel.MaxAxes]int64
	o, p, at := &r.ops[1], r.panels, r.coordinates(trip, buf[:])
	base := o.base
	if o.strides != nil {
		base += uintptr(r.loops.at(trip, o.strides) * o.size)
	}
	switch o.mode {
	case byWalk:
		o.walk.run(dst, o.row, at, from, to)
	case byFold:
		r.fold(dst, base, from, to)
	case byCopy:
		x := amd64.Panel{DstRow: o.kstep, K: to[1] - from[1], SrcRow: o.ks}
		if o.table != nil {
			x.Table = uintptr(unsafe.Pointer(&o.table[from[1]]))
		} else {
			base += uintptr(from[1] * o.ks)
		}
		r.runs(from[0], to[0], o.strides, func(col, count int64) {
			x.Dst = uintptr(dst) + uintptr((col-from[0])*r.size)
			x.Src = base + uintptr(r.ranges[1].at(col, o.strides)*r.size)
			if o.table != nil {
				p.CopyTable(&x, int(count))
			} else {
				p.Copy(&x, int(count))
			}
		})
		runtime.KeepAlive(o.table)
	case byPick:
		x := amd64.Pick{DstRow: o.kstep, K: to[1] - from[1], Table: uintptr(unsafe.Pointer(&o.table[from[1]]))}
		picks := amd64.PicksOf(r.level)
		r.runs(from[0], to[0], o.strides, func(col, count int64) {
			x.Dst = uintptr(dst) + uintptr((col-from[0])*r.size)
			x.Src = base + uintptr(r.ranges[1].at(col, o.strides)*r.size)
			picks.Run(&x, int(count))
		})
		runtime.KeepAlive(o.table)
	case byTurn:
		inner := r.lanes // ks side by side
		if !o.oneK {
			inner = r.ks.extents[len(r.ks.extents)-1] / r.per
		}
		for k := from[1]; k < to[1]; {
			end := min(to[1], k-k%inner+inner)
			along := base + uintptr(r.ks.at(k*r.per, o.strides)*o.size)
			r.turn(unsafe.Add(dst, (k-from[1])*o.kstep), end-k, from[0], to[0], r.sides[1].flip, func(col int64) uintptr {
				return along + uintptr(r.ranges[1].at(col, o.strides)*o.size)
			})
			k = end
		}
	case byBoth:
		part := takeBytes(r.Code.tiles.Cols * turnRow * int(r.size))
		rows := unsafe.Pointer(unsafe.SliceData(*part))
		for k := from[1]; k < to[1]; k += turnKs {
			end := min(k+turnKs, to[1])
			if end*r.per > r.k { // the last lane is filled up
				clear(*part)
			}
			o.walk.run(rows, int64(len(*part)), at, [2]int64{from[0], k * r.per}, [2]int64{to[0], min(end*r.per, r.k)})
			r.turn(unsafe.Add(dst, (k-from[1])*o.kstep), end-k, from[0], to[0], false, func(col int64) uintptr {
				return uintptr(rows) + uintptr((col-from[0])*turnRow*r.size)
			})
		}
		runtime.KeepAlive(part)
		giveBytes(part)
	}
	if r.sides[0].flip {
		r.sumColumns(dst, to[0]-from[0], to[1]-from[1], min(to[1]*r.per, r.k)-from[1]*r.per)
	}
	runtime.KeepAlive(r)
}

// runs calls f for the ranges of columns that have one step, that of the last axis.
func (r *round) runs(from, to int64, strides []int64, f func(col, count int64)) {
	s := r.ranges[1]
	inner, n := int64(1), len(s.axes)
	for i := n - 1; i >= 0; i-- {
		if i < n-1 && strides[s.axes[i]] != inner*strides[s.axes[n-1]] {
			break
		}
		inner *= s.extents[i]
	}
	for from < to {
		end := min(to, from-from%inner+inner)
		f(from, end-from)
		from = end
	}
}

// turn transposes n lanes of k of the columns of a strip.
func (r *round) turn(dst unsafe.Pointer, n, from, to int64, flip bool, column func(col int64) uintptr) {
	lanes := int64(r.panels.Lanes)
	x := amd64.Panel{DstRow: r.ops[1].kstep, K: n}
	for first := from; first < to; first += lanes {
		for i := range lanes {
			x.Rows[i] = column(min(first+i, to-1))
		}
		x.Dst = uintptr(dst) + uintptr((first-from)*r.size)
		r.panels.Turn(&x, flip)
	}
}

// rowCols is the most columns of a single row that are summed at a time: the sums
// stay in the first cache.
const rowCols = 2048

// singleRow reports whether the problem is single rows times matrices in place,
// which are read row by row.
func (p *problem) singleRow() bool {
	return p.rowTiles != nil && p.extents[0] == 1 && p.ops[1].mode == inPlace && p.extents[1] >= int64(4*p.Code.tiles.Cols)
}

// multiplyRow is task n of the products of a single row.
func (r *round) multiplyRow(n int64) {
	var buf [kernel.MaxAxes]int64
	parts := (r.extents[1] + r.group - 1) / r.group
	trip, first := r.from+n/parts, n%parts*r.group
	end := min(first+r.group, r.extents[1])
	t := r.rowTiles
	sums := takeBytes(int(2 * r.group * r.size)) // of a chunk, and of all
	defer giveBytes(sums)
	part := unsafe.Pointer(unsafe.SliceData(*sums))
	whole := unsafe.Add(part, r.group*r.size)
	out := uintptr(whole)
	if r.out.place {
		out = r.out.base + uintptr((r.loops.at(trip, r.out.strides)+first)*r.size)
	}
	a, b := r.operandAt(0, trip), r.operandAt(1, trip)+uintptr(first*r.size)
	x := amd64.RowTile{AStep: r.ops[0].kstep, BStep: r.ops[1].kstep, From: uintptr(part), Cols: int(end - first)}
	for from := int64(0); from < r.k; from += r.chunk {
		to := min(from+r.chunk, r.k)
		x.Zero, x.Add, x.To = 1, 0, uintptr(part)
		for k := from; k < to; k += int64(x.K) {
			if x.K = t.Steps; k+int64(t.Steps) > to {
				x.K = 1
			}
			if k+int64(x.K) == to { // the chunk is through
				x.To = out
				if from > 0 {
					x.Add = 1
				}
			}
			x.A, x.B = a+uintptr(k*x.AStep), b+uintptr(k*x.BStep)
			t.Run(&x)
			x.Zero = 0
		}
	}
	if !r.out.place {
		r.out.walk.run(whole, r.group*r.size, r.coordinates(trip, buf[:]), [2]int64{0, first}, [2]int64{1, end})
	}
	runtime.KeepAlive(sums)
	runtime.KeepAlive(r)
}

// multiply is task n of the products.
func (r *round) multiply(n int64) {
	var buf [kernel.MaxAxes]int64
	t := r.Code.tiles
	groups, blocks := r.groupsOfStrips(), r.blocksOfRows()
	trip := r.from + n/(groups*blocks)
	block, group := n%(groups*blocks)/groups, n%groups
	tile0, tile1 := block*r.block, min((block+1)*r.block, r.tiles)
	strip0, strip1 := group*r.group, min((group+1)*r.group, r.strips)
	rows, strip := r.rows[1]-r.rows[0], int64(t.Cols)
	row := func(tile int64) int64 { return tile * rows / r.tiles } // rows are divided evenly

	a, b := r.operandAt(0, trip), uintptr(0)
	var packed *[]byte // of one strip and chunk
	if r.local {
		packed = takeBytes(int(r.stripRows(min(r.chunk, r.lanes)) * r.ops[1].kstep))
	} else {
		b = r.operandAt(1, trip)
	}
	x := amd64.Tile{ARow: r.ops[0].row, AStep: r.ops[0].kstep, BStep: r.ops[1].kstep, CRow: r.out.row}
	var part *[]byte
	var c uintptr // of the first row and column of the task
	firstRow, firstCol := row(tile0), strip0*strip
	endCol := min(strip1*strip, r.cols[1]-r.cols[0])
	if r.out.place {
		c = r.out.base + uintptr(r.loops.at(trip, r.out.strides)*r.size+(r.rows[0]+firstRow)*r.out.row+(r.cols[0]+firstCol)*r.size)
	} else {
		part = takeBytes(int((row(tile1) - firstRow) * r.out.row))
		c = uintptr(unsafe.Pointer(unsafe.SliceData(*part)))
	}
	minus, noSums := r.rowSums(trip), uintptr(unsafe.Pointer(&constants.zeros))
	x.Plus = noSums
	for k := int64(0); k < r.lanes; k += r.chunk {
		x.K = min(r.chunk, r.lanes-k)
		for s := strip0; s < strip1; s++ {
			x.Cols = int(min(strip, endCol-s*strip))
			if r.local {
				dst := unsafe.Pointer(unsafe.SliceData(*packed))
				first := r.cols[0] + s*strip
				r.strip(dst, trip, [2]int64{first, k}, [2]int64{first + int64(x.Cols), k + x.K})
				x.B = uintptr(dst)
			} else if r.ops[1].mode == inPlace {
				x.B = b + uintptr(s*strip*r.size+k*x.BStep)
			} else {
				x.B = b + uintptr(s*r.ops[1].row+k*x.BStep)
			}
			if r.sides[0].flip {
				switch {
				case r.local:
					x.Plus = x.B + uintptr((x.K+int64(r.panels.Lanes))*x.BStep)
				case k == 0:
					x.Plus = x.B + uintptr((r.lanes+int64(r.panels.Lanes))*x.BStep)
				default:
					x.Plus = noSums
				}
			}
			for i := tile0; i < tile1; i++ {
				m := row(i)
				x.Rows = int(row(i+1) - m)
				x.A = a + uintptr(m*x.ARow+k*x.AStep)
				if x.Minus = noSums; minus != 0 && k == 0 {
					x.Minus = minus + uintptr(m*sumBytes)
				}
				x.C = c + uintptr((m-firstRow)*x.CRow+(s-strip0)*strip*r.size)
				t.Run(&x)
			}
		}
		x.Add = 1
	}
	if part != nil {
		at := r.coordinates(trip, buf[:])
		from := [2]int64{r.rows[0] + firstRow, r.cols[0] + firstCol}
		r.out.walk.run(unsafe.Pointer(unsafe.SliceData(*part)), int64(len(*part)), at, from, [2]int64{r.rows[0] + row(tile1), r.cols[0] + endCol})
		giveBytes(part)
	}
	giveBytes(packed)
	runtime.KeepAlive(r)
}

// operandAt is where the first row or column of the round is, for a trip.
func (r *round) operandAt(i int, trip int64) uintptr {
	o := &r.ops[i]
	if o.mode != inPlace {
		return uintptr(r.slot(i, r.slots[i][trip-r.from]))
	}
	at := o.base + uintptr(r.loops.at(trip, o.strides)*o.size)
	if i == 0 {
		return at + uintptr(r.rows[0]*o.row)
	}
	return at + uintptr(r.cols[0]*r.size)
}
