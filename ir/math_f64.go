package ir

// The scalar programs of the mathematical functions in f64: those in f32 with
// longer polynomials, the integer in the low bits made by adding 1.5·2^52. Errors
// are the greatest found against 113-bit references on special values and some
// millions of arguments, spread over all exponents and over the critical ranges.
// Integers of 64 bits are never converted by value: (e | bits(2^52)) as a float,
// minus 2^52, is e.

// expF64: degree 11 (2^-57.9). 0.85 ulp.
const expF64 = `
c = select(x > 710, 710, x)
c = select(c < -746, -746, c)
` + expCoreF64 + `y = p * float(a) * float(b)
`

// expCoreF64 leaves p·a·b, e to the power c.
const expCoreF64 = `t = fma(c, 0x1.71547652b82fep0, 0x1.80000000007fep52)
n = t - 0x1.80000000007fep52
r = fma(n, -0x1.62e42fefa39efp-1, c)
r = fma(n, -0x1.abc9e3b39803fp-56, r)
p = fma(0x1.ad9f08eed2e2dp-26, r, 0x1.28ad4b15a9f0bp-22)
p = fma(p, r, 0x1.71df0cb2cb472p-19)
p = fma(p, r, 0x1.a0199a22c8716p-16)
p = fma(p, r, 0x1.a01a01385635bp-13)
p = fma(p, r, 0x1.6c16c18431496p-10)
p = fma(p, r, 0x1.1111111124533p-7)
p = fma(p, r, 0x1.55555555507bbp-5)
p = fma(p, r, 0x1.555555555550dp-3)
p = fma(p, r, 0x1.000000000000ap-1)
p = fma(p, r, 1)
p = fma(p, r, 1)
k = bits(t)
a = (k << 51) & -0x10000000000000
b = (k << 52) - a
`

// exp2F64: degree 11 (2^-57.8). 0.79 ulp.
const exp2F64 = `
c = select(x > 1024, 1024, x)
c = select(c < -1076, -1076, c)
t = c + 0x1.80000000007fep52
r = c - (t - 0x1.80000000007fep52)
p = fma(0x1.e80ebca6400d4p-32, r, 0x1.e6119fc2d4347p-28)
p = fma(p, r, 0x1.b5260db75bf83p-24)
p = fma(p, r, 0x1.62bfcddea52afp-20)
p = fma(p, r, 0x1.ffcbfbf8bf179p-17)
p = fma(p, r, 0x1.4309130c011b7p-13)
p = fma(p, r, 0x1.5d87fe78b3baap-10)
p = fma(p, r, 0x1.3b2ab6fba11f5p-7)
p = fma(p, r, 0x1.c6b08d704a0d4p-5)
p = fma(p, r, 0x1.ebfbdff82c59cp-3)
p = fma(p, r, 0x1.62e42fefa39efp-1)
p = fma(p, r, 1)
k = bits(t)
a = (k << 51) & -0x10000000000000
b = (k << 52) - a
y = p * float(a) * float(b)
`

// expm1F64: q of degree 11 (2^-59.2). 1.12 ulp.
const expm1F64 = `
c = select(x > 710, 710, x)
c = select(c < -38, -38, c)
` + expm1CoreF64 + `y = (fma(p, float(a), w) + u) * float(b)
y = select(x == 0, x, y)
`

// expm1CoreF64 leaves (fma(p, a, w) + u)·b, e to the power c, less 1.
const expm1CoreF64 = `t = fma(c, 0x1.71547652b82fep0, 0x1.80000000007fep52)
t = select(abs(x) < 0.55, 0x1.80000000007fep52, t)
n = t - 0x1.80000000007fep52
r = fma(n, -0x1.62e42fefa39efp-1, c)
r = fma(n, -0x1.abc9e3b39803fp-56, r)
` + expm1PolyF64 + `p = fma(q, r * r, r)
k = bits(t)
a = (k << 51) & -0x10000000000000
b = (k << 52) - a
i = float(0x7fe0000000000000 - b)
u = float(a) - i
w = (float(a) - u) - i
`

