package ir

// The scalar programs of the mathematical functions in f32. Every polynomial is
// minimax for the stated interval, its coefficients rounded to f32 one after the
// other, the lower ones first. The errors are in units in the last place of the
// exact result, the greatest over all 2^32 inputs; every result is the correctly
// rounded one or a neighbour of it.
//
// Idioms. select(x > c, c, x) keeps NaN, so that a NaN argument makes the result
// NaN without more ado. Adding 1.5·2^23 rounds to an integer, which then stands in
// the low bits of the sum; adding k too biases these bits by k. With k = 254, the
// integer n in t, and u = bits(t), (u << 22) & -2^23 is the float 2^floor(n/2), and
// u << 23 minus that the float 2^ceil(n/2): two multiplications scale by any 2^n,
// with one rounding where the result is subnormal.

// expF32: x = n·ln 2 + r with |r| ≤ ln 2/2, ln 2 in two parts, of which the first
// makes an exact fma; e^r by degree 6 (error 2^-28.3). 0.892 ulp at -0x1.765026p+2.
const expF32 = `
c = select(x > 89, 89, x)
c = select(c < -104, -104, c)
t = fma(c, 0x1.715476p0, 0x1.8001fcp23)
n = t - 0x1.8001fcp23
r = fma(n, -0x1.62e43p-1, c)
r = fma(n, 0x1.05c61p-29, r)
p = fma(0x1.6a3cfcp-10, r, 0x1.123856p-7)
p = fma(p, r, 0x1.5558bep-5)
p = fma(p, r, 0x1.555494p-3)
p = fma(p, r, 0x1.fffffcp-2)
p = fma(p, r, 1)
p = fma(p, r, 1)
k = bits(t)
a = (k << 22) & -0x800000
b = (k << 23) - a
y = p * float(a) * float(b)
`

// exp2F32: x = n + r exactly, |r| ≤ 1/2; 2^r by degree 6 (2^-28.3). 0.879 ulp at
// -0x1.f9fc6ap+6; exact at integers.
const exp2F32 = `
c = select(x > 128, 128, x)
c = select(c < -151, -151, c)
t = c + 0x1.8001fcp23
r = c - (t - 0x1.8001fcp23)
p = fma(0x1.416b6p-13, r, 0x1.5f082ep-10)
p = fma(p, r, 0x1.3b2dep-7)
p = fma(p, r, 0x1.c6af7cp-5)
p = fma(p, r, 0x1.ebfbdcp-3)
p = fma(p, r, 0x1.62e43p-1)
p = fma(p, r, 1)
k = bits(t)
a = (k << 22) & -0x800000
b = (k << 23) - a
y = p * float(a) * float(b)
`

// expm1F32: as exp, with n = 0 where |x| < 0.55, so that no digits cancel where n is
// 1 or -1. p = e^r - 1 = r + r²·q, q of degree 5 on |r| ≤ 0.55 (2^-27.2). The result
// 2^n·p + (2^n - 1) is (a·p + w + u)·b with a·b = 2^n, u + w = a - 1/b exactly:
// 2^n - 1 alone would lose a whole ulp at n = 25. 1.004 ulp at 0x1.da6116p+5.
const expm1F32 = `
c = select(x > 89, 89, x)
c = select(c < -18, -18, c)
t = fma(c, 0x1.715476p0, 0x1.8001fcp23)
t = select(abs(x) < 0.55, 0x1.8001fcp23, t)
n = t - 0x1.8001fcp23
r = fma(n, -0x1.62e43p-1, c)
r = fma(n, 0x1.05c61p-29, r)
q = fma(0x1.9ffbap-13, r, 0x1.6f6f04p-10)
q = fma(q, r, 0x1.1114acp-7)
q = fma(q, r, 0x1.555184p-5)
q = fma(q, r, 0x1.55554ep-3)
q = fma(q, r, 0x1.000002p-1)
p = fma(q, r * r, r)
k = bits(t)
a = (k << 22) & -0x800000
b = (k << 23) - a
i = float(0x7f000000 - b)
u = float(a) - i
w = (float(a) - u) - i
y = (fma(p, float(a), w) + u) * float(b)
y = select(x == 0, x, y)
`

