#include "textflag.h"

// func call(fn uintptr, ctx unsafe.Pointer)
//
// The code uses the stack for nothing but its return address, which a fault
// handler takes for the caller's: that is why it unwinds as if it had happened
// here. It must not change BP, and may change every other register.
TEXT ·call(SB), NOSPLIT, $8-16
	MOVQ fn+0(FP), AX
	MOVQ ctx+8(FP), DI
	CALL AX
	RET