// expm1PolyF64: e^r = 1 + r + r²·q for |r| ≤ 0.55.
const expm1PolyF64 = `q = fma(0x1.60eb52c67fc69p-33, r, 0x1.2068c97b069fcp-29)
q = fma(q, r, 0x1.ae6665ced08c1p-26)
q = fma(q, r, 0x1.27e3ef14dfdf6p-22)
q = fma(q, r, 0x1.71de389f7b2b4p-19)
q = fma(q, r, 0x1.a01a02501e988p-16)
q = fma(q, r, 0x1.a01a01a1386c6p-13)
q = fma(q, r, 0x1.6c16c16be2a37p-10)
q = fma(q, r, 0x1.1111111110c36p-7)
q = fma(q, r, 0x1.55555555556p-5)
q = fma(q, r, 0x1.5555555555557p-3)
q = fma(q, r, 0x1p-1)
`

// logF64: P of degree 18 (2^-56.7), ln 2 in two parts. 0.87 ulp.
const logF64 = logCoreF64 + `p = f + fma(p, f * f, n * 0x1.abc9e3b39803fp-56)
p = fma(n, 0x1.62e42fefa39efp-1, p)
p = select(x > 0, p, select(x == 0, -inf, nan))
y = select(x < inf, p, x)
`

// logCoreF64: x = 2^n·(1+f), log(1+f) = f + f²·p.
const logCoreF64 = `
s = x < 0x1p-1022
v = ubits(select(s, x * 0x1p54, x)) + 0xaaaaaaaaaaaaa
f = float((v & 0xfffffffffffff) + 0x3fe5555555555556) - 1
n = float((v >> 52) | 0x4330000000000000) - select(s, 0x1.0000000000435p52, 0x1.00000000003ffp52)
p = fma(0x1.5a1122157aafp-4, f, -0x1.613dea541e3c1p-4)
p = fma(p, f, 0x1.586ad56b67a44p-5)
p = fma(p, f, -0x1.76b1a14283f3ep-5)
p = fma(p, f, 0x1.ef2fb6913a4d4p-5)
p = fma(p, f, -0x1.05c4aca912919p-4)
p = fma(p, f, 0x1.10731721f5b0cp-4)
p = fma(p, f, -0x1.2413db4f39921p-4)
p = fma(p, f, 0x1.3b1cef0f8960ap-4)
p = fma(p, f, -0x1.555c06e7d0248p-4)
p = fma(p, f, 0x1.745cc001f8f58p-4)
p = fma(p, f, -0x1.99996211b41eep-4)
p = fma(p, f, 0x1.c71c73bcb12c2p-4)
p = fma(p, f, -0x1.0000008585a2fp-3)
p = fma(p, f, 0x1.249249216956p-3)
p = fma(p, f, -0x1.555555540d1d6p-3)
p = fma(p, f, 0x1.999999999e6e5p-3)
p = fma(p, f, -0x1.000000000095fp-2)
p = fma(p, f, 0x1.5555555555543p-2)
p = fma(p, f, -0.5)
`

