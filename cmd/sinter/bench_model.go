package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/onnx"
)

// benchModel are the flags that apply with a model; the device is that of workloads too.
type benchModel struct {
	Device      string   `name:"device" placeholder:"ID" help:"Device to compute on; \"sinter devices\" lists them. Without a model a GPU. (default: cpu)"`
	Input       []string `name:"input" short:"i" sep:"none" placeholder:"NAME=WHAT" help:"An input as \"sinter run\" takes it; in random:SHAPE and zeros:SHAPE an extent B is the batch. (default: random, the first free extent is the batch)"`
	Dims        []string `name:"dim" placeholder:"NAME=N" help:"Extent of a named dimension. (default: 1)"`
	Batch       []int    `name:"batch" placeholder:"N,..." help:"Batch sizes. (default: 1)"`
	Concurrency []int    `name:"concurrency" placeholder:"N,..." help:"Numbers of runs at the same time. (default: 1)"`
	Runs        *int     `name:"runs" placeholder:"N" help:"Runs to measure, of each batch and concurrency. (default: 50)"`
	Warmup      *int     `name:"warmup" placeholder:"N" help:"Runs before that are not measured. (default: 3)"`
}

// measurement is what was measured of one engine, batch and concurrency.
type measurement struct {
	Engine      string  `json:"engine"` // "sinter" or "onnxruntime"
	Device      string  `json:"device,omitempty"`
	Batch       int     `json:"batch"`
	Concurrency int     `json:"concurrency"`
	Runs        int     `json:"runs"`
	First       seconds `json:"first_seconds"` // the first run, which compiles
	P50         seconds `json:"p50_seconds"`
	P90         seconds `json:"p90_seconds"`
	P99         seconds `json:"p99_seconds"`
	Min         seconds `json:"min_seconds"`
	Rate        number  `json:"items_per_second"`
	DeviceBytes int64   `json:"device_peak_bytes,omitempty"`
	RSS         int64   `json:"rss_peak_bytes,omitempty"` // of the process so far
	Ratio       *number `json:"latency_to_onnxruntime,omitempty"`
	Error       string  `json:"error,omitempty"`
	times       []time.Duration
}

// check checks the flags and fills in what was not given.
func (c *benchCmd) check() error {
	list := func(flag string, values *[]int, most int) error {
		if *values == nil {
			*values = []int{1}
		}
		for _, v := range *values {
			if v < 1 || v > most {
				return usage("%s is %d, expected 1 to %d", flag, v, most)
			}
		}
		return nil
	}
	if c.Runs == nil {
		c.Runs = new(50)
	}
	if c.Warmup == nil {
		c.Warmup = new(3)
	}
	if c.Device == "" {
		c.Device = "cpu"
	}
	switch {
	case *c.Runs < 1 || *c.Runs > 1_000_000:
		return usage("--runs is %d, expected 1 to 1000000", *c.Runs)
	case *c.Warmup < 0 || *c.Warmup > 1_000_000:
		return usage("--warmup is %d, expected 0 to 1000000", *c.Warmup)
	case len(c.Threads) > 1:
		return usage("--threads: one number with a model, got %d", len(c.Threads))
	}
	if err := list("--batch", &c.Batch, 1<<20); err != nil {
		return err
	}
	return list("--concurrency", &c.Concurrency, 1<<12)
}

// load reads the model and opens the device.
func (c *benchCmd) load() (*onnx.Model, *sinter.Device, func(), error) {
	f := modelFlags{deviceFlags: deviceFlags{Device: c.Device}, Model: c.Model}
	if len(c.Threads) == 1 {
		f.Threads = &c.Threads[0]
	}
	return f.load()
}