// logF32: x = 2^n·(1+f) with 1+f in [2/3, 4/3), subnormal x scaled by 2^23 first.
// log(1+f) = f - f²/2 + f³·P(f), P of degree 7 (2^-27.7). Where n·ln 2 and log(1+f)
// nearly cancel, the last fma is exact. 0.934 ulp at 0x1.4574e2p-1.
const logF32 = `
s = x < 0x1p-126
v = bits(select(s, x * 0x1p23, x))
e = (v - 0x3f2aaaab) & -0x800000
f = float(v - e) - 1
n = f32(select(s, e - 0xb800000, e))
p = fma(-0x1.07c878p-3, f, 0x1.1e6778p-3)
p = fma(p, f, -0x1.f332fep-4)
p = fma(p, f, 0x1.1ed664p-3)
p = fma(p, f, -0x1.559c44p-3)
p = fma(p, f, 0x1.99d044p-3)
p = fma(p, f, -0x1.fffefcp-3)
p = fma(p, f, 0x1.555506p-2)
p = fma(p, f, -0.5)
p = fma(p, f * f, f)
p = fma(n, 0x1.62e43p-24, p)
p = select(x > 0, p, select(x == 0, -inf, nan))
y = select(x < inf, p, x)
`

// log2F32: 1+f in [√½, √2), log2(1+f) = f·c + f·Q(f) with c = log2 e rounded, Q of
// degree 9 (2^-27.7). 0.960 ulp at 0x1.6868c2p-1; exact at powers of 2.
const log2F32 = `
s = x < 0x1p-126
v = bits(select(s, x * 0x1p23, x))
e = (v - 0x3f3504f3) & -0x800000
f = float(v - e) - 1
n = f32(select(s, e - 0xb800000, e))
p = fma(-0x1.c1e628p-4, f, 0x1.7eb994p-3)
p = fma(p, f, -0x1.881718p-3)
p = fma(p, f, 0x1.a2dc72p-3)
p = fma(p, f, -0x1.eaa0fcp-3)
p = fma(p, f, 0x1.277ec8p-2)
p = fma(p, f, -0x1.715bp-2)
p = fma(p, f, 0x1.ec7096p-2)
p = fma(p, f, -0x1.71547p-1)
p = fma(p, f, 0x1.49dd26p-26)
p = fma(f, 0x1.715476p0, p * f)
p = fma(n, 0x1p-23, p)
p = select(x > 0, p, select(x == 0, -inf, nan))
y = select(x < inf, p, x)
`

// log1pF32: 1+x in [0.75, 1.5)·2^k, f = x·2^-k + (2^-k - 1): exact for small k, and
// x itself for k = 0. P of degree 7 on [-0.25, 0.5] (2^-27.6). The signs of e = -k
// and of the fma keep -0. 1.130 ulp at -0x1.fffffep-3, whose sum with 1 is a tie.
const log1pF32 = `
e = (0x3fc00000 - bits(x + 1)) & -0x800000
s = 0x40800000 + e
f = float(bits(x) + e) - fma(float(s), -0.25, 1)
p = fma(-0x1.71e39cp-5, f, 0x1.acf4dcp-4)
p = fma(p, f, -0x1.0d98f6p-3)
p = fma(p, f, 0x1.28807ap-3)
p = fma(p, f, -0x1.54ed96p-3)
p = fma(p, f, 0x1.99699ep-3)
p = fma(p, f, -0x1.00004ap-2)
p = fma(p, f, 0x1.5555a4p-2)
p = fma(p, f, -0.5)
p = fma(p, f * f, f)
p = fma(f32(e), -0x1.62e43p-24, p)
p = select(x > -1, p, select(x == -1, -inf, nan))
y = select(x < inf, p, x)
`

// tanhF32: x + x³·P(x²) below 1, P of degree 6 (2^-27.7); from 1 on 1 - 1/d with
// d = (e^2x + 1)/2 = s·p + (s+1)/2, where 2x = n·ln 2 + 2r, s = 2^n, p = (e^2r - 1)/2.
// 0.938 ulp at 0x1.d3e846p-1.
const tanhF32 = `
a = abs(x)
c = select(a > 10, 10, a)
t = fma(c, 0x1.715476p1, 0x1.8000fep23)
n = t - 0x1.8000fep23
r = fma(n, -0x1.62e43p-2, c)
r = fma(n, 0x1.05c61p-30, r)
q = fma(0x1.6a3cfap-5, r, 0x1.123856p-3)
q = fma(q, r, 0x1.5558bep-2)
q = fma(q, r, 0x1.555494p-1)
q = fma(q, r, 0x1.fffffcp-1)
p = fma(q, r * r, r)
s = float(bits(t) << 23)
b = 1 - 1 / fma(p, s, fma(s, 0.5, 0.5))
w = x * x
q = fma(-0x1.77cb5cp-12, w, 0x1.2d9fap-9)
q = fma(q, w, -0x1.045fep-7)
q = fma(q, w, 0x1.6009a4p-6)
q = fma(q, w, -0x1.b9623ap-5)
q = fma(q, w, 0x1.110be4p-3)
q = fma(q, w, -0x1.55553cp-2)
l = fma(q * w, x, x)
y = float(bits(select(a < 1, l, b)) | (bits(x) & -0x80000000))
`

