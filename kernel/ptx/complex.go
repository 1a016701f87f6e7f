package ptx

import "math"

// Arithmetic of f64, one instruction an operation, and of complex numbers, as the
// language of the host defines it: nothing is contracted, so that a body that is written
// operation by operation has the bits of its original.

func (a *asm) f64(v float64) reg   { return a.constant(b64, math.Float64bits(v)) }
func (a *asm) addF64(x, y reg) reg { return a.to(b64, "add.rn.f64", x, y) }
func (a *asm) subF64(x, y reg) reg { return a.to(b64, "sub.rn.f64", x, y) }
func (a *asm) mulF64(x, y reg) reg { return a.to(b64, "mul.rn.f64", x, y) }
func (a *asm) negF64(x reg) reg    { return a.to(b64, "xor.b64", x, a.constant(b64, 1<<63)) }
func (a *asm) absF64(x reg) reg    { return a.to(b64, "and.b64", x, a.constant(b64, 1<<63-1)) }

// complexReg is a complex number.
type complexReg struct{ re, im reg }

func (a *asm) addC(x, y complexReg) complexReg {
	return complexReg{a.addF64(x.re, y.re), a.addF64(x.im, y.im)}
}

func (a *asm) subC(x, y complexReg) complexReg {
	return complexReg{a.subF64(x.re, y.re), a.subF64(x.im, y.im)}
}

func (a *asm) mulC(x, y complexReg) complexReg {
	return complexReg{
		a.subF64(a.mulF64(x.re, y.re), a.mulF64(x.im, y.im)),
		a.addF64(a.mulF64(x.re, y.im), a.mulF64(x.im, y.re)),
	}
}

// scaleC is a complex number times a real one.
func (a *asm) scaleC(f float64, x complexReg) complexReg {
	switch f {
	case 1:
		return x
	case -1:
		return complexReg{a.negF64(x.re), a.negF64(x.im)}
	}
	return complexReg{a.mulF64(a.f64(f), x.re), a.mulF64(a.f64(f), x.im)}
}

func (a *asm) conjugate(x complexReg) complexReg { return complexReg{x.re, a.negF64(x.im)} }

// turn is x times -i: the conjugate of x with its parts exchanged.
func (a *asm) turn(x complexReg) complexReg { return complexReg{x.im, a.negF64(x.re)} }
