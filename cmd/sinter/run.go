package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/alecthomas/kong"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitInterrupted = 130 // 128 + SIGINT, as shells have it
)

// commands is the command line.
type commands struct {
	Train   trainCmd   `cmd:"" help:"Train a network on the embedded handwritten digits."`
	Predict predictCmd `cmd:"" help:"Classify digits of a CSV file with a trained network."`
	Run     runCmd     `cmd:"" help:"Run an ONNX model on files, numbers or random input."`
	Inspect inspectCmd `cmd:"" help:"Show what an ONNX model is made of, and whether it runs."`
	Verify  verifyCmd  `cmd:"" help:"Run test cases in the layout of ONNX and compare the outputs."`
	Bench   benchCmd   `cmd:"" help:"Measure this machine and Sinter beside its peers; or an ONNX model."`
	Tune    tuneCmd    `cmd:"" help:"Measure choices of speed on this machine, and save them."`
	Explain explainCmd `cmd:"" help:"Show how a program is run: what was fused, and what not and why."`
	Replay  replayCmd  `cmd:"" help:"Run a capsule in every way of this machine and compare the bits."`
	Devices devicesCmd `cmd:"" help:"List devices, their dtypes and limits."`
	Version versionCmd `cmd:"" help:"Print the version."`
}

const description = `Tensors for Go, built to fuse.

Run "sinter train" first: it needs nothing but this program.`

// output is flags that all commands have.
type output struct {
	JSON bool `name:"json" help:"Print JSON to standard output, one object a line."`
}

// env is what a command works with.
type env struct {
	ctx    context.Context
	stdin  io.Reader
	stdout *console
	stderr *console
}

// usageError is an error of whoever typed the command line.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

func usage(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// run is the program: it returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	e := &env{ctx: ctx, stdin: stdin, stdout: newConsole(stdout), stderr: newConsole(stderr)}
	err := e.run(args)
	if err == nil {
		err = e.stdout.err // a full disk, for one
		if err != nil {
			err = fmt.Errorf("writing the output: %w", err)
		}
	}
	var wrong *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errInterrupted) || errors.Is(err, context.Canceled):
		e.stderr.printf("sinter: %v\n", err)
		return exitInterrupted
	case errors.As(err, &wrong):
		e.stderr.printf("sinter: %v\nRun \"sinter --help\" or \"sinter COMMAND --help\" for usage.\n", err)
		return exitUsage
	}
	e.stderr.printf("sinter: %v\n", err)
	return exitFailure
}

func (e *env) run(args []string) error {
	var c commands
	exited := false
	parser, err := kong.New(&c,
		kong.Name("sinter"), kong.Description(description),
		kong.Writers(e.stdout, e.stderr), kong.Exit(func(int) { exited = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 90, NoAppDescFormat: true}),
		kong.Bind(e))
	if err != nil {
		return err
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	ctx, err := parser.Parse(args)
	switch {
	case exited: // help was printed
		return nil
	case err != nil:
		return usage("%v", err)
	}
	return ctx.Run()
}