// log2F64: Q of degree 20 (2^-56.8). 0.95 ulp.
const log2F64 = `
s = x < 0x1p-1022
v = ubits(select(s, x * 0x1p54, x)) + 0x95f619980c433
f = float((v & 0xfffffffffffff) + 0x3fe6a09e667f3bcd) - 1
n = float((v >> 52) | 0x4330000000000000) - select(s, 0x1.0000000000435p52, 0x1.00000000003ffp52)
p = fma(0x1.35f39912a02c9p-5, f, -0x1.63a95807540dcp-4)
p = fma(p, f, 0x1.82547f0be809cp-4)
p = fma(p, f, -0x1.4f7391cc156dfp-4)
p = fma(p, f, 0x1.4e3884464cc26p-4)
p = fma(p, f, -0x1.6e038089768dp-4)
p = fma(p, f, 0x1.8b1db9f7b8245p-4)
p = fma(p, f, -0x1.a684688522ff1p-4)
p = fma(p, f, 0x1.c681aa5ef23d5p-4)
p = fma(p, f, -0x1.ec695383ddb25p-4)
p = fma(p, f, 0x1.0c9aa9ea88ad2p-3)
p = fma(p, f, -0x1.2776e919c3034p-3)
p = fma(p, f, 0x1.484b13cf83806p-3)
p = fma(p, f, -0x1.7154758496acbp-3)
p = fma(p, f, 0x1.a61762a46a032p-3)
p = fma(p, f, -0x1.ec709dc61de52p-3)
p = fma(p, f, 0x1.2776c50efff1ap-2)
p = fma(p, f, -0x1.71547652b66cdp-2)
p = fma(p, f, 0x1.ec709dc3a0393p-2)
p = fma(p, f, -0x1.71547652b8304p-1)
p = fma(p, f, 0x1.b8bb37655a58p-56)
p = fma(f, 0x1.71547652b82fep0, p * f)
p = n + p
p = select(x > 0, p, select(x == 0, -inf, nan))
y = select(x < inf, p, x)
`

// log1pF64: P of degree 18 (2^-56.6), ln 2 in two parts. 0.88 ulp.
const log1pF64 = `
e = (0x3ff8000000000000 - ubits(x + 1)) & 0xfff0000000000000
f = float(ubits(x) + e) - fma(float(0x4010000000000000 + e), -0.25, 1)
n = float(((0x4000000000000000 + e) >> 52) | 0x4330000000000000) - 0x1.00000000004p52
p = fma(0x1.091f5d2e97d93p-7, f, -0x1.e18096e68a184p-6)
p = fma(p, f, 0x1.9f4b112c3859p-5)
p = fma(p, f, -0x1.e8e6cbe10512ap-5)
p = fma(p, f, 0x1.f252436572871p-5)
p = fma(p, f, -0x1.fffcf81e520bfp-5)
p = fma(p, f, 0x1.101cbea5f326fp-4)
p = fma(p, f, -0x1.246578107a1fap-4)
p = fma(p, f, 0x1.3b1f020fc2f14p-4)
p = fma(p, f, -0x1.555938fba63f1p-4)
p = fma(p, f, 0x1.745cec264c8cbp-4)
p = fma(p, f, -0x1.999972d0639e5p-4)
p = fma(p, f, 0x1.c71c70ded9571p-4)
p = fma(p, f, -0x1.00000063c90f5p-3)
p = fma(p, f, 0x1.24924929732b7p-3)
p = fma(p, f, -0x1.5555555459722p-3)
p = fma(p, f, 0x1.999999998c74dp-3)
p = fma(p, f, -0x1.000000000076fp-2)
p = fma(p, f, 0x1.55555555555ap-2)
p = fma(p, f, -0.5)
p = f + fma(p, f * f, n * -0x1.abc9e3b39803fp-56)
p = fma(n, -0x1.62e42fefa39efp-1, p)
p = select(x > -1, p, select(x == -1, -inf, nan))
y = select(x < inf, p, x)
`

