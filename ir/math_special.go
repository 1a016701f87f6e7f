package ir

// Programs of functions made of those in math_f64.go. In f32 they compute in f64
// and round once, which is correct but for one argument in some thousands: none of
// them is often where time counts. Polynomials are interpolated at Chebyshev's
// nodes. Errors as in math_f64.go.

// viaF64 is the program in f32 of a row that has one in f64.
func viaF64(row string, operands ...string) string {
	s := "y = f32(" + row + "("
	for i, o := range operands {
		if i > 0 {
			s += ", "
		}
		s += "f64(" + o + ")"
	}
	return s + "))"
}

// exp10F64: x = n·log10(2) + s with an exact first product, 10^s = e^(r+l) with r + l
// = s·ln 10; the sum 1 + r + r²·Q is rounded once: powers that f64 holds are exact.
const exp10F64 = `
c = select(x > 309, 309, x)
c = select(c < -325, -325, c)
t = fma(c, 0x1.a934f0979a371p1, 0x1.80000000007fep52)
n = t - 0x1.80000000007fep52
s = fma(n, -0x1.34413509f8p-2, c)
h = s * 0x1.26bb1bbb55516p1
g = n * 0x1.ba66111603c15p-43
r = h + g
l = ((h - r) + g) + fma(s, -0x1.f48ad494ea3e9p-53, fma(s, 0x1.26bb1bbb55516p1, -h))
` + expm1PolyF64 + `v = r + 1
q = (((1 - v) + r) + fma(q, r * r, l * (r + 1))) + v
k = bits(t)
a = (k << 51) & -0x10000000000000
b = (k << 52) - a
y = q * float(a) * float(b)
`

// log10F64: n·log10(2) + f·log10(e) + f²·p·log10(e) with the constants in two parts;
// exact at powers of 10.
const log10F64 = logCoreF64 + `q = p * (f * f)
p = fma(f, 0x1.bcb7b1526e50ep-2, fma(q, 0x1.bcb7b1526e50ep-2, fma(f, 0x1.95355baaafad3p-57, n * -0x1.80433b83b532ap-44)))
p = fma(n, 0x1.34413509f8p-2, p)
p = select(x > 0, p, select(x == 0, -inf, nan))
y = select(x < inf, p, x)
`

// tanF32: the polynomials of sine and cosine of f32, evaluated in f64, divided there.
const tanF32 = reduceF32 + `d = f64(h) - f64(l)
s = d * d
a = fma(fma(fma(fma(0x1.71de3a556c734p-19, s, -0x1.a01a01a01a01ap-13), s, 0x1.1111111111111p-7), s, -0x1.5555555555555p-3), s * d, d)
b = fma(fma(fma(fma(fma(-0x1.27e4fb7789f5cp-22, s, 0x1.a01a01a01a01ap-16), s, -0x1.6c16c16c16c17p-10), s, 0x1.5555555555555p-5), s, -0.5), s, 1)
o = (bits(t) & 1) != 0
y = f32(select(o, -b, a) / select(o, a, b))
y = select(x == 0, x, y)
`

// tanF64: the quotient of sine and cosine.
const tanF64 = sinCosF64 + `o = (bits(t) & 1) != 0
y = select(o, -b, a) / select(o, a, b)
y = select(x == 0, x, y)
`

// arcF64: arcsin(s) = s + r with s = |x| up to 1/2, and the root of (1-|x|)/2 beyond,
// whose rounding error is e; P of degree 12 (2^-57).
const arcF64 = `
m = abs(x)
o = m > 0.5
v = select(o, fma(m, -0.5, 0.5), m * m)
s = select(o, sqrt(v), m)
p = fma(0x1.d78189767524ep-6, v, -0x1.e7a24f548c99dp-7)
p = fma(p, v, 0x1.1d661531b222ep-6)
p = fma(p, v, 0x1.653a8f8cfd43dp-8)
p = fma(p, v, 0x1.524ea8b3aad31p-7)
p = fma(p, v, 0x1.78246f32d075cp-7)
p = fma(p, v, 0x1.c9cf3759fd8ffp-7)
p = fma(p, v, 0x1.1c4d343fa57f6p-6)
p = fma(p, v, 0x1.6e8bb1d89492bp-6)
p = fma(p, v, 0x1.f1c71c1d4aa0dp-6)
p = fma(p, v, 0x1.6db6db6e3292ep-5)
p = fma(p, v, 0x1.3333333332ec4p-4)
p = fma(p, v, 0x1.5555555555556p-3)
e = select(o && (s > 0), fma(-s, s, v) / (s + s), 0)
r = fma(p * v, s, e)
`

