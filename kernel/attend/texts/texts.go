// Package texts has what the recurrence of attention computes element by element, as
// texts of the op language: whoever generates code of their own takes them from here, and
// so has the same bits. See package attend for the recurrence.
package texts

import "github.com/sinter-go/sinter/ir"

// Weight is 2^x for x up to 0 in f32, and 0 below -126, where a weight would lose its
// digits: n is x rounded, and stands with its bias of 127 in the low bits of t, so
// that shifting them makes the float 2^n. The polynomial is that of the row exp2.
var Weight = parse(`
c = select(x < -126, -126, x)
t = c + 0x1.8000fep23
r = c - (t - 0x1.8000fep23)
p = fma(0x1.416b6p-13, r, 0x1.5f082ep-10)
p = fma(p, r, 0x1.3b2dep-7)
p = fma(p, r, 0x1.c6af7cp-5)
p = fma(p, r, 0x1.ebfbdcp-3)
p = fma(p, r, 0x1.62e43p-1)
p = fma(p, r, 1)
y = select(x < -126, 0, p * float(bits(t) << 23))
`)

// Quotient is y = x / l + 0, 0 where l is 0.
var Quotient = parse("y = select(l == 0, 0, x / l) + 0")

// LogSum is y = lse of the greatest score m, to the base 2, and the sum l; n is ln 2.
var LogSum = parse("y = select(l == 0, -inf, fma(m, n, log(l)))")

// Gradient is, of a score x, what the backward pass makes of it: y, its weight, and s, its
// gradient. p is 2^(x - lse·log2(e)), dp the product of the value with the gradient of the
// result, delta that of the query.
var Gradient = parse(`
y = select(x == -inf || lse == -inf, 0, p)
s = select(y == 0, 0, y * (dp - delta))
`)

func parse(text string) *ir.Block {
	b, err := ir.Parse(text)
	if err != nil {
		panic("sinter/kernel/attend/texts: BUG: " + err.Error())
	}
	return b
}