// tanhF64: P of degree 13 below 0.9 (2^-56.6). 0.96 ulp.
const tanhF64 = `
a = abs(x)
c = select(a > 20, 20, a)
t = fma(c, 0x1.71547652b82fep1, 0x1.80000000003ffp52)
n = t - 0x1.80000000003ffp52
r = fma(n, -0x1.62e42fefa39efp-2, c)
r = fma(n, -0x1.abc9e3b39803fp-57, r)
q = fma(0x1.ad9f08eed2e2dp-16, r, 0x1.28ad4b15a9f0bp-13)
q = fma(q, r, 0x1.71df0cb2cb472p-11)
q = fma(q, r, 0x1.a0199a22c8716p-9)
q = fma(q, r, 0x1.a01a01385635bp-7)
q = fma(q, r, 0x1.6c16c18431496p-5)
q = fma(q, r, 0x1.1111111124533p-3)
q = fma(q, r, 0x1.55555555507bbp-2)
q = fma(q, r, 0x1.555555555550dp-1)
q = fma(q, r, 0x1.000000000000ap0)
p = fma(q, r * r, r)
s = float(bits(t) << 52)
b = 1 - 1 / fma(p, s, fma(s, 0.5, 0.5))
w = x * x
q = fma(0x1.3823f7a4ccd7p-22, w, -0x1.4c76880857feap-19)
q = fma(q, w, 0x1.6dda33285a485p-17)
q = fma(q, w, -0x1.22b06ba5b2ec2p-15)
q = fma(q, w, 0x1.89601b04afe47p-14)
q = fma(q, w, -0x1.f23b2ba0414a6p-13)
q = fma(q, w, 0x1.350c358fade43p-11)
q = fma(q, w, -0x1.7d995f9caeb1fp-10)
q = fma(q, w, 0x1.d6d2e09da0ac8p-9)
q = fma(q, w, -0x1.226e2da4f0cb1p-7)
q = fma(q, w, 0x1.664f4830116a7p-6)
q = fma(q, w, -0x1.ba1ba1b80cdf2p-5)
q = fma(q, w, 0x1.111111110dbe5p-3)
q = fma(q, w, -0x1.5555555555519p-2)
l = fma(q * w, x, x)
y = float(bits(select(a < 0.9, l, b)) | (bits(x) & -0x8000000000000000))
`

// sigmoidF64: 0.90 ulp.
const sigmoidF64 = `
c = select(x > 746, 746, x)
c = select(c < -746, -746, c)
t = fma(c, -0x1.71547652b82fep0, 0x1.80000000007fep52)
n = t - 0x1.80000000007fep52
r = fma(n, -0x1.62e42fefa39efp-1, -c)
r = fma(n, -0x1.abc9e3b39803fp-56, r)
q = fma(0x1.ad9f08eed2e2dp-26, r, 0x1.28ad4b15a9f0bp-22)
q = fma(q, r, 0x1.71df0cb2cb472p-19)
q = fma(q, r, 0x1.a0199a22c8716p-16)
q = fma(q, r, 0x1.a01a01385635bp-13)
q = fma(q, r, 0x1.6c16c18431496p-10)
q = fma(q, r, 0x1.1111111124533p-7)
q = fma(q, r, 0x1.55555555507bbp-5)
q = fma(q, r, 0x1.555555555550dp-3)
q = fma(q, r, 0x1.000000000000ap-1)
p = fma(q, r * r, r)
k = bits(t)
a = (k << 51) & -0x10000000000000
b = (k << 52) - a
i = float(0x7fe0000000000000 - b)
u = float(a) + i
w = (float(a) - u) + i
d = fma(p, float(a), u)
l = fma(p, float(a), (u - d) + w)
v = 1 / d
m = -v
e = fma(m, l, fma(m, d, 1))
y = fma(v, e, v) * i
`

