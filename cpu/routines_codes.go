package cpu

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64"
)

func init() { builtinRoutines["dot_codes"] = dotCodes }

// codeRows is how many rows of codes a task of dotCodes takes: about 10 µs from
// memory at 8 bits and 4096 columns.
const codeRows = 64

// dotCodes multiplies rows of x with rows of codes. Generated code and Go follow the
// sentence of the row to the bit.
func dotCodes(c *Call) error {
	p := newCodeProduct(c)
	if p.n == 0 || p.rows == 0 {
		return nil
	}
	out := view[float32](c.Out[0].Data)
	if p.k == 0 {
		clear(out)
		return nil
	}
	d, err := amd64.CodeDotterOf(p.format())
	if err != nil || p.words*4 != p.rowBytes || !p.generated {
		c.Parallel((p.n+codeRows-1)/codeRows, func(task int) {
			for i := task * codeRows; i < min((task+1)*codeRows, p.n); i++ {
				for r := range p.rows {
					out[r*p.n+i] = p.dot(p.x[r*p.k:(r+1)*p.k], i)
				}
			}
		})
		return nil
	}
	size := d.Vector(p.words)
	laid, err := c.Scratch(size * p.rows)
	if err != nil {
		return err
	}
	shared := int32(0)
	if !p.zeros {
		shared = p.zeroAt(0, 0)
	}
	m := &amd64.CodeMatrix{Codes: p.codes, Scales: p.scaleData, Zeros: p.zeroData, RowWords: p.words}
	if p.scale.Shape[0] > 1 {
		m.ScalesRow = p.scale.Shape[1] * p.scale.DType.Size()
	}
	if p.zero.Shape[0] > 1 {
		m.ZerosRow = p.zero.Shape[1]
	}
	if p.scale.Shape[1] > 1 {
		m.Words = p.block * p.bits / 32
	}
	c.Parallel(p.rows, func(r int) { d.Lay(laid[r*size:(r+1)*size], p.x[r*p.k:(r+1)*p.k], m, shared) })
	c.Parallel((p.n+codeRows-1)/codeRows, func(task int) {
		from := task * codeRows
		to := min(from+codeRows, p.n)
		for r := range p.rows {
			d.Dot(m, laid[r*size:(r+1)*size], from, out[r*p.n+from:r*p.n+to])
		}
	})
	return nil
}

// codeProduct is a call of dotCodes.
type codeProduct struct {
	x                   []int8
	codes               []byte
	scale, zero         ir.Type
	scaleData, zeroData []byte
	rows, k, n          int
	rowBytes, words     int // of a row of codes; words counts one that is not whole
	bits, block         int
	signed, zeros       bool // zeros: not one zero point for all
	generated           bool // the call is of a form that generated code may cover
}

func newCodeProduct(c *Call) *codeProduct {
	x, codes := c.In[0].Type, c.In[1].Type
	p := &codeProduct{
		x: view[int8](c.In[0].Data), codes: c.In[1].Data,
		scale: c.In[2].Type, scaleData: c.In[2].Data, zero: c.In[3].Type, zeroData: c.In[3].Data,
		k: x.Shape[len(x.Shape)-1], n: codes.Shape[0], rowBytes: codes.Shape[1],
		bits: int(c.Node.Attr("bits").Int), block: int(c.Node.Attr("block").Int),
		signed: codes.DType == ir.I8,
	}
	p.rows = x.Shape[:len(x.Shape)-1].Size()
	p.words = (p.rowBytes + 3) / 4
	p.zeros = p.zero.Shape.Size() > 1
	// Scales and zero points lie side by side, one of each to a block.
	p.generated = !p.zeros || p.zero.Shape[1] == p.scale.Shape[1]
	// So do codes of 4 bits, in halves of blocks that have them.
	p.generated = p.generated && (p.bits == 8 || p.block == 0 || p.scale.Shape[1] > 1 || p.rowBytes*2 == p.block)
	return p
}

func (p *codeProduct) format() amd64.CodeFormat {
	f := amd64.CodeFormat{Bits: p.bits, Signed: p.signed, Scale: p.scale.DType, Zeros: p.zeros}
	if p.scale.Shape[1] > 1 {
		f.Words = p.block * p.bits / 32
	}
	return f
}

// scaleAt and zeroAt are those of a block of row i.
func (p *codeProduct) scaleAt(i, b int) float32 {
	at := min(i, p.scale.Shape[0]-1)*p.scale.Shape[1] + min(b, p.scale.Shape[1]-1)
	switch p.scale.DType {
	case ir.F16:
		return kernel.F16ToF32(view[uint16](p.scaleData)[at])
	case ir.BF16:
		return kernel.BF16ToF32(view[uint16](p.scaleData)[at])
	}
	return view[float32](p.scaleData)[at]
}

func (p *codeProduct) zeroAt(i, b int) int32 {
	v := p.zeroData[min(i, p.zero.Shape[0]-1)*p.zero.Shape[1]+min(b, p.zero.Shape[1]-1)]
	if p.signed {
		return int32(int8(v))
	}
	return int32(v)
}

// dot is the product of one row of x and row i of codes, as the row defines it.
func (p *codeProduct) dot(x []int8, i int) float32 {
	codes := p.codes[i*p.rowBytes : (i+1)*p.rowBytes]
	run := p.rowBytes // bytes of a block
	if p.block > 0 {
		run = p.block * p.bits / 8
	}
	at := func(k int) int32 { // x goes on with 0
		if k < len(x) {
			return int32(x[k])
		}
		return 0
	}
	var partials [16]float32
	for w := range p.words {
		b := 4 * w / run
		zero, sum := p.zeroAt(i, b), int32(0)
		for j, c := range codes[4*w : min(4*w+4, len(codes))] {
			switch j += 4 * w; {
			case p.bits == 4: // in two halves of the block
				j += b * run
				sum += at(j)*(int32(c&15)-zero) + at(j+run)*(int32(c>>4)-zero)
			case p.signed:
				sum += at(j) * (int32(int8(c)) - zero)
			default:
				sum += at(j) * (int32(c) - zero)
			}
		}
		s := &partials[w%16]
		*s = kernel.FMA32(float32(sum), p.scaleAt(i, b), *s)
	}
	for n := 8; n > 0; n /= 2 {
		for j := range n {
			partials[j] += partials[j+n]
		}
	}
	return partials[0]
}