const asinF64 = arcF64 + `q = 0x1.921fb54442d18p0 - ((s + s) - (0x1.1a62633145c07p-54 - (r + r)))
y = select(o, q, s + r)
y = float(bits(y) | (bits(x) & -0x8000000000000000))
`

const acosF64 = arcF64 + `h = select(x < 0, -s, s)
g = select(x < 0, -r, r)
b = (s + s) + (r + r)
q = select(x < 0, 0x1.921fb54442d18p1 - ((s + s) - (0x1.1a62633145c07p-53 - (r + r))), b)
y = select(o, q, 0x1.921fb54442d18p0 - (h - (0x1.1a62633145c07p-54 - g)))
`

// sinhF64: half of e^|x| - 1 is h; scaled so that it overflows no earlier than the result.
const sinhF64 = `
m = abs(x)
c = select(m > 712, 712, m)
` + expm1CoreF64 + `h = (fma(p, float(a), w) + u) * (float(b) * 0.5)
y = h + select(h > 0x1p60, 0.5, h / (h + h + 1))
y = select(m < 0x1p-28, m, y)
y = float(bits(y) | (bits(x) & -0x8000000000000000))
`

// coshF64: h + 1/(4h) with h = e^|x|/2.
const coshF64 = `
m = abs(x)
c = select(m > 712, 712, m)
` + expCoreF64 + `h = p * float(a) * (float(b) * 0.5)
y = h + 0.25 / h
`

// asinhF64: log1p(m + m²/(1 + √(m²+1))); log(2m) beyond 2^28.
const asinhF64 = `
m = abs(x)
o = m > 0x1p28
v = select(o, 1, m)
u = v * v
y = log1p(select(o, m - 1, v + u / (sqrt(u + 1) + 1)))
y = select(o, y + 0x1.62e42fefa39efp-1, y)
y = float(bits(y) | (bits(x) & -0x8000000000000000))
`

// acoshF64: log1p(u + √(2u + u²)) with u = x-1; log(2x) beyond 2^28.
const acoshF64 = `
o = x > 0x1p28
u = x - 1
v = select(o, 1, u)
y = log1p(select(o, u, v + sqrt(fma(v, v, v + v))))
y = select(o, y + 0x1.62e42fefa39efp-1, y)
y = select(x < 1, nan, y)
`

// atanhF64: log1p(2m + 2m·m/(1-m))/2 below 1/2, log1p(2m/(1-m))/2 above.
const atanhF64 = `
m = abs(x)
v = m + m
u = 1 - m
y = log1p(select(m < 0.5, v + v * m / u, v / u)) * 0.5
y = float(bits(y) | (bits(x) & -0x8000000000000000))
`

// atan2F64: the arc tangent of the lesser magnitude over the greater, in its octant.
const atan2F64 = `
a = abs(x)
b = abs(z)
m = max(a, b)
n = min(a, b)
t = atan(select(m == 0, 0, select(n == inf, 1, n / m)))
o = a > b
g = bits(z) < 0
h = select(o, 0x1.921fb54442d18p0, select(g, 0x1.921fb54442d18p1, 0))
l = select(o, 0x1.1a62633145c07p-54, select(g, 0x1.1a62633145c07p-53, 0))
t = (h + select(o != g, -t, t)) + l
y = float(bits(t) | (bits(x) & -0x8000000000000000))
`

// hypotF64 scales by a power of two where squares would leave the range.
const hypotF64 = `
a = abs(x)
b = abs(z)
m = max(a, b)
s = select(m > 0x1p500, 0x1p-600, select(m < 0x1p-400, 0x1p600, 1))
u = select(m > 0x1p500, 0x1p600, select(m < 0x1p-400, 0x1p-600, 1))
m = m * s
n = min(a, b) * s
y = sqrt(fma(m, m, n * n)) * u
y = select((a == inf) || (b == inf), inf, y)
`

// logAddExpF64: the greater and log1p of e to the power of minus the distance.
const logAddExpF64 = `
d = select(x == z, 0, min(x, z) - max(x, z))
y = max(x, z) + log1p(exp(d))
`

