package peers

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
)

// Peer is a system that runs.
type Peer struct {
	Name, Version string

	cmd   *exec.Cmd // nil of one that lives in this process
	in    io.WriteCloser
	out   *bufio.Reader
	trail *tail
}

// tail keeps the end of what a process writes to its standard error.
type tail struct {
	mu sync.Mutex
	b  []byte
}

const tailBytes = 2000

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if n := len(t.b) - tailBytes; n > 0 {
		t.b = t.b[n:]
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.b))
}

// start runs a program that speaks the protocol and hears who it is.
func start(ctx context.Context, name string, threads int, program string, args ...string) (*Peer, error) {
	p := &Peer{Name: name, trail: &tail{}}
	p.cmd = exec.CommandContext(ctx, program, args...)
	p.cmd.Stderr = p.trail
	p.cmd.Env = append(p.cmd.Environ(), environment(threads)...)
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, &Skipped{name, err.Error()}
	}
	hello, err := p.answer()
	if err != nil {
		p.Close()
		return nil, err
	}
	p.Version = hello.Version
	return p, nil
}

// environment is the settings with which peers run: so many threads, unless 0, and an
// allocator of the C library that keeps what it has, since giving memory back and
// faulting it in again would be most of what is measured.
func environment(threads int) []string {
	env := []string{"MALLOC_MMAP_THRESHOLD_=2000000000", "MALLOC_TRIM_THRESHOLD_=2000000000", "MALLOC_TOP_PAD_=67108864"}
	if threads == 0 {
		return env
	}
	for _, v := range []string{"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"} {
		env = append(env, fmt.Sprintf("%s=%d", v, threads))
	}
	if threads > 1 && threads == runtime.NumCPU() { // some systems pack threads that are not bound
		env = append(env, "OMP_PROC_BIND=close", "OMP_PLACES=threads")
	}
	return env
}

// Ask sends a request and returns the nanoseconds of a call in each round. An
// error that is a [*Skipped] leaves the peer usable.
func (p *Peer) Ask(r Request) ([]float64, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if _, err := p.in.Write(append(b, '\n')); err != nil {
		return nil, p.ended(err)
	}
	a, err := p.answer()
	if err != nil {
		return nil, err
	}
	if len(a.NS) != r.Rounds {
		return nil, fmt.Errorf("%s: %d measurements of %s, asked for %d", p.Name, len(a.NS), r.Workload, r.Rounds)
	}
	return a.NS, nil
}

func (p *Peer) answer() (a Answer, err error) {
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return a, p.ended(err)
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return a, fmt.Errorf("%s: got %q, expected a line of JSON: %w", p.Name, line, err)
	}
	if a.Skip != "" {
		return a, &Skipped{p.Name, strings.TrimSpace(a.Skip)}
	}
	return a, nil
}

// ended is the error of a peer that is gone.
func (p *Peer) ended(err error) error {
	if p.trail != nil {
		if s := p.trail.String(); s != "" {
			return fmt.Errorf("%s ended: %w: %s", p.Name, err, s)
		}
	}
	return fmt.Errorf("%s ended: %w", p.Name, err)
}

// Close ends the process.
func (p *Peer) Close() {
	p.in.Close()
	if p.cmd != nil {
		// It may be in the middle of something long.
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}
