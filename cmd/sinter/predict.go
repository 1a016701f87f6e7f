package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/train"
)

type predictCmd struct {
	deviceFlags
	File  string `arg:"" optional:"" help:"CSV file of digits; - or nothing is standard input."`
	Model string `name:"model" short:"m" default:"digits.safetensors" placeholder:"FILE" help:"Model file. (default ${default})"`
	output
}

// Help is the long help of the command.
func (*predictCmd) Help() string {
	return `Each line of the input is a digit: 64 numbers from 0 (paper) to 16 (ink), 8 rows of 8 pixels, and
optionally its label, 0 to 9. A header line, blank lines and gzip compression are fine.

Each line of the output is what a digit was taken for and the probability, and, where there are
labels, "ok" or the label. With labels the accuracy goes to standard error.`
}

// prediction is a digit as --json prints it.
type prediction struct {
	Row         int     `json:"row"` // from 1
	Digit       int64   `json:"digit"`
	Probability float32 `json:"probability"`
	Label       *int64  `json:"label,omitempty"`
}

// predictSummary follows the predictions with --json, where there are labels.
type predictSummary struct {
	Accuracy float64 `json:"accuracy"`
	Right    int     `json:"right"`
	Rows     int     `json:"rows"`
}

func (c *predictCmd) Run(e *env) error {
	dev, closeDevice, err := c.open()
	if err != nil {
		return err
	}
	defer closeDevice()
	n, err := loadNet(dev, c.Model)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no model %s: %w", c.Model, errNoModel)
	} else if err != nil {
		return err
	}
	set, err := c.read(e)
	if err != nil {
		return err
	}
	p, err := train.Predict(e.ctx, n, dev, set)
	if err != nil {
		return err
	}
	c.print(e, set, p)
	return nil
}

// read reads the digits, and scales them as the network was trained.
func (c *predictCmd) read(e *env) (*data.Set, error) {
	in, name := e.stdin, "standard input"
	if c.File != "" && c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in, name = f, c.File
	} else if in == nil {
		in = eof{}
	}
	set, err := data.CSV{Features: features, Min: 0, Max: darkest, Classes: classes}.Read(interruptReader{e, in})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for i := range set.Pixels {
		set.Pixels[i] /= darkest
	}
	return set, nil
}

func (c *predictCmd) print(e *env, set *data.Set, p train.Predictions) {
	out := *e.stdout // buffered, with what is known of the terminal
	buffer := bufio.NewWriter(e.stdout)
	out.w = buffer
	for i, digit := range p.Class {
		switch {
		case c.JSON:
			row := prediction{Row: i + 1, Digit: digit, Probability: p.Probability[i]}
			if set.Labels != nil {
				row.Label = &set.Labels[i]
			}
			out.object(row)
		case set.Labels == nil:
			out.printf("%d\t%.4f\n", digit, p.Probability[i])
		case digit == set.Labels[i]:
			out.printf("%d\t%.4f\t%s\n", digit, p.Probability[i], out.paint(green, "ok"))
		default:
			out.printf("%d\t%.4f\t%s\n", digit, p.Probability[i], out.paint(red, fmt.Sprint(set.Labels[i])))
		}
	}
	if set.Labels != nil {
		s := p.Score(set.Labels)
		if c.JSON {
			out.object(predictSummary{s.Accuracy(), s.Right, s.N})
		} else {
			e.stderr.printf("%s right: %d of %d\n", percent(s.Accuracy()), s.Right, s.N)
		}
	}
	buffer.Flush() // an error stays in e.stdout
}

// interruptReader ends with the context's error once that is over, so that
// reading from a terminal can be interrupted.
type interruptReader struct {
	e *env
	r io.Reader
}

func (r interruptReader) Read(b []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	own := make([]byte, min(len(b), 64<<10)) // the read may outlive this call
	done := make(chan result, 1)
	go func() {
		n, err := r.r.Read(own)
		done <- result{n, err}
	}()
	select {
	case v := <-done:
		return copy(b, own[:v.n]), v.err
	case <-r.e.ctx.Done():
		return 0, errInterrupted
	}
}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }
