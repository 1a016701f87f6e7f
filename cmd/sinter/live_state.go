package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/train"
)

// liveState is what the live view shows, as text.
type liveState struct {
	title         string
	paint         func(code, text string) string
	width, height int
	began         time.Time
	from          int // steps that were made before
	progress      train.Progress
	loss, right   []float64
	best          train.Report
	stopping      bool
	over          bool
}

const blue = "34"

func newLiveState(t *training, c *console) *liveState {
	info := t.dev.Info()
	s := &liveState{paint: c.paint, width: c.width(), height: 24}
	s.title = fmt.Sprintf("%s network, %d parameters, %d digits, device %s", t.net.shape(), nn.Count(t.net), t.loop.Train.N, info.ID)
	s.progress = train.Progress{Epoch: 1, Epochs: t.loop.Epochs, Steps: t.loop.Epochs * t.loop.Steps()}
	for _, r := range t.loop.History() {
		s.add(r)
	}
	return s
}

// resume takes in what was done before.
func (s *liveState) resume(r train.Report) {
	s.from = s.progress.Steps / max(r.Epochs, 1) * r.Epoch
	s.progress.Step, s.progress.Epoch = s.from, r.Epoch
}

func (s *liveState) add(r train.Report) {
	s.loss, s.right = append(s.loss, r.Loss), append(s.right, r.Test.Accuracy())
	if s.best.Epoch == 0 || r.Test.Accuracy() > s.best.Test.Accuracy() {
		s.best = r
	}
}

// String draws the view: two charts side by side, or one below the other where the
// terminal is narrow, a bar, and what the numbers are.
func (s *liveState) String() string {
	const besides, gap = 8, 3 // lines that are no chart; columns between charts
	lines := []string{s.paint(bold, "sinter train") + "  " + s.paint(faint, cut(s.title, s.width-15)), ""}
	height := min(max(s.height-besides, 3), 12)
	if wide := (s.width - gap) / 2; wide >= 34 {
		a := plot{"loss", s.loss, false, blue}.lines(min(wide, 60), height, s.paint)
		b := plot{"right of digits not seen", s.right, true, green}.lines(min(wide, 60), height, s.paint)
		for i := range a {
			lines = append(lines, a[i]+strings.Repeat(" ", gap)+b[i])
		}
	} else {
		lines = append(lines, plot{"loss", s.loss, false, blue}.lines(s.width, max((height-2)/2, 2), s.paint)...)
		lines = append(lines, plot{"right", s.right, true, green}.lines(s.width, max((height-2)/2, 2), s.paint)...)
	}
	lines = append(lines, "", s.bar())
	if n := len(s.loss); n > 0 {
		text := fmt.Sprintf("loss %.4f  right %s  best %s at epoch %d", s.loss[n-1], percent(s.right[n-1]), percent(s.best.Test.Accuracy()), s.best.Epoch)
		lines = append(lines, cut(text, s.width))
	} else {
		lines = append(lines, "")
	}
	switch {
	case s.over:
	case s.stopping:
		lines = append(lines, s.paint(red, "stopping after this step"))
	default:
		lines = append(lines, s.paint(faint, cut("q stops and keeps the checkpoint", s.width)))
	}
	return strings.Join(lines, "\n") + "\n"
}

// bar shows how far the training is, and how long it will take.
func (s *liveState) bar() string {
	p := s.progress
	text := fmt.Sprintf(" epoch %d/%d  step %d/%d", p.Epoch, p.Epochs, p.Step, p.Steps)
	if made := p.Step - s.from; made > 0 && !s.began.IsZero() {
		passed := time.Since(s.began)
		rate := float64(made) / passed.Seconds()
		text += fmt.Sprintf("  %.0f steps/s", rate)
		if left := time.Duration(float64(p.Steps-p.Step) / rate * float64(time.Second)); left >= time.Second && !s.over {
			text += "  " + left.Round(time.Second).String() + " left"
		}
	}
	width := min(s.width, 120) - len(text)
	if width < 8 {
		return cut(strings.TrimSpace(text), s.width)
	}
	full := width * p.Step / max(p.Steps, 1)
	return strings.Repeat("█", full) + s.paint(faint, strings.Repeat("░", width-full)) + text
}

// cut shortens a text to a number of columns.
func cut(text string, width int) string {
	r := []rune(text)
	if len(r) <= width {
		return text
	}
	return string(r[:max(width-1, 0)]) + "…"
}
