package ir

import (
	"math"
	"math/big"
)

// Oracles where package math is off by more than a few units in the last place.

// refLog: on amd64 math.Log is wrong for subnormal numbers.
func refLog(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

func refLog2(x float64) float64 {
	if x > 0.5 && x < 2 { // where math.Log2 cancels
		return math.Log1p(x-1) * math.Log2E
	}
	return math.Log2(x)
}

// refPow takes the exponent of x apart, where math.Pow loses digits to it.
func refPow(x, z float64) float64 {
	if x == 0 || x-x != 0 || !(math.Abs(z) < 64) {
		return math.Pow(x, z)
	}
	m, e := math.Frexp(math.Abs(x))
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	hi := float64(e) * z
	n := math.Round(hi)
	t := ((hi-n)+math.FMA(float64(e), z, -hi))*math.Ln2 + z*math.Log1p(m-1)
	y := math.Ldexp(math.Exp(t), int(n))
	if x < 0 {
		y *= math.Pow(-1, z) // NaN unless z is integral
	}
	return y
}

// refSin returns the sine of x + quarters·π/2, reducing very great x exactly.
func refSin(x float64, quarters int64) float64 {
	if math.Abs(x) > 0x1p128 && !math.IsInf(x, 0) {
		halfPi, _, _ := big.ParseFloat(pi, 10, 1200, big.ToNearestEven)
		halfPi.SetMantExp(halfPi, -1)
		q := new(big.Float).SetPrec(1200).SetFloat64(x)
		half := big.NewFloat(math.Copysign(0.5, x))
		n, _ := new(big.Float).Add(q.Quo(q, halfPi), half).Int(nil)
		q.Sub(q, new(big.Float).SetPrec(1200).SetInt(n))
		x, _ = q.Mul(q, halfPi).Float64()
		quarters += n.Mod(n, big.NewInt(4)).Int64()
	}
	switch quarters & 3 {
	case 1:
		return math.Cos(x)
	case 2:
		return -math.Sin(x)
	case 3:
		return -math.Cos(x)
	}
	return math.Sin(x)
}

// refMod is the floored remainder, which math.Mod gives exactly but for the sign.
func refMod(x ...float64) float64 {
	r := math.Mod(x[0], x[1])
	if r != 0 && (r < 0) != (x[1] < 0) {
		r += x[1]
	}
	return math.Copysign(r, x[1])
}

func refFloorDiv(x ...float64) float64 {
	if x[1] == 0 {
		return x[0] / x[1]
	}
	r := math.Mod(x[0], x[1])
	n := math.RoundToEven((x[0] - r) / x[1])
	if r != 0 && (r < 0) != (x[1] < 0) {
		n--
	}
	if n == 0 && (x[0] < 0) != (x[1] < 0) {
		return math.Copysign(0, -1)
	}
	return n
}

const pi = "3.1415926535897932384626433832795028841971693993751058209749445923078164062862089986280348" +
	"253421170679821480865132823066470938446095505822317253594081284811174502841027019385211055" +
	"596446229489549303819644288109756659334461284756482337867831652712019091456485669234603486" +
	"104543266482133936072602491412737245870066063155881748815209209628292540917153643678925903" +
	"6"