// cbrtF64: |x| = m·8^k with m in [1, 8); a cubic and two steps of Halley, then one of
// Newton with an exact residue.
const cbrtF64 = `
s = abs(x) < 0x1p-1022
v = bits(select(s, x * 0x1p54, x)) & 0x7fffffffffffffff
e = float((v >> 52) | 0x4330000000000000) - select(s, 0x1.0000000000435p52, 0x1.00000000003ffp52)
k = floor(fma(e, 0x1.5555555555555p-2, 0x1p-6))
j = bits(fma(k, -3, e) + 0x1.8p52)
m = float(((v & 0xfffffffffffff) | 0x3ff0000000000000) + (j << 52))
t = fma(0x1.aaa35c5a00cefp-10, m, -0x1.16bdcea48ab0cp-5)
t = fma(t, m, 0x1.50ba8099ee533p-2)
t = fma(t, m, 0x1.6ef7d7bd6bb0dp-1)
c = t * t * t
t = t * ((m + m + c) / (c + c + m))
c = t * t * t
t = t * ((m + m + c) / (c + c + m))
q = t * t
r = fma(-q, t, m) - fma(t, t, -q) * t
t = t + r / (q * 3)
y = t * float((bits(k + 0x1.80000000003ffp52)) << 52)
y = float(bits(y) | (bits(x) & -0x8000000000000000))
y = select((x == 0) || !(abs(x) < inf), x, y)
`

// tailF64 and tailF32 leave q = e^(a²)·erfc(a)·(1 + 2a) in p, as a polynomial in
// t = (a-k)/(a+k): k = 3, degree 24 (2^-54.2) up to 28.5 in f64; k = 2, degree 11
// (2^-27.2) up to 10.7 in f32.
const tailF64 = `
p = fma(0x1.448da30ed826ep-31, t, 0x1.a5a0fce3c55ddp-32)
p = fma(p, t, -0x1.06f696367d49bp-27)
p = fma(p, t, -0x1.7a391bbde12d2p-27)
p = fma(p, t, 0x1.6017300e7f616p-25)
p = fma(p, t, 0x1.a4f593eaa3764p-24)
p = fma(p, t, -0x1.2fea01631e5abp-23)
p = fma(p, t, -0x1.4919fea91ddd2p-21)
p = fma(p, t, 0x1.7fa7f3af3dfd4p-22)
p = fma(p, t, 0x1.d1c504fbb3e21p-19)
p = fma(p, t, -0x1.88f52b87c1342p-21)
p = fma(p, t, -0x1.5137b881b4fffp-16)
p = fma(p, t, 0x1.4c2ab54b8ea75p-18)
p = fma(p, t, 0x1.065a17a265eb6p-13)
p = fma(p, t, -0x1.b9128621b79f4p-14)
p = fma(p, t, -0x1.98db4fb6f140cp-11)
p = fma(p, t, 0x1.ef1bdd67b97a9p-10)
p = fma(p, t, 0x1.4b884e3b11f2ep-9)
p = fma(p, t, -0x1.8574c40bef1d5p-6)
p = fma(p, t, 0x1.17ca2877f52a9p-4)
p = fma(p, t, -0x1.e88b803a48f36p-4)
p = fma(p, t, 0x1.098366a5b45e5p-3)
p = fma(p, t, -0x1.85a15c58aa5e2p-5)
p = fma(p, t, -0x1.15c084bb9e8f1p-3)
p = fma(p, t, 0x1.40c522d7e4987p0)
`

const tailF32 = `
p = fma(0x1.7ab1fp-14, t, 0x1.8a26ccp-13)
p = fma(p, t, -0x1.ad04b4p-12)
p = fma(p, t, -0x1.7b0632p-10)
p = fma(p, t, 0x1.487c66p-10)
p = fma(p, t, 0x1.1dcd02p-7)
p = fma(p, t, -0x1.071fcp-7)
p = fma(p, t, -0x1.bc2d64p-5)
p = fma(p, t, 0x1.4ff9e2p-3)
p = fma(p, t, -0x1.5407a6p-3)
p = fma(p, t, -0x1.7bf5e8p-4)
p = fma(p, t, 0x1.46e80ep0)
`

