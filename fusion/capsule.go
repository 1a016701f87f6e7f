package fusion

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/ir"
)

// Capsule is a segment in one file, to be run again elsewhere: the program with
// its sizes, attributes (seeds included) and the user's lines, what went wrong, and
// if wished the contents of its inputs.
type Capsule struct {
	Device  string // on which it happened
	Error   string // what went wrong, in one line; "" for a capsule made on demand
	Program *ir.Program
	Inputs  [][]byte // row-major, in the machine's byte order; nil if left out
	Sites   []string // of the nodes
}

// capsuleHead is the first line of a capsule.
const capsuleHead = "sinter capsule v1"

// Limits of a capsule that is read.
const (
	maxCapsule     = 1 << 30 // bytes
	maxCapsuleLine = 1 << 28
)

// WriteTo writes the capsule as text.
func (c *Capsule) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s/%s\n", capsuleHead, runtime.GOOS, runtime.GOARCH)
	fmt.Fprintf(&b, "device %s\n", strconv.Quote(c.Device))
	fmt.Fprintf(&b, "error %s\n", strconv.Quote(c.Error))
	for i, s := range c.Sites {
		if s != "" {
			fmt.Fprintf(&b, "site %d %s\n", i, strconv.Quote(s))
		}
	}
	for i, data := range c.Inputs {
		fmt.Fprintf(&b, "data %d %s\n", i, hex.EncodeToString(data))
	}
	b.WriteString(c.Program.String())
	return b.WriteTo(w)
}

// ReadCapsule reads a capsule. A malformed one is an error of kind
// [ir.ErrFormat], found within memory bounded by its own size. Custom operations
// are looked up in the table, which may be nil.
func ReadCapsule(r io.Reader, table *ir.Table) (*Capsule, error) {
	bad := func(format string, args ...any) (*Capsule, error) {
		return nil, ir.Errorf(ir.ErrFormat, "capsule: "+format, args...)
	}
	lines := bufio.NewScanner(io.LimitReader(r, maxCapsule))
	lines.Buffer(nil, maxCapsuleLine)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), capsuleHead+" ") {
		return bad("the first line is not %q", capsuleHead)
	}
	c := &Capsule{}
	data, sites := map[int][]byte{}, map[int]string{}
	var program strings.Builder
	for lines.Scan() {
		line := lines.Text()
		key, rest, _ := strings.Cut(line, " ")
		if program.Len() > 0 {
			key = ""
		}
		var err error
		switch key {
		case "device":
			c.Device, err = strconv.Unquote(rest)
		case "error":
			c.Error, err = strconv.Unquote(rest)
		case "site", "data":
			number, value, _ := strings.Cut(rest, " ")
			var i int
			if i, err = strconv.Atoi(number); err != nil {
				break
			}
			if key == "site" {
				sites[i], err = strconv.Unquote(value)
			} else {
				data[i], err = hex.DecodeString(value)
			}
		default:
			program.WriteString(line)
			program.WriteByte('\n')
		}
		if err != nil {
			return bad("the line %q: %v", line[:min(len(line), 60)], err)
		}
	}
	if err := lines.Err(); err != nil {
		return bad("%v", err)
	}
	p, err := ir.ParseProgram(program.String(), table)
	if err != nil {
		return nil, err
	}
	c.Program = p
	if len(data) > 0 {
		c.Inputs = make([][]byte, len(p.Inputs))
		for i, t := range p.Inputs {
			if int64(len(data[i])) != t.Bytes() {
				return bad("input %d has %d bytes, expected %d of %s", i, len(data[i]), t.Bytes(), t.Type)
			}
			c.Inputs[i] = data[i]
			delete(data, i)
		}
	}
	if len(data) > 0 {
		return bad("data of inputs that the program does not have")
	}
	c.Sites = make([]string, len(p.Nodes))
	for i, s := range sites {
		if i < 0 || i >= len(c.Sites) {
			return bad("the line of node %d, of %d", i, len(c.Sites))
		}
		c.Sites[i] = s
		p.Nodes[i].Site = ir.Site{Text: s}
	}
	return c, nil
}

// program makes a program of an instance whose results are kept as told.
func (in *instance) program(keep func(result int) bool) *ir.Program {
	p := &ir.Program{Name: "segment"}
	for i := range in.leaves {
		p.Inputs = append(p.Inputs, in.tensor(^int32(i)))
	}
	for i := range in.recs {
		p.Nodes = append(p.Nodes, in.recs[i].node(in.tensor))
	}
	for i := range in.types {
		if keep(i) {
			p.Outputs = append(p.Outputs, in.tensor(int32(i)).ID)
		}
	}
	return p
}

// capsule writes a capsule of a segment that went wrong, if the client was told
// where to. The error names the file.
func (c *Client) capsule(in *instance, b *bound, e *ir.Error) {
	if c.opt.Capsules == "" {
		return
	}
	keep := b.plan.Segment.keeps
	caps := &Capsule{Device: c.info.ID, Error: e.Error(),
		Program: in.program(func(i int) bool { return keep(ir.ID(len(in.leaves) + 1 + i)) })}
	for i := range in.recs {
		caps.Sites = append(caps.Sites, in.recs[i].site.String())
	}
	if data, errs, err := in.stream.fetch(&instance{types: in.leafTypes()}, in.leafPlaces()); err == nil {
		for i := range data {
			if errs[i] != nil {
				caps.Inputs = nil
				break
			}
			caps.Inputs = append(caps.Inputs, data[i].Bytes)
		}
	}
	file := filepath.Join(c.opt.Capsules, fmt.Sprintf("sinter-%d-%d.capsule", os.Getpid(), c.newID()))
	f, err := os.Create(file)
	if err == nil {
		_, err = caps.WriteTo(f)
		if e := f.Close(); err == nil {
			err = e
		}
	}
	if err != nil {
		e.Msg += fmt.Sprintf("; no capsule was written: %v", err)
		return
	}
	e.Msg += "; capsule " + file
}

func (in *instance) leafTypes() []ir.Type {
	out := make([]ir.Type, len(in.leaves))
	for i := range out {
		out[i] = *in.leaves[i].typ
	}
	return out
}

func (in *instance) leafPlaces() []*stored {
	out := make([]*stored, len(in.leaves))
	for i := range out {
		out[i] = in.leaves[i].st
	}
	return out
}
