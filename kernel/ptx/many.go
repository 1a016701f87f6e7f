package ptx

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Launches that do not depend on each other, such as the updates of an optimizer over many
// tensors, cost their beginning and their end each, which is most of what small ones take.
// Those of one entry run as one launch of another entry, which is made of its text: a block
// looks up whose it is and takes that launch's parameters, and its own number among the blocks
// of that one. What it computes then has the bits that it has alone.
//
// The parameters of such an entry are an array: where each launch begins among the blocks,
// filled up with what no block reaches; then of each launch its blocks along the first
// dimension of its grid, and its parameters.

// manyName is the array.
const manyName = "all"

// mostMany is how many launches are one at most, and manyStride of how many a block first
// finds out whose it may be where there are more than twice as many: it compares its number
// with where every fourth begins, then with where those between do.
const (
	mostMany   = 32
	manyStride = 4
)

// nowhere is where a launch begins that there is not.
const nowhere = math.MaxUint32

// Capacity is how many launches of the entry can be one: 1 if none can but alone.
func (e *Entry) Capacity() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.capacity == 0 {
		e.capacity = e.mostMany()
	}
	return e.capacity
}

func (e *Entry) mostMany() int {
	if e.Maps > 0 || len(e.slots) == 0 || strings.Contains(e.Text, "%nctaid") || strings.Contains(e.Text, ".explicitcluster") {
		return 1
	}
	n := mostMany
	for n > 1 && manyBytes(n, len(e.slots)) > maxParamBytes {
		n /= 2
	}
	return n
}

func manyBytes(n, slots int) int { return 8 * n * (2 + slots) }

// Many returns the entry of n launches of this one, of its capacity at most: that of the next
// power of two.
func (e *Entry) Many(n int) *Entry {
	e.mu.Lock()
	defer e.mu.Unlock()
	n = nextPower(int64(max(2, n)))
	if m := e.many[n]; m != nil {
		return m
	}
	if e.many == nil {
		e.many = map[int]*Entry{}
	}
	name := fmt.Sprintf("%s_many%d", e.Name, n)
	m := &Entry{Name: name, Text: manyText(e, name, n), Threads: e.Threads, Shared: e.Shared, Waits: e.Waits, slots: make([]slot, n*(2+len(e.slots)))}
	e.many[n] = m
	return m
}

// manyText is the text of an entry, with parameters of its launch found in an array.
func manyText(e *Entry, name string, n int) string {
	var b strings.Builder
	var counts [numClasses]int // registers of the entry
	fresh := func(c class) reg {
		counts[c]++
		return reg(fmt.Sprintf("%s%d", classPrefix[c], counts[c]-1))
	}
	var x, y, params reg
	find := func() string {
		var h asm
		id, first, number := fresh(b32), fresh(b32), fresh(b32)
		begin, after := fresh(b32), fresh(pred)
		x, params = fresh(b32), fresh(b64)
		h.op("mov.u32", id, "%ctaid.x")
		h.op("mov.b32", number, "0")
		stride := 1
		if n > 2*manyStride {
			stride = manyStride
		}
		for i := stride; i < n; i += stride {
			h.op("ld.param.u32", begin, fmt.Sprintf("[%s+%d]", manyName, 8*i))
			h.op("setp.ge.u32", after, id, begin)
			h.opIf(after, "mov.b32", number, i)
		}
		at := func(offset int) string {
			h.op("mov.b64", params, manyName)
			h.op("mad.wide.u32", params, number, "8", params)
			return mem(params, int64(offset))
		}
		if stride > 1 {
			at(0)
			for i := 1; i < stride; i++ {
				h.op("ld.param.u32", begin, mem(params, int64(8*i)))
				h.op("setp.ge.u32", after, id, begin)
				h.opIf(after, "add.u32", number, number, "1")
			}
		}
		h.op("ld.param.u32", first, at(0))
		h.op("sub.u32", x, id, first)
		h.op("mov.b64", params, manyName)
		h.op("mad.wide.u32", params, number, 8*(1+len(e.slots)), params)
		if strings.Contains(e.Text, "%ctaid.y") {
			y = fresh(b32)
			across, rows := fresh(b32), fresh(b32)
			h.op("ld.param.u32", across, mem(params, int64(8*n)))
			h.op("div.u32", y, x, across)
			h.op("mul.lo.u32", rows, y, across)
			h.op("sub.u32", x, x, rows)
		}
		return h.body.String()
	}
	var declared [numClasses]bool
	state := 0 // before the body, among its declarations, behind them
	for line := range strings.Lines(e.Text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, ".visible"):
			fmt.Fprintf(&b, ".visible .entry %s(\n\t.param .align 8 .b8 %s[%d]\n", name, manyName, manyBytes(n, len(e.slots)))
			continue
		case state == 0 && strings.HasPrefix(trimmed, ".param"):
			continue
		case trimmed == "{":
			state = 1
		case state == 1 && strings.HasPrefix(trimmed, ".reg"):
			for c, t := range classType {
				if strings.HasPrefix(trimmed, ".reg "+t+" ") {
					at := strings.IndexByte(trimmed, '<')
					counts[c], _ = strconv.Atoi(trimmed[at+1 : strings.IndexByte(trimmed, '>')])
					declared[c] = true
				}
			}
			continue
		case state == 1 && !strings.HasPrefix(trimmed, ".shared"):
			state = 2
			for c := range counts {
				counts[c] = max(counts[c], 1)
			}
			text := find()
			for c, t := range classType {
				if declared[c] || counts[c] > 1 {
					fmt.Fprintf(&b, "\t.reg %s %s<%d>;\n", t, classPrefix[c], counts[c])
				}
			}
			b.WriteString(text)
		}
		if state == 2 {
			if at, ok := strings.CutPrefix(trimmed, "ld.param.u64 "); ok {
				to, from, _ := strings.Cut(strings.TrimSuffix(at, "];"), ", [a")
				i, _ := strconv.Atoi(from)
				fmt.Fprintf(&b, "\tld.param.u64 %s, [%s+%d];\n", to, params, 8*(n+1+i))
				continue
			}
			line = strings.ReplaceAll(strings.ReplaceAll(line, "%ctaid.x", string(x)), "%ctaid.y", string(y))
		}
		b.WriteString(line)
	}
	return b.String()
}

// AppendMany appends what the parameters of many launches of the entry begin with: so many
// blocks has each. Their own follow, see [Step.AppendTo]; those that there are not have zeros.
func (e *Entry) AppendMany(params []uint64, blocks []uint32) []uint64 {
	at := uint64(0)
	for i := range nextPower(int64(max(2, len(blocks)))) {
		if i >= len(blocks) {
			params = append(params, nowhere)
			continue
		}
		params = append(params, at)
		at += uint64(blocks[i])
	}
	return params
}

// AppendTo appends the parameters of a launch that is one of many.
func (s *Step) AppendTo(params []uint64) []uint64 {
	return append(append(params, uint64(s.GridX)), s.Params...)
}

// Blocks is how many blocks a launch has.
func (s *Step) Blocks() int64 { return int64(s.GridX) * int64(s.GridY) }
