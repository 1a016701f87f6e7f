package fusion

import (
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/ir"
)

// Bisect decides fusion by fusion which are done, so that a search can find the
// one that breaks a program: it speaks the protocol of the bisect command
// (golang.org/x/tools/cmd/bisect). Each fusion, a kernel of several operations,
// has a hash of its operations and the user's lines, the same in every run.
type Bisect struct {
	quiet  bool
	invert bool
	rules  []bisectRule
	out    io.Writer
}

// bisectRule sets the decision of all hashes that end in some bits.
type bisectRule struct {
	on         bool
	mask, bits uint64
}

// ParseBisect reads a pattern of the bisect command: optional letters v (describe
// what is reported, which is always done) or q (report nothing), then "y", "n", or "!" and a list of hash
// suffixes in binary, or hexadecimal after an x, each preceded by + (done) or -
// (not done); of several that match, the last decides. Reports go to out, nil for
// standard error.
func ParseBisect(pattern string, out io.Writer) (*Bisect, error) {
	bad := func(why string) (*Bisect, error) {
		return nil, ir.Errorf(ir.ErrArgument, "bisect pattern %q: %s", pattern, why)
	}
	if out == nil {
		out = os.Stderr
	}
	b := &Bisect{out: out}
	p := pattern
	for p != "" && (p[0] == 'v' || p[0] == 'q') {
		b.quiet = b.quiet || p[0] == 'q'
		p = p[1:]
	}
	if strings.HasPrefix(p, "!") {
		b.invert = true
		p = p[1:]
	}
	if p == "" {
		return bad("it decides nothing")
	}
	if p[0] != '+' && p[0] != '-' {
		p = "+" + p
	}
	for p != "" {
		on := p[0] == '+'
		p = p[1:]
		end := strings.IndexAny(p, "+-")
		if end < 0 {
			end = len(p)
		}
		suffix := p[:end]
		p = p[end:]
		r := bisectRule{on: on}
		switch {
		case suffix == "y":
		case suffix == "n":
			r.on = !on
		case suffix == "":
			return bad("a suffix is empty")
		default:
			base, digits, width := 2, suffix, 1
			if suffix[0] == 'x' {
				base, digits, width = 16, suffix[1:], 4
			}
			n := len(digits) * width
			v, err := strconv.ParseUint(digits, base, 64)
			if err != nil || n == 0 || n > 64 {
				return bad(fmt.Sprintf("%q is no suffix of a hash", suffix))
			}
			r.bits = v
			if n < 64 {
				r.mask = 1<<n - 1
			} else {
				r.mask = ^uint64(0)
			}
		}
		b.rules = append(b.rules, r)
	}
	return b, nil
}

// decide tells whether a fusion is done.
func (b *Bisect) decide(hash uint64) bool {
	on := len(b.rules) > 0 && !b.rules[0].on // before the first suffix: the opposite
	for _, r := range b.rules {
		if hash&r.mask == r.bits {
			on = r.on
		}
	}
	return on != b.invert
}

// report prints a decision as the bisect command reads it.
func (b *Bisect) report(hash uint64, what string) {
	if !b.quiet {
		fmt.Fprintf(b.out, "%s [bisect-match %#016x]\n", what, hash)
	}
}

// fusionHash is the hash of a block of several operations, and its description.
func fusionHash(s *Segment, b *Block) (uint64, string) {
	h := fnv.New64a()
	var what []string
	for _, i := range b.Nodes {
		n := &s.Nodes[i]
		op := strings.TrimSuffix(n.Row.Name+" "+n.Site.String(), " ")
		what = append(what, op)
		fmt.Fprintf(h, "%s\x00", op)
		for _, t := range n.In {
			fmt.Fprintf(h, "%s%d,", t.DType, len(t.Shape))
		}
	}
	x := h.Sum64() // FNV mixes low bits weakly, and suffixes are what decides
	x ^= x >> 32
	x *= 0x9E3779B97F4A7C15
	x ^= x >> 29
	return x, "fused: " + strings.Join(what, ", ")
}

// plan plans a segment with the fusions that the pattern allows: what it forbids
// runs one operation per kernel.
func (b *Bisect) plan(p *Planner, s *Segment) (*Plan, error) {
	alone := make([]bool, len(s.Nodes))
	limited := *p
	limited.Options.Alone = func(node int) bool { return alone[node] }
	for {
		plan, err := limited.Plan(s)
		if err != nil {
			return nil, err
		}
		forbidden := false
		for i := range plan.Blocks {
			block := &plan.Blocks[i]
			if len(block.Nodes) < 2 {
				continue
			}
			if hash, _ := fusionHash(s, block); b.decide(hash) {
				continue
			}
			for _, n := range block.Nodes {
				forbidden = forbidden || !alone[n]
				alone[n] = true
			}
		}
		if forbidden { // the rest may fuse in another way now
			continue
		}
		for i := range plan.Blocks {
			if block := &plan.Blocks[i]; len(block.Nodes) > 1 {
				if hash, what := fusionHash(s, block); b.decide(hash) {
					b.report(hash, what)
				}
			}
		}
		return plan, nil
	}
}