// erfcF64: e^(-a²)·p/(1 + 2a), the square of a in two parts.
const erfcF64 = `
a = abs(x)
a = select(a > 28, 28, a)
t = (a - 3) / (a + 3)
` + tailF64 + `h = a * a
e = exp(-h)
e = fma(e, -fma(a, a, -h), e)
q = e * p / fma(a, 2, 1)
y = select(x < 0, 2 - q, q)
`

// normalF64 and normalF32 leave e^(-a²/2) in e, for a = |x|, and in q what it is
// multiplied with for the tail erfc(a/√2)/2; the root is in the constants.
const normalF64 = `
a = abs(x)
a = select(a > 40, 40, a)
t = (a - 0x1.0f876ccdf6cd9p2) / (a + 0x1.0f876ccdf6cd9p2)
` + tailF64 + `h = a * a
e = exp(h * -0.5)
e = fma(e, fma(a, a, -h) * -0.5, e)
q = p * 0.5 / fma(a, 0x1.6a09e667f3bcdp0, 1)
`

const normalF32 = `
a = abs(x)
a = select(a > 15, 15, a)
t = (a - 0x1.6a09e6p1) / (a + 0x1.6a09e6p1)
` + tailF32 + `h = a * a
e = exp(h * -0.5)
e = fma(e, fma(a, a, -h) * -0.5, e)
q = p * 0.5 / fma(a, 0x1.6a09e6p0, 1)
`

const normalCDF = `q = e * q
y = select(x > 0, 1 - q, q)
`

// geluTail: x·Φ(x) is max(x, 0) - |x|·Φ(-|x|), of which the tail keeps its digits.
const geluTail = `y = max(x, 0) - e * a * q
`

// erfinvF64: x·P(w), w = -log(1-x²), of degree 24 (2^-54.6) up to 6.25; beyond in √w,
// of degree 20 up to 16 (2^-54.7) and 18 above (2^-53).
const erfinvF64 = `
w = -log((1 - x) * (x + 1))
u = w - 3.125
p = fma(-0x1.b2643e45e1856p-72, u, 0x1.e2aa7ddd776b6p-69)
p = fma(p, u, 0x1.79a647e43b44ep-66)
p = fma(p, u, -0x1.9a137911c05cfp-62)
p = fma(p, u, 0x1.669b9213d3cdfp-61)
p = fma(p, u, 0x1.1e1f9ee618b29p-56)
p = fma(p, u, -0x1.19ac650194dcap-53)
p = fma(p, u, -0x1.6b6b0fc6a580fp-55)
p = fma(p, u, 0x1.d5e95ecc5f898p-48)
p = fma(p, u, -0x1.6877e8ae70f27p-45)
p = fma(p, u, -0x1.6b86f85109f07p-44)
p = fma(p, u, 0x1.7236b79e1d57ep-39)
p = fma(p, u, -0x1.c8a6afa1550f4p-37)
p = fma(p, u, -0x1.dc3f457145cd3p-35)
p = fma(p, u, 0x1.20f544d62fff1p-30)
p = fma(p, u, -0x1.1a9eb00326b9bp-28)
p = fma(p, u, -0x1.f36ceed4416aep-26)
p = fma(p, u, 0x1.c6b4f8868f532p-22)
p = fma(p, u, -0x1.6e8a53c7ac2ffp-20)
p = fma(p, u, -0x1.d1d1f7c9ffa6dp-17)
p = fma(p, u, 0x1.879c2a20aeb2ep-13)
p = fma(p, u, -0x1.84576948359ddp-11)
p = fma(p, u, -0x1.8b6c33114ea2fp-8)
p = fma(p, u, 0x1.ebd80d9b13dfap-3)
p = fma(p, u, 0x1.a755e7c99ae86p0)
s = sqrt(w)
o = s > 4
v = s - 3.25
q = fma(0x1.064aa8eff7583p-27, v, -0x1.08a9da549b815p-26)
q = fma(q, v, -0x1.6543b4a9218bbp-26)
q = fma(q, v, 0x1.1b2214b5c3d7ep-23)
q = fma(q, v, -0x1.07bd270cbd461p-22)
q = fma(q, v, -0x1.df3da5ec7f76dp-26)
q = fma(q, v, 0x1.8dbbc2eca683ep-20)
q = fma(q, v, -0x1.0b7716b2d133p-18)
q = fma(q, v, 0x1.8999bd4bb34cp-19)
q = fma(q, v, 0x1.a2414905baa0bp-17)
q = fma(q, v, -0x1.8cf4605a1018bp-15)
q = fma(q, v, 0x1.1e6abf357610cp-14)
q = fma(q, v, 0x1.932e8f1be236cp-16)
q = fma(q, v, -0x1.7448bce2f3117p-12)
q = fma(q, v, 0x1.f3cc545dfd1c7p-11)
q = fma(q, v, -0x1.ba9240d8081b9p-10)
q = fma(q, v, 0x1.468eeca9440e3p-9)
q = fma(q, v, -0x1.ebadabba0465cp-9)
q = fma(q, v, 0x1.5ffcfe5b6cd45p-8)
q = fma(q, v, 0x1.0158a6d641d55p0)
q = fma(q, v, 0x1.8abcc380d5a48p1)
v = s - 5.05
r = fma(-0x1.1127ca9e00b21p-36, v, 0x1.02aa89f9d5b13p-35)
r = fma(r, v, 0x1.565e6ab4927d3p-34)
r = fma(r, v, -0x1.abc54c679c8abp-32)
r = fma(r, v, 0x1.1ff741e3a5962p-30)
r = fma(r, v, -0x1.690efdd136ecep-29)
r = fma(r, v, 0x1.8f067894cda8ep-28)
r = fma(r, v, -0x1.813863e0db791p-27)
r = fma(r, v, 0x1.76e3cc324a29ap-26)
r = fma(r, v, -0x1.d7d7fa1789511p-25)
r = fma(r, v, 0x1.b0f95001d4d26p-23)
r = fma(r, v, -0x1.e6fd0b78b6159p-21)
r = fma(r, v, 0x1.1971dbc91a039p-18)
r = fma(r, v, -0x1.34460805926dap-16)
r = fma(r, v, 0x1.2acdb4cb32687p-14)
r = fma(r, v, -0x1.a415b0912c43ep-13)
r = fma(r, v, -0x1.6437de55675f1p-13)
r = fma(r, v, 0x1.02a209f638a1ap0)
r = fma(r, v, 0x1.39a07f9e2524cp2)
y = select(w > 6.25, select(o, r, q), p) * x
y = select(abs(x) == 1, x * inf, y)
`

