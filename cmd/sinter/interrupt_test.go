//go:build unix

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// start runs the built command and sends what it writes to standard error.
func start(t *testing.T, args ...string) (*exec.Cmd, *lineBuffer) {
	t.Helper()
	c := exec.Command(built(t), args...)
	var b lineBuffer
	b.lines = make(chan string, 10_000)
	c.Stderr = &b
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill() })
	return c, &b
}

// lineBuffer keeps what is written and passes lines on.
type lineBuffer struct {
	all, open bytes.Buffer
	lines     chan string
}

func (b *lineBuffer) Write(p []byte) (int, error) {
	b.all.Write(p)
	b.open.Write(p)
	for {
		line, err := b.open.ReadString('\n')
		if err != nil {
			b.open.WriteString(line)
			return len(p), nil
		}
		b.lines <- line
	}
}

func (b *lineBuffer) wait(t *testing.T, text string) {
	t.Helper()
	timeout := time.After(60 * time.Second)
	for {
		select {
		case line := <-b.lines:
			if strings.Contains(line, text) {
				return
			}
		case <-timeout:
			t.Fatalf("no line with %q", text)
		}
	}
}

// TestInterrupt interrupts a training with a signal, resumes it, and expects the
// bits of an uninterrupted one.
func TestInterrupt(t *testing.T) {
	t.Chdir(t.TempDir())
	flags := []string{"--epochs", "30", "--hidden", "16"}
	whole := invoke(t, "", append([]string{"train", "-q", "-o", "whole"}, flags...)...)
	whole.want(t, "uninterrupted", exitOK, "sha256:", "")

	c, out := start(t, append([]string{"train"}, flags...)...)
	out.wait(t, "epoch  2/30")
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := c.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Fatalf("error %v, stderr\n%s", err, &out.all)
	}
	if s := out.all.String(); !strings.Contains(s, "interrupted after epoch") || !strings.Contains(s, "digits.checkpoint.safetensors holds") || !strings.Contains(s, "sinter train --resume") {
		t.Errorf("stderr\n%s", s)
	}
	if _, err := os.Stat("digits.safetensors"); err == nil {
		t.Error("there is a model")
	}
	invoke(t, "", "train", "--resume", "--lr", "0.5").want(t, "another rate", exitUsage, "", "--lr is 0.5, but the training that is resumed has 0.02")
	invoke(t, "", "train", "--resume", "--hidden", "8").want(t, "another width", exitUsage, "", "--hidden is 8, but the training that is resumed has 16")
	r := invoke(t, "", "train", "--resume", "--epochs", "30") // the rest as it was
	r.want(t, "resumed", exitOK, "", "Going on after epoch")
	_, want, _ := strings.Cut(whole.stdout, "sha256:")
	if !strings.Contains(r.stdout, want) {
		t.Errorf("other bits:\n%s\nwant %s", r.stdout, want)
	}
	if _, err := os.Stat("digits.checkpoint.safetensors"); err == nil {
		t.Error("the checkpoint was left behind")
	}
}

// TestInterruptPredict interrupts a command that waits for standard input.
func TestInterruptPredict(t *testing.T) {
	model(t)
	c := exec.Command(built(t), "predict")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var stderr bytes.Buffer
	c.Stderr = &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill() })
	io.WriteString(in, "1,2,3")
	time.Sleep(300 * time.Millisecond)
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := c.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted || !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("error %v, stderr %s", err, &stderr)
	}
}
