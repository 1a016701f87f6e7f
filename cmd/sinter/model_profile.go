package main

import (
	"context"
	"fmt"
	"sort"
	"time"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/onnx"
)

// operatorTimes is what one kind of operator did in a run.
type operatorTimes struct {
	Op    string  `json:"op"`
	Nodes int     `json:"nodes"`          // executions: those in loops count each time
	Host  int     `json:"host,omitempty"` // of them, on the host
	Took  seconds `json:"seconds,omitempty"`
	share float64
}

// seconds is a duration that JSON shows as a number.
type seconds time.Duration

// MarshalJSON writes seconds.
func (s seconds) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%.9g", time.Duration(s).Seconds()), nil
}

// observation collects the steps of a run by kind.
type observation struct {
	byOp   map[string]*operatorTimes
	inside []time.Duration // by depth: time of steps whose outer one is not over
	wait   func()          // for the device, nil to not wait
}

// step notes a step. Its own time is what steps inside of it did not take.
func (o *observation) step(s onnx.Step) {
	took := s.Took
	if o.wait != nil {
		began := time.Now()
		o.wait()
		took += time.Since(began)
	}
	for len(o.inside) < s.Depth+2 {
		o.inside = append(o.inside, 0)
	}
	own := max(0, took-o.inside[s.Depth+1])
	o.inside[s.Depth+1] = 0
	o.inside[s.Depth] += took
	t := o.byOp[s.Op]
	if t == nil {
		t = &operatorTimes{Op: s.Op}
		o.byOp[s.Op] = t
	}
	t.Nodes++
	if s.Host {
		t.Host++
	}
	t.Took += seconds(own)
}

// sorted returns the kinds, those that took longest first; without times, those
// with most nodes.
func (o *observation) sorted() []operatorTimes {
	var out []operatorTimes
	var total seconds
	for _, t := range o.byOp {
		out = append(out, *t)
		total += t.Took
	}
	for i := range out {
		out[i].share = float64(out[i].Took) / float64(max(1, total))
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i], out[j]
		if a.Took != b.Took {
			return a.Took > b.Took
		}
		if a.Nodes != b.Nodes {
			return a.Nodes > b.Nodes
		}
		return a.Op < b.Op
	})
	return out
}

// runExplanation is what --explain --json prints.
type runExplanation struct {
	Event     string               `json:"event"` // "explain"
	Operators []operatorTimes      `json:"operators"`
	Plans     []fusion.Explanation `json:"plans,omitempty"`
}

// explainRun shows which operators a run executes and where, and the plans of
// its launches.
func explainRun(e *env, m *onnx.Model, dev *sinter.Device, in map[string]*onnx.Value, asJSON bool) error {
	o := &observation{byOp: map[string]*operatorTimes{}}
	p, err := m.Compile(onnx.On(dev), onnx.Observe(o.step))
	if err != nil {
		return err
	}
	defer p.Release()
	plans, err := plansOf(e.ctx, dev, func(ctx context.Context) error {
		_, err := timed(ctx, p, dev, in)
		return err
	})
	if err != nil {
		return err
	}
	x := runExplanation{Event: "explain", Operators: o.sorted(), Plans: plans}
	for i := range x.Operators { // times of recording say nothing of the device
		x.Operators[i].Took = 0
	}
	sort.SliceStable(x.Operators, func(i, j int) bool {
		a, b := x.Operators[i], x.Operators[j]
		if a.Nodes != b.Nodes {
			return a.Nodes > b.Nodes
		}
		return a.Op < b.Op
	})
	if asJSON {
		e.stdout.object(x)
		return nil
	}
	total, host := 0, 0
	for _, t := range x.Operators {
		total, host = total+t.Nodes, host+t.Host
	}
	e.stdout.printf("\nA run executes %d nodes, %d of them on the host:\n", total, host)
	for _, t := range x.Operators {
		where := "device"
		switch t.Host {
		case t.Nodes:
			where = "host"
		case 0:
		default:
			where = fmt.Sprintf("device, %d on the host", t.Host)
		}
		e.stdout.printf("  %6d  %-24s %s\n", t.Nodes, t.Op, e.stdout.paint(faint, where))
	}
	for i, plan := range x.Plans {
		e.stdout.printf("\nplan %d\n%s", i, plan)
	}
	return nil
}

// runProfile is what --profile --json prints.
type runProfile struct {
	Event     string          `json:"event"` // "profile"
	Runs      int             `json:"runs"`
	First     seconds         `json:"first_seconds"` // the first run, which compiles kernels
	Median    seconds         `json:"median_seconds"`
	Min       seconds         `json:"min_seconds"`
	Max       seconds         `json:"max_seconds"`
	Waited    seconds         `json:"waited_seconds"` // a run that waits for each node
	Operators []operatorTimes `json:"operators"`      // of that run
}

// profileRun times runs, and the kinds of operators in one that waits for the
// device after each node.
func profileRun(e *env, m *onnx.Model, dev *sinter.Device, in map[string]*onnx.Value, runs int, asJSON bool) error {
	p, err := m.Compile(onnx.On(dev))
	if err != nil {
		return err
	}
	defer p.Release()
	r := runProfile{Event: "profile", Runs: runs}
	first, err := timed(e.ctx, p, dev, in)
	if err != nil {
		return err
	}
	r.First = seconds(first)
	times := make([]time.Duration, runs)
	for i := range times {
		if times[i], err = timed(e.ctx, p, dev, in); err != nil {
			return err
		}
	}
	sort.Slice(times, func(i, j int) bool { return times[i] < times[j] })
	r.Min, r.Median, r.Max = seconds(times[0]), seconds(times[runs/2]), seconds(times[runs-1])

	var failed error
	o := &observation{byOp: map[string]*operatorTimes{}, wait: func() {
		if err := dev.Sync(e.ctx); err != nil && failed == nil {
			failed = err
		}
	}}
	watched, err := m.Compile(onnx.On(dev), onnx.Observe(o.step))
	if err != nil {
		return err
	}
	defer watched.Release()
	if _, err := timed(e.ctx, watched, dev, in); err != nil { // compiles the kernels of single nodes
		return err
	}
	o.byOp, o.inside = map[string]*operatorTimes{}, nil
	took, err := timed(e.ctx, watched, dev, in)
	if err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	r.Waited, r.Operators = seconds(took), o.sorted()
	if asJSON {
		e.stdout.object(r)
		return nil
	}
	e.stdout.printf("\n%d runs: median %s, %s to %s; the first %s\n", runs, durationText(r.Median), durationText(r.Min), durationText(r.Max), durationText(r.First))
	e.stdout.printf("one that waits for each node: %s\n", durationText(r.Waited))
	for _, t := range r.Operators {
		e.stdout.printf("  %8s  %5.1f %%  %5d  %s\n", durationText(t.Took), 100*t.share, t.Nodes, t.Op)
	}
	return nil
}

// durationText writes a duration in three digits.
func durationText(s seconds) string {
	d := time.Duration(s)
	switch {
	case d >= 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= 100*time.Millisecond:
		return fmt.Sprintf("%.0f ms", 1e3*d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.2f ms", 1e3*d.Seconds())
	}
	return fmt.Sprintf("%.1f µs", 1e6*d.Seconds())
}
