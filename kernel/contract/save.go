package contract

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sync"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64"
)

// codeVersion is the version of saved code: of its form, and of how kernels are
// taken apart.
const codeVersion = 1

// Save appends the code of the parts that were made to b, for [Load]. Micro-kernels
// are no part of it: they depend on no kernel, and each process makes its own.
func (c *Code) Save(b []byte) []byte {
	for _, code := range []*amd64.Code{c.pack[0].made.Load(), c.pack[1].made.Load(), c.epilogue.made.Load(), c.made.Load()} {
		if code == nil {
			b = binary.AppendUvarint(b, 0)
			continue
		}
		data := code.Save(nil)
		b = binary.AppendUvarint(b, uint64(len(data)))
		b = append(b, data...)
	}
	return b
}

// Load makes the executable of a contraction again that [Code.Save] wrote where
// [BuildID] was what it is here. What [amd64.Load] says of trust holds here too.
func Load(k *kernel.Kernel, level amd64.Level, data []byte) (*Code, error) {
	c, err := compile(k, level)
	if err != nil {
		return nil, err
	}
	refused := func(format string, args ...any) error {
		return &ir.Error{Kind: ir.ErrFormat, Op: k.Name, Msg: "saved code", Cause: fmt.Errorf(format, args...)}
	}
	parts := []*part{c.pack[0], c.pack[1], c.epilogue, nil}
	for i, p := range parts {
		n, used := binary.Uvarint(data)
		if used <= 0 || n > uint64(len(data)-used) {
			return nil, refused("the bytes end within part %d of %d", i+1, len(parts))
		}
		of := data[used : used+int(n)]
		data = data[used+int(n):]
		if n == 0 {
			continue
		}
		if p == nil {
			code, err := amd64.Load(k, level, of)
			if err != nil {
				return nil, err
			}
			c.made.Store(code)
			c.plain = func() kernel.Executable { return code }
			continue
		}
		code, err := amd64.Load(p.K, level, of)
		if err != nil {
			return nil, err
		}
		p.made.Store(code)
		p.compile = func() *amd64.Code { return code }
	}
	if len(data) > 0 {
		return nil, refused("%d bytes follow the end", len(data))
	}
	for _, p := range c.needed() {
		if p.made.Load() == nil {
			return nil, refused("the code of %s is missing", p.K.Name)
		}
	}
	return c, nil
}

// BuildID names what generates code of a level here; saved code is good where it is
// the same. It covers the kernels that a contraction is taken apart into.
func BuildID(level amd64.Level) string {
	if level > amd64.AVX512 {
		return ""
	}
	return buildIDs[level]()
}

var buildIDs = [...]func() string{
	amd64.AVX2:   sync.OnceValue(func() string { return buildID(amd64.AVX2) }),
	amd64.AVX512: sync.OnceValue(func() string { return buildID(amd64.AVX512) }),
}

func buildID(level amd64.Level) string {
	return fmt.Sprintf("%s/contract%d/%s", amd64.BuildID(level), codeVersion, parting(level))
}

// parting is a hash of the kernels that a few contractions are taken apart into.
func parting(level amd64.Level) string {
	h := sha256.New()
	for _, k := range probes() {
		f, why := formOf(k, level)
		if f == nil {
			panic("sinter: BUG: kernel/contract: a probe is no contraction: " + why)
		}
		for _, d := range []*derived{f.prologue(&f.sides[0], "rows"), f.prologue(&f.sides[1], "columns"), f.epilogue()} {
			h.Write(d.K.AppendWire(nil))
			fmt.Fprintln(h, d.Axes, d.Args, d.Extents, d.Indexed)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// probes are contractions that between them use every part of the taking apart.
func probes() []*kernel.Kernel {
	const par, red = kernel.Parallel, kernel.Reduced
	const s, u, n = kernel.Strided, kernel.Unit, kernel.Broadcast
	make := func(x, z, y []kernel.Access) *kernel.Kernel {
		b := kernel.NewBuilder("probe", []kernel.AxisKind{par, par, red, par})
		load := func(t ir.DType, access []kernel.Access) kernel.Ref {
			return b.Convert(b.Load(b.AddArg(kernel.Arg{Type: t, Dir: kernel.In, Access: access})), ir.F32)
		}
		a := b.Op(kernel.OpMul, ir.F32, load(ir.BF16, x), b.AddParam(ir.F32))
		a = b.Op(kernel.OpAdd, ir.F32, a, b.Convert(b.Index(2), ir.F32))
		v := b.Reduce(kernel.Dot, kernel.DotTree, a, load(ir.F32, z))
		v = b.Op(kernel.OpDiv, ir.F32, v, b.Convert(b.Extent(2), ir.F32))
		b.Store(b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.Out, Access: y}), v)
		return b.K
	}
	access := func(a ...kernel.Access) []kernel.Access { return a }
	return []*kernel.Kernel{
		make(access(s, s, u, n), access(s, n, s, u), access(s, s, n, u)),
		make(access(s, u, s, n), access(n, n, u, s), access(s, u, n, s)),
	}
}