// erfF64: P of degree 11 below 1 (2^-56.0), G of degree 20 on [1, 6] (2^-66). 1.05 ulp.
const erfF64 = `
a = abs(x)
c = select(a > 6, 6, a)
g = fma(0x1.24bcf569c35a7p-45, c, -0x1.fa76cb587ba51p-40)
g = fma(g, c, 0x1.9edb575ceab03p-35)
g = fma(g, c, -0x1.ac0a885f7882ap-31)
g = fma(g, c, 0x1.37ffbe0bd168cp-27)
g = fma(g, c, -0x1.55645ef501cf9p-24)
g = fma(g, c, 0x1.22738de1ed65ep-21)
g = fma(g, c, -0x1.87f5ddbd5ca8fp-19)
g = fma(g, c, 0x1.a672c2d7eb1a1p-17)
g = fma(g, c, -0x1.687f853364acp-15)
g = fma(g, c, 0x1.d4c59f40b2d5dp-14)
g = fma(g, c, -0x1.9781a1c202d8dp-13)
g = fma(g, c, 0x1.62a3ad005f8cfp-14)
g = fma(g, c, 0x1.7f7c5b4980783p-11)
g = fma(g, c, -0x1.3434bbf0ff693p-9)
g = fma(g, c, 0x1.f91115c1e9049p-13)
g = fma(g, c, 0x1.c4a33c7e17cp-6)
g = fma(g, c, -0x1.2faddc2cb06bbp-3)
g = fma(g, c, -0x1.d63e7351fb06fp-1)
g = fma(g, c, -0x1.a0be8c2276854p0)
t = fma(g, c, 0x1.80000000003ffp52)
n = t - 0x1.80000000003ffp52
r = fma(g, c, 0x1.4cb7b52da43d9p-25 - n)
p = fma(0x1.e80ebca6400d4p-32, r, 0x1.e6119fc2d4347p-28)
p = fma(p, r, 0x1.b5260db75bf83p-24)
p = fma(p, r, 0x1.62bfcddea52afp-20)
p = fma(p, r, 0x1.ffcbfbf8bf179p-17)
p = fma(p, r, 0x1.4309130c011b7p-13)
p = fma(p, r, 0x1.5d87fe78b3baap-10)
p = fma(p, r, 0x1.3b2ab6fba11f5p-7)
p = fma(p, r, 0x1.c6b08d704a0d4p-5)
p = fma(p, r, 0x1.ebfbdff82c59cp-3)
p = fma(p, r, 0x1.62e42fefa39efp-1)
p = fma(p, r, 1)
b = fma(-p, float(bits(t) << 52), 1)
w = x * x
q = fma(-0x1.a224908fcf17cp-31, w, 0x1.d3d600bb9baebp-27)
q = fma(q, w, -0x1.5b8b72b55bc59p-23)
q = fma(q, w, 0x1.b96b3441c9f95p-20)
q = fma(q, w, -0x1.f4c82c064a162p-17)
q = fma(q, w, 0x1.f9a2968c6995ap-14)
q = fma(q, w, -0x1.c02daeb5bd01ap-11)
q = fma(q, w, 0x1.565bcceed43f1p-8)
q = fma(q, w, -0x1.b82ce311a9614p-6)
q = fma(q, w, 0x1.ce2f21a03f8b6p-4)
q = fma(q, w, -0x1.812746b03799dp-2)
q = fma(q, w, 0x1.06eba8214db68p-3)
l = fma(q, x, x)
b = float(bits(b) | (bits(x) & -0x8000000000000000))
y = select(a < 1, l, b)
`

