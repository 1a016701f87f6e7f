package main

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/bench/peers"
	"github.com/sinter-go/sinter/bench/suite"
	"github.com/sinter-go/sinter/ir"
)

type benchCmd struct {
	Model   string `arg:"" optional:"" help:"ONNX model file. Without one, the machine and Sinter's workloads are measured."`
	Threads []int  `name:"threads" placeholder:"N,..." help:"Threads that a kernel may use; several numbers without a model. (default: one per processor; without a model 1 and that)"`
	Peer    bool   `name:"peer" default:"true" negatable:"" help:"Measure others beside it, where they are installed."`
	benchWorkloads
	benchModel
	output
}

// benchWorkloads are the flags that apply without a model.
type benchWorkloads struct {
	Workloads []string `name:"workloads" placeholder:"GLOB,..." help:"Groups, operations or names of workloads. (default: all)"`
	Peers     []string `name:"peers" placeholder:"NAME,..." help:"Peers: c, openblas, onednn, numpy, torch, onnxruntime, gonum; on a GPU torch, torch.graph, torch.compile, jax. (default: all that are installed)"`
	Rounds    *int     `name:"rounds" placeholder:"N" help:"Rounds in which all take turns; intervals need 6. (default: 9)"`
	Quick     bool     `name:"quick" help:"Few workloads and short rounds."`
	Clock     string   `name:"clock" enum:"wall,cpu" default:"wall" placeholder:"NAME" help:"wall, or cpu: the time that processors spend, of one thread, kernels with the host's part; for machines that do other work too. (default ${default})"`
	Markdown  bool     `name:"markdown" help:"Print Markdown."`
	Python    string   `name:"python" placeholder:"FILE" help:"Python that has numpy and torch. (default: python3)"`
	Node      string   `name:"node-modules" placeholder:"DIR" help:"Folder of node packages with onnxruntime-node. (default: NODE_PATH)"`
}

// Help is the long help of the command.
func (*benchCmd) Help() string {
	return `Without a model: the bandwidth and arithmetic of this machine, then Sinter's workloads, each as a share
of its limit and beside the peers that are installed, taking turns. Below 1 in the column of a peer,
Sinter is faster. With --device and a GPU, such as cuda:0: the workloads of a GPU, as a share of a copy
there, beside PyTorch on the same GPU: its calls, the same in CUDA graphs, and compiled by torch.compile; and JAX.

With a model, for each batch and concurrency: percentiles of the latency of a run, from host inputs to host
outputs, items a second, and the most memory that tensors on the device and the process took. Where
node finds the npm package onnxruntime-node (in the current directory, or in NODE_PATH; to install it:
npm install --ignore-scripts onnxruntime-node), ONNX Runtime is measured with the same inputs and
threads, in turn with Sinter, and the ratio is shown.

Close other programs first: what else runs on the machine is in the figures.`
}

