package main

import (
	"context"
	"os"

	"golang.org/x/term"

	"github.com/sinter-go/sinter/train"
)

// view shows how a training goes.
type view interface {
	events() train.Events
	resumed(r train.Report)
	begin()
	end() // leaves the terminal as it was
}

// newView returns the live view if it was asked for and there is a terminal, else
// the plain one; and the context to train in, which the view may end.
func newView(e *env, c *trainCmd, t *training) (view, context.Context) {
	in, ok := e.stdin.(*os.File)
	if c.UI && !c.Quiet && !c.JSON && e.stderr.terminal && ok && term.IsTerminal(int(in.Fd())) {
		if v, ctx := newLive(e, t, in); v != nil {
			return v, ctx
		}
	}
	return newReporter(e, c, t), e.ctx
}