// sinCosF64 reduces x like sinCosF32. Above 2^30 the five 53-bit pieces of 1/2π that
// matter are picked from 23 by five rounds of selects, each of which divides x by a
// power of 2^53; products are exact as p + e by fma; the sums are taken in two levels,
// multiples of 2^-52 and of 2^-101, exact where they cancel, and a rest.
const sinCosF64 = `
big = abs(x) > 0x1p30
t = fma(x, 0x1.45f306dc9c883p-1, 0x1.8p52)
n = t - 0x1.8p52
g = fma(n, -0x1.921fb54442d18p0, x)
h = g - n * 0x1.1a62633145c06p-54
l = fma(n, 0x1.c1cd129024e09p-107, fma(n, 0x1.1a62633145c06p-54, h - g))
rare(big) {
d = x
m = abs(d) >= 0x1p900
d = select(m, d * 0x1p-848, d)
f0 = select(m, 0x1.3f6793e584dbap-1, 0x1.45f306dc9c88p-3)
f1 = select(m, 0x1.e8c7ecd3cbfd4p-2, 0x1.529fc2757d1f5p-1)
f2 = select(m, 0x1.6ba93dd63f5fp-3, 0x1.a6ee06db14accp-3)
f3 = select(m, 0x1.7c5ecf41ce7dep-1, 0x1.3c439041fe514p-3)
f4 = select(m, 0x1.4a525d4d7f6bcp-3, 0x1.1d5ef5de2b0dbp-1)
f5 = select(m, 0x1.b11f8d5d0856p-1, 0x1.246e3a424dd2ep-1)
f6 = select(m, 0x1.98237e3db5d5cp-3, 0x1.924bba82746p-10)
m = abs(d) >= 0x1p476
d = select(m, d * 0x1p-424, d)
g0 = select(m, 0x1.29a73ee88235ep-2, f0)
g1 = select(m, 0x1.52ebb4484e99cp-1, f1)
g2 = select(m, 0x1.c09ad17df904ep-2, f2)
g3 = select(m, 0x1.91d639835339cp-3, f3)
g4 = select(m, 0x1.a4e422fc5defcp-1, f4)
g5 = select(m, 0x1.283b1ff897ffdp-1, f5)
g6 = select(m, 0x1.c0b301fde5e23p-1, f6)
g7 = select(m, 0x1.6b414da3eda68p-4, 0x1.21cfe1deb1cbp-3)
g8 = select(m, 0x1.3f6793e584dbap-1, 0x1.29a73ee88235ep-2)
g9 = select(m, 0x1.e8c7ecd3cbfd4p-2, 0x1.52ebb4484e99cp-1)
g10 = select(m, 0x1.6ba93dd63f5fp-3, 0x1.c09ad17df904ep-2)
g11 = select(m, 0x1.7c5ecf41ce7dep-1, 0x1.91d639835339cp-3)
m = abs(d) >= 0x1p264
d = select(m, d * 0x1p-212, d)
h0 = select(m, g4, g0)
h1 = select(m, g5, g1)
h2 = select(m, g6, g2)
h3 = select(m, g7, g3)
h4 = select(m, g8, g4)
h5 = select(m, g9, g5)
h6 = select(m, g10, g6)
h7 = select(m, g11, g7)
m = abs(d) >= 0x1p158
d = select(m, d * 0x1p-106, d)
i0 = select(m, h2, h0)
i1 = select(m, h3, h1)
i2 = select(m, h4, h2)
i3 = select(m, h5, h3)
i4 = select(m, h6, h4)
i5 = select(m, h7, h5)
m = abs(d) >= 0x1p105
d = select(m, d * 0x1p-53, d)
j0 = select(m, i1, i0)
j1 = select(m, i2, i1)
j2 = select(m, i3, i2)
j3 = select(m, i4, i3)
j4 = select(m, i5, i4)
p0 = d * j0
e0 = fma(d, j0, -p0)
d = d * 0x1p-53
p1 = d * j1
e1 = fma(d, j1, -p1)
d = d * 0x1p-53
p2 = d * j2
e2 = fma(d, j2, -p2)
d = d * 0x1p-53
p3 = d * j3
e3 = fma(d, j3, -p3)
d = d * 0x1p-53
p4 = d * j4
p0 = p0 - rint(p0)
e0 = e0 - rint(e0)
p1 = p1 - rint(p1)
q = rint((p0 + e0 + p1 + e1 + p2) * 4)
p0 = fma(q, -0.25, p0)
me0 = (e0 + 0x1.8p0) - 0x1.8p0
e0 = e0 - me0
mp1 = (p1 + 0x1.8p0) - 0x1.8p0
p1 = p1 - mp1
me1 = (e1 + 0x1.8p0) - 0x1.8p0
e1 = e1 - me1
mp2 = (p2 + 0x1.8p0) - 0x1.8p0
p2 = p2 - mp2
hi = p0 + me0 + mp1 + me1 + mp2
me0 = (e0 + 0x1.8p-49) - 0x1.8p-49
e0 = e0 - me0
mp1 = (p1 + 0x1.8p-49) - 0x1.8p-49
p1 = p1 - mp1
me1 = (e1 + 0x1.8p-49) - 0x1.8p-49
e1 = e1 - me1
mp2 = (p2 + 0x1.8p-49) - 0x1.8p-49
p2 = p2 - mp2
me2 = (e2 + 0x1.8p-49) - 0x1.8p-49
e2 = e2 - me2
mp3 = (p3 + 0x1.8p-49) - 0x1.8p-49
p3 = p3 - mp3
lo = me0 + mp1 + me1 + mp2 + me2 + mp3
lo2 = e0 + p1 + e1 + p2 + e2 + p3 + e3 + p4
s = hi + lo
lo = ((hi - s) + lo) + lo2
bh = s * 0x1.921fb54442d18p2
bl = -fma(lo, 0x1.921fb54442d18p2, fma(s, 0x1.1a62633145c07p-52, fma(s, 0x1.921fb54442d18p2, -bh)))
bt = q + 0x1.8p52
}
t = select(big, bt, t)
h = select(big, bh, h)
l = select(big, bl, l)
s = h * h
a = fma(-0x1.5d8b7203153dap-33, s, 0x1.ae5e4bd05b199p-26)
a = fma(a, s, -0x1.71de355574838p-19)
a = fma(a, s, 0x1.a01a019be95bdp-13)
a = fma(a, s, -0x1.111111110f731p-7)
a = fma(a, s, 0x1.5555555555548p-3)
a = h - fma(h * s, a, l)
b = fma(-0x1.8fa59e6dbd8f2p-37, s, 0x1.1ee9da46c7ce6p-29)
b = fma(b, s, -0x1.27e4f7efacaa5p-22)
b = fma(b, s, 0x1.a01a019c8d266p-16)
b = fma(b, s, -0x1.6c16c16c15009p-10)
b = fma(b, s, 0x1.555555555554bp-5)
c = fma(s, -0.5, 1)
b = c + fma(s * s, b, fma(h, l, fma(s, -0.5, 1 - c)))
`

