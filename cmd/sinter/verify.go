package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/sinter-go/sinter/onnx"
	"github.com/sinter-go/sinter/onnx/conformance"
)

type verifyCmd struct {
	deviceFlags
	Cases   []string `arg:"" help:"Directories or zip files of test cases."`
	Match   string   `name:"match" placeholder:"TEXT" help:"Only cases whose folder has this text in its name."`
	Verbose bool     `name:"verbose" short:"v" help:"Print cases that passed too, with their worst element."`
	NoFold  bool     `name:"no-fold" help:"Do not fold constants when models are compiled."`
	output
}

// Help is the long help of the command.
func (*verifyCmd) Help() string {
	return `A case is a folder with model.onnx, test_data_set_N/input_I.pb and output_I.pb, and perhaps tol.txt
with a relative and an absolute tolerance. A case is unsupported if its model does not compile; any
other deviation fails it. The last line is "verify: P passed, F failed, U unsupported of N"; the exit
code is 1 if a case failed.`
}

// verifyCase is a case as --json prints it.
type verifyCase struct {
	Case   string `json:"case"`
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
	Worst  string `json:"worst,omitempty"`
}

// verifySummary follows the cases with --json.
type verifySummary struct {
	Passed      int `json:"passed"`
	Failed      int `json:"failed"`
	Unsupported int `json:"unsupported"`
	Total       int `json:"total"`
}

func (c *verifyCmd) Run(e *env) error {
	dev, closeDevice, err := c.open()
	if err != nil {
		return err
	}
	defer closeDevice()
	o := conformance.Options{Device: dev, Verbose: c.Verbose, Match: func(name string) bool { return strings.Contains(name, c.Match) }}
	if c.NoFold {
		o.Compile = append(o.Compile, onnx.WithoutFolding())
	}
	var w io.Writer = &allButLast{to: e.stdout}
	if c.JSON {
		w = io.Discard
		o.Each = func(r conformance.Result) {
			v := verifyCase{Case: r.Name, Status: r.Status.String(), Worst: r.Worst}
			if r.Err != nil {
				v.Error, v.Worst = r.Err.Error(), ""
			}
			e.stdout.object(v)
		}
	}
	var sum conformance.Summary
	for _, where := range c.Cases {
		s, err := conformance.Verify(e.ctx, where, w, o)
		if errors.Is(err, fs.ErrNotExist) {
			return usage("%v", err)
		} else if err != nil {
			return err
		}
		sum.Passed += s.Passed
		sum.Failed += s.Failed
		sum.Unsupported += s.Unsupported
	}
	if c.JSON {
		e.stdout.object(verifySummary{sum.Passed, sum.Failed, sum.Unsupported, sum.Total()})
	} else {
		e.stdout.printf("%s\n", sum)
	}
	switch {
	case sum.Failed > 0:
		return fmt.Errorf("%d of %d cases failed", sum.Failed, sum.Total())
	case sum.Total() == 0:
		return usage("no case has %q in its name", c.Match)
	}
	return nil
}

// allButLast passes lines on except summaries: there is one for all places.
type allButLast struct{ to io.Writer }

// Write passes a line on. The runner writes whole lines.
func (a *allButLast) Write(b []byte) (int, error) {
	if strings.HasPrefix(string(b), "verify: ") {
		return len(b), nil
	}
	return a.to.Write(b)
}