// given returns the flags of a list that were used.
func given(flags map[string]bool) string {
	var out []string
	for name, used := range flags {
		if used {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func (c *benchCmd) Run(e *env) error {
	if c.Model != "" {
		if f := given(map[string]bool{"--workloads": c.Workloads != nil, "--peers": c.Peers != nil, "--rounds": c.Rounds != nil,
			"--quick": c.Quick, "--clock": c.Clock != "wall", "--markdown": c.Markdown, "--python": c.Python != "", "--node-modules": c.Node != ""}); f != "" {
			return usage("%s: not with a model", f)
		}
		return c.runModel(e)
	}
	m := &c.benchModel
	if f := given(map[string]bool{"--input": m.Input != nil, "--dim": m.Dims != nil, "--batch": m.Batch != nil, "--concurrency": m.Concurrency != nil,
		"--runs": m.Runs != nil, "--warmup": m.Warmup != nil}); f != "" {
		return usage("%s: only with a model", f)
	}
	return c.runWorkloads(e)
}

func (c *benchCmd) options(e *env) (suite.Options, error) {
	o := suite.Options{Workloads: c.Workloads, Threads: c.Threads, Peers: c.Peers, Quick: c.Quick, CPU: c.Clock == "cpu", GPU: c.Device,
		Where: peers.Options{Python: c.Python, NodePath: c.Node},
		Note:  func(s string) { e.stderr.printf("%s\n", s) }}
	switch {
	case c.Device != "" && !isGPU(c.Device):
		return o, usage("--device is %q, expected a GPU such as cuda:0, or a model beside it", c.Device)
	case c.JSON && c.Markdown:
		return o, usage("--json and --markdown: one of them")
	case !c.Peer && c.Peers != nil:
		return o, usage("--peers and --no-peer: one of them")
	case c.Rounds != nil && (*c.Rounds < 1 || *c.Rounds > 10000):
		return o, usage("--rounds is %d, expected 1 to 10000", *c.Rounds)
	}
	if !c.Peer {
		o.Peers = []string{}
	}
	if c.Rounds != nil {
		o.Rounds = *c.Rounds
	}
	return o, nil
}

// isGPU reports whether the id of a device is one of a GPU: "cuda" or "cuda:1".
func isGPU(id string) bool {
	name, _, _ := strings.Cut(id, ":")
	return name == "cuda"
}

func (c *benchCmd) runWorkloads(e *env) error {
	o, err := c.options(e)
	if err != nil {
		return err
	}
	s, err := suite.Open(e.ctx, o)
	switch {
	case errors.Is(err, ir.ErrArgument):
		return usage("%v", err)
	case err != nil && o.GPU != "" && !known(o.GPU):
		return usage("--device: %v", err)
	case err != nil:
		return err
	}
	defer s.Close()
	var names []string
	for _, p := range s.Peers() {
		names = append(names, p.Peer)
	}
	if c.JSON {
		e.stdout.object(machineOf(s))
		if err := s.Limits(e.ctx, func(l suite.Limit) error { e.stdout.object(l); return e.stdout.err }); err != nil {
			return err
		}
		return s.Run(e.ctx, func(r suite.Result) error { e.stdout.object(r); return e.stdout.err })
	}
	m := machineOf(s)
	e.stdout.printf("%s, %d processors, %s/%s, %s.", m.Device, m.Processors, m.OS, m.Arch, m.Go)
	if m.Load != "" {
		e.stdout.printf(" Load at the start: %s.", m.Load)
	}
	e.stdout.printf("\n")
	for _, p := range m.Peers {
		e.stdout.printf("Beside %s %s.\n", p.Peer, p.Version)
	}
	legend, table := suite.Legend, suite.NewTable
	if o.GPU != "" {
		legend, table = suite.LegendGPU, suite.NewGPUTable
	}
	e.stdout.printf("\n%s\n", legend)
	if c.Clock == "cpu" {
		e.stdout.printf("%s\n", suite.LegendCPU)
	}
	t := table(e.stdout, c.Markdown, names)
	if err := s.Limits(e.ctx, t.Limit); err != nil {
		return err
	}
	return s.Run(e.ctx, t.Result)
}

// machine is where workloads are measured.
type machine struct {
	Device     string         `json:"device"`
	Processors int            `json:"processors"`
	OS         string         `json:"os"`
	Arch       string         `json:"arch"`
	Go         string         `json:"go"`
	Load       string         `json:"load,omitempty"` // of the last one, five and fifteen minutes
	Peers      []peers.Answer `json:"peers,omitempty"`
}

func machineOf(s *suite.Suite) machine {
	m := machine{Device: s.Device(), Processors: runtime.NumCPU(), OS: runtime.GOOS, Arch: runtime.GOARCH, Go: runtime.Version(), Peers: s.Peers()}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		if f := strings.Fields(string(b)); len(f) >= 3 {
			m.Load = strings.Join(f[:3], " ")
		}
	}
	return m
}