// sinF64: 0.83 ulp, at all magnitudes.
const sinF64 = sinCosF64 + `k = bits(t)
y = select((k & 1) == 0, a, b)
y = float(bits(y) ^ ((k & 2) << 62))
`

// cosF64: 0.87 ulp, at all magnitudes.
const cosF64 = sinCosF64 + `k = bits(t)
y = select((k & 1) == 0, b, a)
y = float(bits(y) ^ (((k + 1) & 2) << 62))
`

// atanF64: P of degree 19 (2^-57.6). 1.15 ulp.
const atanF64 = `
a = abs(x)
m = a > 1
t = select(m, -1 / a, a)
s = t * t
p = fma(0x1.bbe9987797de2p-17, s, -0x1.3f33c6f810a5fp-13)
p = fma(p, s, 0x1.b3f7dcdacc108p-11)
p = fma(p, s, -0x1.7a378264b58d7p-9)
p = fma(p, s, 0x1.d7b71883bf6a6p-8)
p = fma(p, s, -0x1.c78e5375192b2p-7)
p = fma(p, s, 0x1.683bfd3c0b6a6p-6)
p = fma(p, s, -0x1.e9f963ae33b67p-6)
p = fma(p, s, 0x1.2c2e25cae83edp-5)
p = fma(p, s, -0x1.59a3e353c655bp-5)
p = fma(p, s, 0x1.82dacc9d90c12p-5)
p = fma(p, s, -0x1.ae5e6f621e59cp-5)
p = fma(p, s, 0x1.e1bba5a18915fp-5)
p = fma(p, s, -0x1.110e51151f43dp-4)
p = fma(p, s, 0x1.3b136697dd766p-4)
p = fma(p, s, -0x1.745d11ae3ff0fp-4)
p = fma(p, s, 0x1.c71c717fcc619p-4)
p = fma(p, s, -0x1.249249237f4aap-3)
p = fma(p, s, 0x1.99999999955b1p-3)
p = fma(p, s, -0x1.5555555555526p-2)
p = t + fma(p * s, t, select(m, 0x1.1a62633145c07p-54, 0))
p = select(m, 0x1.921fb54442d18p0, 0) + p
y = float(bits(p) | (bits(x) & -0x8000000000000000))
`

