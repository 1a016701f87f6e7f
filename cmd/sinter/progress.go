package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/train"
)

// reporter shows how a training goes: as a bar on a terminal, else as a line per
// epoch, on standard error; as objects on standard output with --json.
type reporter struct {
	err  *console
	out  *console
	t    *training
	json bool
	text bool // anything for people at all
	bar  *progressbar.ProgressBar
	last train.Report
	from int // steps that were made before
}

// epochEvent is an epoch as --json prints it.
type epochEvent struct {
	Event    string  `json:"event"` // "epoch"
	Epoch    int     `json:"epoch"`
	Epochs   int     `json:"epochs"`
	Loss     float64 `json:"loss"`
	Accuracy float64 `json:"accuracy"`
	Seconds  float64 `json:"seconds"`
}

func newReporter(e *env, c *trainCmd, t *training) *reporter {
	return &reporter{err: e.stderr, out: e.stdout, t: t, json: c.JSON, text: !c.Quiet && (!c.JSON || e.stderr.terminal)}
}

func (p *reporter) events() train.Events { return train.Events{Step: p.step, Epoch: p.epoch} }

func (p *reporter) resumed(r train.Report) {
	p.last, p.from = r, r.Epoch*p.t.loop.Steps()
	if p.text {
		p.err.printf("Going on after epoch %d of %d.\n", r.Epoch, r.Epochs)
	}
}

func (p *reporter) begin() {
	if !p.text {
		return
	}
	info := p.t.dev.Info()
	p.err.printf("Training a %s network of %d parameters on %d digits.\n", p.t.net.shape(), nn.Count(p.t.net), p.t.loop.Train.N)
	device := "Device " + info.ID + ": " + info.Detail
	if info.Threads > 0 {
		device += fmt.Sprintf(", %d threads", info.Threads)
	}
	p.err.printf("%s\n", p.err.paint(faint, device+"."))
	if p.err.terminal {
		p.bar = newBar(p.err, p.t.loop.Epochs*p.t.loop.Steps(), p.beside(1))
		if p.from > 0 {
			p.bar.Set(p.from)
		}
	}
}

// newBar makes a bar that fits the terminal.
func newBar(c *console, steps int, description string) *progressbar.ProgressBar {
	// What the bar's line holds beside the bar: percentage, times, spaces.
	const rest = 22
	width := min(40, c.width()-len([]rune(description))-rest)
	return progressbar.NewOptions(steps,
		progressbar.OptionSetWriter(c.w),
		progressbar.OptionSetWidth(max(width, 4)),
		progressbar.OptionSetDescription(description),
		progressbar.OptionShowDescriptionAtLineEnd(),
		progressbar.OptionSetTheme(progressbar.Theme{Saucer: "█", SaucerPadding: "░", BarStart: " ", BarEnd: ""}),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(80*time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetRenderBlankState(true))
}

// beside is what stands beside the bar, shorter on narrow terminals. Its length
// does not change while the bar runs.
func (p *reporter) beside(epoch int) string {
	s := fmt.Sprintf("epoch %d/%d", epoch, p.t.loop.Epochs)
	switch w := p.err.width(); {
	case w < 44:
		return strings.TrimPrefix(s, "epoch ")
	case w < 72:
		return s
	}
	if p.last.Epoch == 0 {
		return fmt.Sprintf("%-13s  %-11s  %-11s", s, "", "")
	}
	return fmt.Sprintf("%-13s  loss %.4f  test %s", s, p.last.Loss, percent(p.last.Test.Accuracy()))
}

func (p *reporter) step(s train.Progress) {
	if p.bar == nil {
		return
	}
	p.bar.Describe(p.beside(s.Epoch))
	p.bar.Set(s.Step)
}

func (p *reporter) epoch(r train.Report) {
	p.last = r
	if p.json {
		p.out.object(epochEvent{"epoch", r.Epoch, r.Epochs, r.Loss, r.Test.Accuracy(), r.Time.Seconds()})
	}
	if p.text && p.bar == nil {
		p.err.printf("epoch %*d/%d  loss %.4f  test %s  %.2f s\n", len(fmt.Sprint(r.Epochs)), r.Epoch, r.Epochs,
			r.Loss, percent(r.Test.Accuracy()), r.Time.Seconds())
	}
}

// end leaves the terminal as it was.
func (p *reporter) end() {
	if p.bar != nil {
		p.bar.Clear()
		p.bar = nil
	}
}