// runModel measures a model.
func (c *benchCmd) runModel(e *env) error {
	if err := c.check(); err != nil {
		return err
	}
	dims, err := parseDims(c.Dims)
	if err != nil {
		return err
	}
	m, dev, closeDevice, err := c.load()
	if err != nil {
		return err
	}
	defer closeDevice()
	prog, err := m.Compile(onnx.On(dev))
	if err != nil {
		return fmt.Errorf("%s: %w", c.Model, err)
	}
	defer prog.Release()
	p := (*peer)(nil)
	if c.Peer {
		threads := dev.Info().Threads
		if p, err = startPeer(e.ctx, c.Model, threads); err != nil {
			e.stderr.printf("without ONNX Runtime: %v\n", err)
		} else {
			defer p.close()
		}
	}
	if !c.JSON {
		e.stdout.printf("%s on %s (%s)\n", c.Model, dev.Info().ID, dev.Info().Detail)
		if p != nil {
			e.stdout.printf("beside ONNX Runtime %s\n", p.version)
		}
		e.stdout.printf("%-12s %6s %5s %10s %10s %10s %12s %10s %10s\n", "engine", "batch", "runs", "p50", "p90", "p99", "items/s", "device", "process")
	}
	for _, batch := range c.Batch {
		in, err := c.inputs(prog, dims, batch)
		if err != nil {
			return err
		}
		for _, conc := range c.Concurrency {
			own, theirs, err := c.measure(e.ctx, prog, dev, p, in, batch, conc)
			if err != nil {
				return fmt.Errorf("batch %d: %w", batch, err)
			}
			c.print(e.stdout, own)
			if theirs != nil {
				c.print(e.stdout, *theirs)
			}
		}
	}
	return nil
}

func (c *benchCmd) print(out *console, m measurement) {
	if c.JSON {
		out.object(m)
		return
	}
	name := m.Engine
	if m.Concurrency > 1 {
		name += fmt.Sprintf("×%d", m.Concurrency)
	}
	if m.Error != "" {
		out.printf("%-12s %6d  %s\n", name, m.Batch, m.Error)
		return
	}
	bytesOr := func(n int64) string {
		if n == 0 {
			return "-"
		}
		return bytesText(n)
	}
	out.printf("%-12s %6d %5d %10s %10s %10s %12s %10s %10s", name, m.Batch, m.Runs, durationText(m.P50), durationText(m.P90), durationText(m.P99),
		fmt.Sprintf("%.4g", float64(m.Rate)), bytesOr(m.DeviceBytes), bytesOr(m.RSS))
	if m.Ratio != nil {
		out.printf("  %.2f of ONNX Runtime's p50", float64(*m.Ratio))
	}
	out.printf("\n")
}

// inputs makes the inputs for a batch size.
func (c *benchCmd) inputs(p *onnx.Program, dims map[string]int, batch int) (map[string]*onnx.Value, error) {
	given := map[string]bool{}
	f := inputFlags{Seed: 1}
	for _, spec := range c.Input {
		kind, shape, ok := strings.Cut(spec, ":")
		if ok && (strings.HasSuffix(kind, "random") || strings.HasSuffix(kind, "zeros")) {
			words := strings.FieldsFunc(shape, func(r rune) bool { return r == 'x' || r == ',' })
			for i, w := range words {
				if w == "B" {
					words[i] = strconv.Itoa(batch)
				}
			}
			spec = kind + ":" + strings.Join(words, "x")
		}
		f.Input = append(f.Input, spec)
		to, _, err := splitInput(spec, modelInputs(p))
		if err != nil {
			return nil, err
		}
		given[to.Name] = true
	}
	for _, v := range modelInputs(p) {
		if given[v.Name] || v.optional {
			continue
		}
		if v.Type == nil || !v.Type.HasShape {
			return nil, usage("the model does not say what the input %q (%s) is like; give it with --input", v.Name, v.Type)
		}
		shape := declaredShape(v.Type, dims)
		if d := v.Type.Dims; len(d) > 0 && d[0].Size < 0 {
			if _, named := dims[d[0].Param]; !named {
				shape[0] = batch
			}
		} else if len(d) > 0 && d[0].Size != int64(batch) && batch > 1 {
			return nil, usage("--batch %d: the first extent of the input %q is fixed: %s", batch, v.Name, v.Type)
		}
		f.Input = append(f.Input, v.Name+"=random:"+shapeText(shape))
	}
	return f.values(p)
}

