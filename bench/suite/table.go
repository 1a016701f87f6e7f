package suite

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Table writes results as they come: as Markdown, or as text for a terminal.
type Table struct {
	w        io.Writer
	markdown bool
	gpu      bool
	peers    []string // the columns
	group    string
	limits   bool // the table of limits is open
}

// NewTable writes to w; peers have a column each.
func NewTable(w io.Writer, markdown bool, peers []string) *Table {
	return &Table{w: w, markdown: markdown, peers: peers}
}

// NewGPUTable is [NewTable] for the results of a GPU: without threads, with the time of
// calls back to back, to which the columns of peers belong.
func NewGPUTable(w io.Writer, markdown bool, peers []string) *Table {
	return &Table{w: w, markdown: markdown, gpu: true, peers: peers}
}

// row writes cells, the first ones to the left.
func (t *Table) row(cells []string) error {
	if t.markdown {
		_, err := fmt.Fprintf(t.w, "| %s |\n", strings.Join(cells, " | "))
		return err
	}
	var b strings.Builder
	w := t.widths()
	for i, c := range cells {
		if i == 0 {
			fmt.Fprintf(&b, "%-*s", w[0], c)
			continue
		}
		fmt.Fprintf(&b, " %*s", w[min(i, len(w)-1)], c)
	}
	_, err := fmt.Fprintln(t.w, strings.TrimRight(b.String(), " "))
	return err
}

// widths are those of the columns; all that follow are as wide as the last.
func (t *Table) widths() []int {
	if t.gpu {
		return []int{44, 9, 12, 9, 8, 22}
	}
	return []int{44, 3, 9, 9, 8, 22}
}

// head begins a table.
func (t *Table) head(title string, cells []string) error {
	if _, err := fmt.Fprintf(t.w, map[bool]string{true: "\n### %s\n\n", false: "\n%s\n"}[t.markdown], title); err != nil {
		return err
	}
	if err := t.row(cells); err != nil || !t.markdown {
		return err
	}
	rule := slices.Repeat([]string{"---:"}, len(cells))
	rule[0] = "---"
	return t.row(rule)
}

// Limit writes a row of the limits.
func (t *Table) Limit(l Limit) error {
	if !t.limits {
		t.limits = true
		if err := t.head("limits", []string{"limit", "thr", "median", "best"}); err != nil {
			return err
		}
	}
	name, unit := l.Kind, "G/s"
	if l.Bytes > 0 {
		name, unit = fmt.Sprintf("%s, %d KB", l.Kind, l.Bytes>>10), "GB/s"
	}
	text := func(v float64) string { return fmt.Sprintf("%.4g %s", v/1e9, unit) }
	return t.row([]string{name, fmt.Sprint(l.Threads), text(l.Rate.Median), text(l.Best)})
}

// Result writes a row of a workload.
func (t *Table) Result(r Result) error {
	if r.Group != t.group {
		t.group = r.Group
		columns := []string{"workload", "thr", "kernels", "call", "of limit"}
		if t.gpu {
			columns = []string{"workload", "kernels", "back to back", "call", "of copy"}
		}
		if err := t.head(r.Group, append(columns, t.peers...)); err != nil {
			return err
		}
	}
	cells := []string{r.Workload}
	if !t.gpu {
		cells = append(cells, fmt.Sprint(r.Threads))
	}
	if r.Error != "" {
		if t.markdown {
			return t.row(append(cells, strings.ReplaceAll(r.Error, "|", "/")))
		}
		return t.row(append(cells, r.Error))
	}
	cells = append(cells, timeText(r.Kernel.Median))
	if t.gpu {
		cells = append(cells, timeText(r.Stream.Median))
	}
	cells = append(cells, timeText(r.Call.Median))
	if r.Share != nil {
		cells = append(cells, fmt.Sprintf("%.2f", r.Share.Median))
	} else {
		cells = append(cells, "")
	}
	for _, name := range t.peers {
		cell := ""
		for _, p := range r.Peers {
			switch {
			case p.Peer == name && t.gpu:
				cell = ratioText(p.StreamRatio)
			case p.Peer == name:
				cell = ratioText(p.Ratio)
			}
		}
		cells = append(cells, cell)
	}
	return t.row(cells)
}

// ratioText is a ratio with its interval: "0.52 (0.50–0.55)".
func ratioText(s Stat) string {
	if !s.HasInterval() {
		return fmt.Sprintf("%.2f", s.Median)
	}
	return fmt.Sprintf("%.2f (%.2f–%.2f)", s.Median, s.Low, s.High)
}

func timeText(ns float64) string {
	switch d := time.Duration(ns); {
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%.2f µs", ns/1e3)
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.0f µs", ns/1e3)
	default:
		return fmt.Sprintf("%.1f ms", ns/1e6)
	}
}

// Legend explains the columns.
const Legend = `Times are medians of a call: "kernels" inside kernels and routines, "call" from recording to the end of the work. "of limit" is
the least time that bytes or arithmetic allow on this machine, measured in the same rounds, over that of the kernels. Columns of peers
are the time of the kernels over theirs, the median of ratios formed within rounds with its 95 % interval: below 1 Sinter is ahead,
and where the interval reaches 1.0 both are level.`

// LegendGPU explains those of a GPU.
const LegendGPU = `Times are medians of a call: "kernels" inside kernels by the GPU's clock, which are then launched one by one, "back to back" of calls that are
queued one behind the other, captured where they can be (sinter.Capture), "call" from recording to the end of the work. "of copy" is the time of a
kernel that moves the bytes that the workload must read and write over that of its kernels. Columns of peers are the time back to back over
theirs, which is that of calls back to back too, or of CUDA graphs: the median of ratios formed within rounds with its 95 % interval. Below 1
Sinter is ahead, and where the interval reaches 1.0 both are level.`

// LegendCPU is added where the time of processors was measured.
const LegendCPU = `Times are those that processors spent, of one thread; "kernels" has the host's part of a call too, some microseconds.`