// sincF64: the sine of π·r with x = n + r.
const sincF64 = `
n = rint(x)
r = x - n
q = sin(r * 0x1.921fb54442d18p1) / (x * 0x1.921fb54442d18p1)
y = select(rint(n * 0.5) * 2 == n, q, -q)
y = select(r == 0, select(x == 0, 1, 0), y)
`

// logitF64: log(x/(1-x)) by the side that x lies nearer to.
const logitF64 = `
n = select(x < 0.5, x, 1 - x)
o = abs(n) < 0x1p-960
y = log1p(fma(n, -2, 1) * select(o, 0x1p-60, 1) / n) + select(o, 0x1.4cb5ecf0a965p5, 0)
y = select(x < 0.5, -y, y)
`

// tanhShrinkF64: x³·P(x²) below 0.9, of degree 14 (2^-54).
const tanhShrinkF64 = `
w = x * x
q = fma(0x1.f5fd5e537f1bfp-24, w, -0x1.0c032920efebfp-20)
q = fma(q, w, 0x1.27960d9f2ee5dp-18)
q = fma(q, w, -0x1.d680d195123ecp-17)
q = fma(q, w, 0x1.3eab444ae6febp-15)
q = fma(q, w, -0x1.93c8d99be8b7fp-14)
q = fma(q, w, 0x1.f4fe265c2c1f9p-13)
q = fma(q, w, -0x1.354fa65076b81p-11)
q = fma(q, w, 0x1.7da295b09b3cdp-10)
q = fma(q, w, -0x1.d6d3c3556fa2ap-9)
q = fma(q, w, 0x1.226e3513e2b13p-7)
q = fma(q, w, -0x1.664f4880d13c7p-6)
q = fma(q, w, 0x1.ba1ba1ba14dcep-5)
q = fma(q, w, -0x1.11111111110c6p-3)
q = fma(q, w, 0x1.5555555555555p-2)
y = select(abs(x) < 0.9, q * w * x, x - tanh(x))
`