// measure times an engine and its peer in turn, a run each, so that both meet the
// same machine.
func (c *benchCmd) measure(ctx context.Context, p *onnx.Program, dev *sinter.Device, other *peer, in map[string]*onnx.Value, batch, conc int) (measurement, *measurement, error) {
	own := measurement{Engine: "sinter", Device: dev.Info().ID, Batch: batch, Concurrency: conc}
	began := time.Now()
	if err := readAll(ctx, p, in); err != nil {
		return own, nil, err
	}
	own.First = seconds(time.Since(began))
	var theirs *measurement
	if other != nil {
		theirs = &measurement{Engine: "onnxruntime", Batch: batch, Concurrency: conc}
		if first, err := other.load(ctx, p, in); err != nil {
			theirs.Error = err.Error()
		} else {
			theirs.First = seconds(first)
		}
	}
	const rounds = 5
	var took, tookTheirs time.Duration
	for round := range rounds {
		n := (*c.Runs*(round+1))/rounds - *c.Runs*round/rounds
		if n == 0 {
			continue
		}
		warm := 0
		if round == 0 {
			warm = *c.Warmup
		}
		if _, _, err := runMany(ctx, p, in, warm, conc); err != nil {
			return own, nil, err
		}
		times, wall, err := runMany(ctx, p, in, n, conc)
		if err != nil {
			return own, nil, err
		}
		own.times, took = append(own.times, times...), took+wall
		if theirs != nil && theirs.Error == "" {
			times, wall, err := other.run(ctx, warm, n, conc)
			if err != nil {
				theirs.Error = err.Error()
				continue
			}
			theirs.times, tookTheirs = append(theirs.times, times...), tookTheirs+wall
		}
	}
	own.finish(took)
	if mem, ok := backend.As[backend.Memory](dev.Backend()); ok {
		if u, err := mem.MemoryUsage(ctx); err == nil {
			own.DeviceBytes = u.Peak
		}
	}
	own.RSS = peakRSS("self")
	if theirs != nil && theirs.Error == "" {
		theirs.finish(tookTheirs)
		theirs.RSS = peakRSS(strconv.Itoa(other.cmd.Process.Pid))
		r := number(float64(own.P50) / float64(theirs.P50))
		own.Ratio = &r
	}
	return own, theirs, nil
}

// finish computes percentiles from the times.
func (m *measurement) finish(wall time.Duration) {
	slices.Sort(m.times)
	m.Runs = len(m.times)
	at := func(share float64) seconds { return seconds(m.times[min(m.Runs-1, int(share*float64(m.Runs)))]) }
	m.Min, m.P50, m.P90, m.P99 = at(0), at(0.5), at(0.9), at(0.99)
	m.Rate = number(float64(m.Runs*m.Batch) / wall.Seconds())
}

// readAll runs a model and brings its outputs to the host.
func readAll(ctx context.Context, p *onnx.Program, in map[string]*onnx.Value) error {
	values, err := p.RunValues(ctx, in)
	if err != nil {
		return err
	}
	for _, v := range values {
		if !v.IsSequence() && !v.IsNone() && v.Elem != onnx.String && err == nil {
			_, err = v.Array(ctx)
		}
		v.Release()
	}
	return err
}

// runMany makes n runs, conc at a time, and returns the time of each and of all.
func runMany(ctx context.Context, p *onnx.Program, in map[string]*onnx.Value, n, conc int) ([]time.Duration, time.Duration, error) {
	runtime.GC() // what came before is not to be paid for here
	times := make([]time.Duration, n)
	var mu sync.Mutex
	next, failed := 0, error(nil)
	var wg sync.WaitGroup
	began := time.Now()
	for range min(conc, n) {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				stop := failed != nil
				mu.Unlock()
				if i >= n || stop {
					return
				}
				start := time.Now()
				err := readAll(ctx, p, in)
				times[i] = time.Since(start)
				if err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return times, time.Since(began), failed
}
