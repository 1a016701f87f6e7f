//go:build unix || windows

package main

import (
	"context"
	"errors"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/sinter-go/sinter/train"
)

// live is the view of --ui: curves that grow while the training runs.
type live struct {
	program *tea.Program
	state   *liveState
	cancel  context.CancelCauseFunc
	done    chan struct{}
	sent    time.Time
}

// frames is how often a second the view is drawn.
const frames = 20

func newLive(e *env, t *training, in *os.File) (view, context.Context) {
	ctx, cancel := context.WithCancelCause(e.ctx)
	l := &live{cancel: cancel, done: make(chan struct{}), state: newLiveState(t, e.stderr)}
	// Signals stay with the command. The view is drawn below what stands there, and
	// its last frame stays.
	l.program = tea.NewProgram(liveModel{l.state, func() { cancel(errInterrupted) }},
		tea.WithInput(in), tea.WithOutput(e.stderr.w), tea.WithFPS(frames), tea.WithoutSignalHandler())
	return l, ctx
}

func (l *live) events() train.Events { return train.Events{Step: l.step, Epoch: l.epoch} }

func (l *live) resumed(r train.Report) { l.state.resume(r) }

func (l *live) begin() {
	l.state.began = time.Now()
	go func() {
		defer close(l.done)
		if _, err := l.program.Run(); err != nil && !errors.Is(err, tea.ErrProgramKilled) {
			l.cancel(err) // a training that nobody can see or stop
		}
	}()
}

func (l *live) step(p train.Progress) {
	if now := time.Now(); now.Sub(l.sent) >= time.Second/frames || p.Step == p.Steps {
		l.sent = now
		l.program.Send(p)
	}
}

func (l *live) epoch(r train.Report) { l.program.Send(r) }

func (l *live) end() {
	l.program.Send(endMsg{})
	<-l.done
	l.cancel(nil)
}

// endMsg asks for the last frame.
type endMsg struct{}

// liveModel connects the state to the program.
type liveModel struct {
	state *liveState
	stop  func()
}

func (m liveModel) Init() tea.Cmd { return nil }

func (m liveModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.state.width, m.state.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		switch msg.String() {
		case "q", "ctrl+c", "esc":
			m.state.stopping = true
			m.stop()
		}
	case train.Progress:
		m.state.progress = msg
	case train.Report:
		m.state.add(msg)
	case endMsg:
		m.state.over = true
		return m, tea.Quit
	}
	return m, nil
}

func (m liveModel) View() tea.View { return tea.NewView(m.state.String()) }