// sigmoidF32: 1/d with d = 1 + e^-x = b·(a·p + (a + 1/b)), a·b = 2^n. The rounding
// error l of d and that of v = 1/d are put right by one Newton step: without it the
// error would be 2.3 ulp. 0.962 ulp at -0x1.4cbe5cp+2.
const sigmoidF32 = `
c = select(x > 104, 104, x)
c = select(c < -104, -104, c)
t = fma(c, -0x1.715476p0, 0x1.8001fcp23)
n = t - 0x1.8001fcp23
r = fma(n, -0x1.62e43p-1, -c)
r = fma(n, 0x1.05c61p-29, r)
q = fma(0x1.6a3cfap-10, r, 0x1.123856p-7)
q = fma(q, r, 0x1.5558bep-5)
q = fma(q, r, 0x1.555494p-3)
q = fma(q, r, 0x1.fffffcp-2)
p = fma(q, r * r, r)
k = bits(t)
a = (k << 22) & -0x800000
b = (k << 23) - a
i = float(0x7f000000 - b)
u = float(a) + i
w = (float(a) - u) + i
d = fma(p, float(a), u)
l = fma(p, float(a), (u - d) + w)
v = 1 / d
m = -v
e = fma(m, l, fma(m, d, 1))
y = fma(v, e, v) * i
`

// erfF32: x + x·P(x²) below 1, P of degree 6 (2^-29.4); from 1 on 1 - 2^G(x), where
// G = log2(erfc) is of degree 6, its error weighed by erfc (2^-29.8); the integer
// part of G is taken off before its last rounding. 1.005 ulp at 0x1.03e906p+0.
const erfF32 = `
a = abs(x)
c = select(a > 4, 4, a)
g = fma(0x1.19f14ap-12, c, -0x1.16b104p-8)
g = fma(g, c, 0x1.02177ap-5)
g = fma(g, c, -0x1.30a44ep-3)
g = fma(g, c, -0x1.d75f56p-1)
g = fma(g, c, -0x1.a04484p0)
t = fma(g, c, 0x1.8000fep23)
n = t - 0x1.8000fep23
r = fma(g, c, -0x1.026488p-11 - n)
p = fma(0x1.416b6p-13, r, 0x1.5f082ep-10)
p = fma(p, r, 0x1.3b2dep-7)
p = fma(p, r, 0x1.c6af7cp-5)
p = fma(p, r, 0x1.ebfbdcp-3)
p = fma(p, r, 0x1.62e43p-1)
p = fma(p, r, 1)
b = fma(-p, float(bits(t) << 23), 1)
w = x * x
q = fma(0x1.4771fep-14, w, -0x1.a3515ep-11)
q = fma(q, w, 0x1.53f224p-8)
q = fma(q, w, -0x1.b7f71ap-6)
q = fma(q, w, 0x1.ce2ce6p-4)
q = fma(q, w, -0x1.81273ep-2)
q = fma(q, w, 0x1.06eba8p-3)
l = fma(q, x, x)
b = float(bits(b) | (bits(x) & -0x80000000))
y = select(a < 1, l, b)
`

// reduceF32 reduces x to h - l, |h| ≤ π/4, and the quadrant, in the low bits of t.
// Up to 2^16: π/2 in three parts; the first fma is
// exact, l collects the rounding errors of the second step and the third part. Above:
// x/2π in f64 from products, exact in f64, with 28-bit pieces of 1/2π, of which only
// the fractions count; the quarter turns q come from a first sum of them and are
// taken off the largest before a second sum, which is exact where it cancels.
const reduceF32 = `
big = abs(x) > 0x1p16
t = fma(x, 0x1.45f306p-1, 0x1.8p23)
n = t - 0x1.8p23
g = fma(n, -0x1.921fb4p0, x)
h = g - n * 0x1.4442dp-24
l = fma(n, 0x1.84698ap-48, fma(n, 0x1.4442dp-24, h - g))
rare(big) {
d = f64(x)
p = d * 0x1.45f306cp-3
c0 = p - rint(p)
p = d * 0x1.c9c882ap-31
c1 = p - rint(p)
p = d * 0x1.4fe13a8p-61
c2 = p - rint(p)
p = d * 0x1.f47d4dp-88
c3 = p - rint(p)
p = d * 0x1.bb81b6cp-115
c4 = p - rint(p)
p = d * 0x1.4acc9ep-145
c5 = p - rint(p)
c6 = d * 0x1.0e4107cp-172
q = rint((c0 + c1 + c2 + c3 + c4 + c5 + c6) * 4)
d = (fma(q, -0.25, c0) + c1 + c2 + c3 + c4 + c5 + c6) * 0x1.921fb54442d18p2
bt = f32(q) + 0x1.8p23
bh = f32(d)
bl = f32(f64(bh) - d)
}
t = select(big, bt, t)
h = select(big, bh, h)
l = select(big, bl, l)
`