// powF64: 2^(z·log2 x), the logarithm in two values. log(1+f) = 2s + s³·(2/3 + s²·Q(s²))
// with s = f/(2+f), Q of degree 7 (2^-73). 0.90 ulp. The special cases are those of C.
const powF64 = `
a = abs(x)
s = a < 0x1p-1022
v = ubits(select(s, a * 0x1p54, a)) + 0x95f619980c433
f = float((v & 0xfffffffffffff) + 0x3fe6a09e667f3bcd) - 1
n = float((v >> 52) | 0x4330000000000000) - select(s, 0x1.0000000000435p52, 0x1.00000000003ffp52)
d = f + 2
r = 1 / d
sh = f * r
sl = r * fma(-sh, f - (d - 2), fma(-sh, d, f))
w = sh * sh
wl = fma(sh + sh, sl, fma(sh, sh, -w))
q = fma(0x1.eac456333e6e1p-4, w, 0x1.de3d9ca1eee55p-4)
q = fma(q, w, 0x1.11206e16da822p-3)
q = fma(q, w, 0x1.3b1364d06a25ep-3)
q = fma(q, w, 0x1.745d18293d563p-3)
q = fma(q, w, 0x1.c71c71c596bcdp-3)
q = fma(q, w, 0x1.2492492492f5p-2)
q = fma(q, w, 0x1.9999999999996p-2)
u = w * q
th = u + 0x1.5555555555555p-1
tl = (0x1.5555555555555p-1 - th) + u + 0x1.5555555555555p-55
ch = w * sh
cl = fma(w, sh, -ch) + fma(w, sl, wl * sh)
ph = ch * th
pl = fma(ch, th, -ph) + fma(ch, tl, cl * th)
sh = sh + sh
lh = sh + ph
ll = ((sh - lh) + ph) + fma(sl, 2, pl)
gh = lh * 0x1.71547652b82fep0
gl = fma(lh, 0x1.71547652b82fep0, -gh) + fma(lh, 0x1.777d0ffda0d24p-56, ll * 0x1.71547652b82fep0)
hh = n + gh
hl = ((n - hh) + gh) + gl
hh = select(a == 0, -inf, select(a < inf, hh, a))
c = z * hh
l = fma(z, hl, fma(z, hh, -c))
l = select(abs(c) < 2000, l, 0)
c = select(a == 1, 0, c)
c = select(c > 1030, 1030, c)
c = select(c < -1080, -1080, c)
t = c + 0x1.80000000007fep52
r = (c - (t - 0x1.80000000007fep52)) + l
p = fma(0x1.e80ebca6400d4p-32, r, 0x1.e6119fc2d4347p-28)
p = fma(p, r, 0x1.b5260db75bf83p-24)
p = fma(p, r, 0x1.62bfcddea52afp-20)
p = fma(p, r, 0x1.ffcbfbf8bf179p-17)
p = fma(p, r, 0x1.4309130c011b7p-13)
p = fma(p, r, 0x1.5d87fe78b3baap-10)
p = fma(p, r, 0x1.3b2ab6fba11f5p-7)
p = fma(p, r, 0x1.c6b08d704a0d4p-5)
p = fma(p, r, 0x1.ebfbdff82c59cp-3)
p = fma(p, r, 0x1.62e42fefa39efp-1)
p = fma(p, r, 1)
k = bits(t)
i = (k << 51) & -0x10000000000000
j = (k << 52) - i
y = p * float(i) * float(j)
e = rint(z) == z
o = e && (rint(z * 0.5) != z * 0.5)
y = select(o, float(bits(y) | (bits(x) & -0x8000000000000000)), y)
y = select((x < 0) && (a < inf) && !e, nan, y)
y = select(z == 0, 1, y)
`
