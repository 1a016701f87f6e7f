package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sinter-go/sinter/bench/peers"
	"github.com/sinter-go/sinter/onnx"
)

// peer is ONNX Runtime in a process of node.
type peer struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	dir     string
	version string
}

// peerAnswer is a line that the process writes.
type peerAnswer struct {
	Error   string    `json:"error"`
	Version string    `json:"version"`
	First   float64   `json:"first_ms"`
	Times   []float64 `json:"times_ms"`
	Wall    float64   `json:"wall_ms"`
}

// peerInput is an input as the process reads it.
type peerInput struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Dims []int  `json:"dims"`
	File string `json:"file"`
}

// startPeer starts the process with a model. The error says what is missing.
func startPeer(ctx context.Context, model string, threads int) (*peer, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, errors.New("there is no node")
	}
	dir, err := os.MkdirTemp("", "sinter-bench")
	if err != nil {
		return nil, err
	}
	p := &peer{dir: dir}
	if err := peers.Extract(dir); err != nil {
		p.close()
		return nil, err
	}
	script := filepath.Join(dir, "ort", "model.mjs")
	if model, err = filepath.Abs(model); err != nil {
		p.close()
		return nil, err
	}
	p.cmd = exec.CommandContext(ctx, node, script, model, strconv.Itoa(max(1, threads)))
	p.cmd.Stderr = io.Discard
	in, err1 := p.cmd.StdinPipe()
	out, err2 := p.cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		p.close()
		return nil, err
	}
	p.in, p.out = in, bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		p.cmd = nil
		p.close()
		return nil, err
	}
	hello, err := p.answer()
	if err != nil {
		p.close()
		return nil, err
	}
	p.version = hello.Version
	return p, nil
}

func (p *peer) close() {
	if p.cmd != nil && p.cmd.Process != nil {
		p.in.Close()
		p.cmd.Process.Kill()
		p.cmd.Wait()
	}
	os.RemoveAll(p.dir)
}

func (p *peer) answer() (peerAnswer, error) {
	var a peerAnswer
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return a, fmt.Errorf("the process of ONNX Runtime ended: %w", err)
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return a, fmt.Errorf("ONNX Runtime's process: %w", err)
	}
	if a.Error != "" {
		return a, errors.New(strings.TrimSpace(a.Error))
	}
	return a, nil
}

func (p *peer) ask(v any) (peerAnswer, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return peerAnswer{}, err
	}
	if _, err := p.in.Write(append(b, '\n')); err != nil {
		return peerAnswer{}, fmt.Errorf("the process of ONNX Runtime ended: %w", err)
	}
	return p.answer()
}

// load gives the process inputs, runs the model once and returns how long it took.
func (p *peer) load(ctx context.Context, prog *onnx.Program, in map[string]*onnx.Value) (time.Duration, error) {
	var list []peerInput
	for i, d := range prog.Inputs() {
		v := in[d.Name]
		if v == nil {
			continue
		}
		a, err := v.Array(ctx)
		if err != nil {
			return 0, err
		}
		f := peerInput{Name: d.Name, Type: v.Elem.String(), Dims: a.Shape, File: filepath.Join(p.dir, fmt.Sprintf("input%d", i))}
		if err := os.WriteFile(f.File, a.Bytes, 0o600); err != nil {
			return 0, err
		}
		list = append(list, f)
	}
	a, err := p.ask(map[string]any{"inputs": list})
	return milliseconds(a.First), err
}

// run makes runs, conc at a time, after some that are not measured.
func (p *peer) run(_ context.Context, warm, n, conc int) ([]time.Duration, time.Duration, error) {
	a, err := p.ask(map[string]any{"warmup": warm, "runs": n, "concurrency": conc})
	if err != nil {
		return nil, 0, err
	}
	times := make([]time.Duration, len(a.Times))
	for i, t := range a.Times {
		times[i] = milliseconds(t)
	}
	if len(times) == 0 {
		return nil, 0, errors.New("ONNX Runtime's process measured nothing")
	}
	return times, milliseconds(a.Wall), nil
}

func milliseconds(v float64) time.Duration { return time.Duration(v * float64(time.Millisecond)) }

// peakRSS returns the most memory that a process has taken, 0 if the system does
// not tell.
func peakRSS(pid string) int64 {
	b, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return n << 10
		}
	}
	return 0
}