// sinCosF32: a = sin and b = cos of h - l.
const sinCosF32 = reduceF32 + `s = h * h
a = fma(0x1.991c26p-13, s, -0x1.1106c6p-7)
a = fma(a, s, 0x1.555544p-3)
a = h - fma(h * s, a, l)
b = fma(0x1.99e524p-16, s, -0x1.6c0c22p-10)
b = fma(b, s, 0x1.55554ap-5)
c = fma(s, -0.5, 1)
b = c + fma(s * s, b, fma(h, l, fma(s, -0.5, 1 - c)))
`

// sinF32: 0.874 ulp at 0x1.dc937p+119.
const sinF32 = sinCosF32 + `k = bits(t)
y = select((k & 1) == 0, a, b)
y = float(bits(y) ^ ((k & 2) << 30))
`

// cosF32: 0.880 ulp at 0x1.8727a4p+28.
const cosF32 = sinCosF32 + `k = bits(t)
y = select((k & 1) == 0, b, a)
y = float(bits(y) ^ (((k + 1) & 2) << 30))
`

// atanF32: t = x up to 1, π/2 - 1/x above; t + t³·P(t²), P of degree 8 (2^-28.5). 1.209 ulp at 0x1.131712p+0.
const atanF32 = `
a = abs(x)
m = a > 1
t = select(m, -1 / a, a)
s = t * t
p = fma(-0x1.d3536cp-10, s, 0x1.64229cp-7)
p = fma(p, s, -0x1.fd7d04p-6)
p = fma(p, s, 0x1.da29d6p-5)
p = fma(p, s, -0x1.580918p-4)
p = fma(p, s, 0x1.c08c4ep-4)
p = fma(p, s, -0x1.242086p-3)
p = fma(p, s, 0x1.9991e4p-3)
p = fma(p, s, -0x1.55553ep-2)
p = t + fma(p * s, t, select(m, -0x1.777a5cp-25, 0))
p = select(m, 0x1.921fb6p0, 0) + p
y = float(bits(p) | (bits(x) & -0x80000000))
`

// powF32: 2^(z·log2 x) in f64: two values of f32 would need as many instructions.
// log2(1+f) = f·P(f) on [√½, √2), P of degree 12 (2^-35.8); 2^r by degree 7 (2^-34.3).
// 0.53 ulp, sampled. The special cases are those of C.
const powF32 = `
a = abs(x)
v = ubits(f64(a)) + 0x95f619980c433
f = float((v & 0xfffffffffffff) + 0x3fe6a09e667f3bcd) - 1
n = float((v >> 52) | 0x4330000000000000) - 0x1.00000000003ffp52
p = fma(0x1.3ceb84f2913c4p-4, f, -0x1.2489d078defbp-3)
p = fma(p, f, 0x1.28718dd13efb3p-3)
p = fma(p, f, -0x1.252ef6509d1fap-3)
p = fma(p, f, 0x1.45291fce8aabbp-3)
p = fma(p, f, -0x1.714177f1bff5cp-3)
p = fma(p, f, 0x1.a63f44356c313p-3)
p = fma(p, f, -0x1.ec72b53f872d3p-3)
p = fma(p, f, 0x1.277651fc70052p-2)
p = fma(p, f, -0x1.71547098836d1p-2)
p = fma(p, f, 0x1.ec709ebb92a72p-2)
p = fma(p, f, -0x1.715476565c7cbp-1)
p = fma(p, f, 0x1.71547652a1eabp0)
l = fma(p, f, n)
l = select(a == 0, -inf, select(a < inf, l, f64(a)))
c = f64(z) * l
c = select(a == 1, 0, c)
c = select(c > 130, 130, c)
c = select(c < -160, -160, c)
t = c + 0x1.80000000003ffp52
r = c - (t - 0x1.80000000003ffp52)
q = fma(0x1.fde5edd809cbfp-17, r, 0x1.445c7fcd6e006p-13)
q = fma(q, r, 0x1.5d8a860ac2c0cp-10)
q = fma(q, r, 0x1.3b29f3a3097cfp-7)
q = fma(q, r, 0x1.c6b08ac06426cp-5)
q = fma(q, r, 0x1.ebfbe07780687p-3)
q = fma(q, r, 0x1.62e42ff0e18d2p-1)
q = fma(q, r, 1)
y = f32(q * float(bits(t) << 52))
e = rint(z) == z
o = e && (rint(z * 0.5) != z * 0.5)
y = select(o, float(bits(y) | (bits(x) & -0x80000000)), y)
y = select((x < 0) && (a < inf) && !e, nan, y)
y = select(z == 0, 1, y)
`
