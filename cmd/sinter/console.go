package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// console is a stream to write to, with what is known of the terminal behind it.
// The first error of writing is kept; later writes are dropped.
type console struct {
	w        io.Writer
	file     *os.File // nil if it is none
	terminal bool
	color    bool
	err      error
}

func newConsole(w io.Writer) *console {
	c := &console{w: w}
	if f, ok := w.(*os.File); ok {
		c.file = f
		c.terminal = term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
	}
	// https://no-color.org: any value but the empty one.
	c.color = c.terminal && os.Getenv("NO_COLOR") == ""
	return c
}

func (c *console) Write(b []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.w.Write(b)
	c.err = err
	return n, err
}

func (c *console) printf(format string, args ...any) { fmt.Fprintf(c, format, args...) }

// object prints a value as one line of JSON.
func (c *console) object(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		if c.err == nil {
			c.err = err
		}
		return
	}
	c.Write(append(b, '\n'))
}

// width returns the columns of the terminal; 80 if it does not say.
func (c *console) width() int {
	if c.file != nil {
		if w, _, err := term.GetSize(int(c.file.Fd())); err == nil && w > 0 {
			return w
		}
	}
	if w, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && w > 0 {
		return w
	}
	return 80
}

// The colours that are used.
const (
	bold  = "1"
	faint = "2"
	red   = "31"
	green = "32"
)

// paint colours text where the terminal shows colours.
func (c *console) paint(code, text string) string {
	if !c.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
