package exact_test

import (
	"flag"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/internal/exact"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64"
)

var exhaustive = flag.Bool("exhaustive", false, "run the f32 functions on all 2^32 arguments, minutes each")

var unary = []string{"exp", "exp2", "expm1", "log", "log2", "log1p", "tanh", "sigmoid", "erf", "sin", "cos", "atan"}

// odd functions keep the sign of zero.
var odd = map[string]bool{"expm1": true, "log1p": true, "tanh": true, "erf": true, "sin": true, "atan": true}

// program is a row's scalar program on contiguous data, compiled in every way
// that can run here; the interpreter comes first.
type program struct {
	row  *ir.Row
	exes []kernel.Executable
	name []string
}

func compile(t testing.TB, name string, typ ir.DType) program {
	t.Helper()
	p := program{row: ir.Lookup(name)}
	b := kernel.NewBuilder(name, []kernel.AxisKind{kernel.Parallel})
	env := kernel.Env{T: typ, Names: map[string]kernel.Ref{}}
	unit := []kernel.Access{kernel.Unit}
	for _, o := range p.row.Operands {
		env.Names[o.Name] = b.Load(b.AddArg(kernel.Arg{Type: typ, Dir: kernel.In, Access: unit}))
	}
	names, err := b.Expand(p.row.Program(typ), env)
	if err != nil {
		t.Fatal(err)
	}
	b.Store(b.AddArg(kernel.Arg{Type: typ, Dir: kernel.Out, Access: unit}), names["y"])
	exe, err := kernel.NewInterpreter(b.K)
	if err != nil {
		t.Fatal(err)
	}
	p.exes, p.name = append(p.exes, exe), append(p.name, "interpreter")
	for _, level := range []amd64.Level{amd64.AVX512, amd64.AVX2} {
		if amd64.Available(level) {
			code, err := amd64.Compile(b.K, level)
			if err != nil {
				t.Errorf("%s %s: %v", name, typ, err)
				continue
			}
			p.exes, p.name = append(p.exes, code), append(p.name, level.String())
		}
	}
	return p
}

// run applies one executable: the slices are the operands, then the result.
func run[T float32 | float64](exe kernel.Executable, data ...[]T) {
	n := int64(len(data[0]))
	l := kernel.Launch{Extents: []int64{n}}
	for _, d := range data {
		l.Args = append(l.Args, kernel.Operand{Base: unsafe.Pointer(&d[0]), Size: n * int64(unsafe.Sizeof(d[0])), Strides: []int64{1}})
	}
	exe.Run(&l)
}

// same reports equality of bits, but for the bits of NaN.
func same[T float32 | float64](a, b T) bool {
	return a == b && math.Signbit(float64(a)) == math.Signbit(float64(b)) || a != a && b != b
}

// all runs every executable, checks that they agree, and returns the result.
func all[T float32 | float64](t *testing.T, p program, x ...[]T) []T {
	var first []T
	for i, exe := range p.exes {
		y := make([]T, len(x[0]))
		run(exe, append(append([][]T(nil), x...), y)...)
		if i == 0 {
			first = y
			continue
		}
		for j := range y {
			if !same(y[j], first[j]) {
				t.Errorf("%s(%x): got %x with %s, %x with %s", p.row.Name, x[0][j], y[j], p.name[i], first[j], p.name[0])
				break
			}
		}
	}
	return first
}

// worst remembers the greatest error.
type worst struct {
	ulp float64
	at  string
}

func (w *worst) note(ulp float64, args ...float64) {
	if ulp > w.ulp || math.IsNaN(ulp) {
		w.ulp, w.at = ulp, fmt.Sprintf("%x", args)
	}
}

// error32 returns the error of y in units in the last place, where want is
// exact but for the rounding of f64.
func error32(y float32, want float64) float64 {
	rounded := float32(want)
	switch {
	case rounded != rounded || y != y || rounded == 0 || math.IsInf(float64(rounded), 0):
		if same(y, rounded) {
			return 0
		}
		if rounded == rounded && y == y && (math.Nextafter32(rounded, y) == y) && math.Signbit(want) == math.Signbit(float64(y)) {
			return math.Abs(float64(y)-want) / 0x1p-149
		}
		return math.Inf(1)
	case math.IsInf(float64(y), 0):
		return math.Inf(1)
	}
	_, e := math.Frexp(want)
	return math.Abs(float64(y)-want) * math.Ldexp(1, 24-max(e, -125))
}

// error64 is error32 for f64.
func error64(y float64, want *big.Float) float64 {
	rounded, _ := want.Float64()
	if rounded == 0 || math.IsInf(rounded, 0) || math.IsInf(y, 0) || math.IsNaN(y) {
		if same(y, rounded) || math.Nextafter(rounded, y) == y {
			return 0
		}
		return math.Inf(1)
	}
	d := new(big.Float).SetPrec(400).Sub(want, big.NewFloat(y))
	f, _ := d.SetMantExp(d, 53-max(want.MantExp(nil), -1021)).Float64()
	return math.Abs(f)
}

// TestFunctionsF32: on special values and on arguments spread over all bit
// patterns the error is within the row's tolerance, zeros and infinities are
// exact, and every code generator gives the same bits as the others and, on a part
// of the arguments, as the interpreter. With -exhaustive, on all arguments, with a
// table of the greatest errors.
func TestFunctionsF32(t *testing.T) {
	for _, name := range unary {
		t.Run(name, func(t *testing.T) {
			p := compile(t, name, ir.F32)
			const chunk = 1 << 14
			step := uint64(9601) // odd: all low bits occur
			if *exhaustive {
				step = 1
			}
			var mu sync.Mutex
			var w worst
			var wait sync.WaitGroup
			workers := uint64(runtime.GOMAXPROCS(0))
			for k := range workers {
				wait.Go(func() {
					x := make([]float32, chunk)
					var mine worst
					for at := k * chunk * step; at < 1<<32; at += workers * chunk * step {
						for i := range x {
							x[i] = math.Float32frombits(uint32(min(at+uint64(i)*step, 1<<32-1)))
						}
						q := p
						if len(p.exes) > 1 && at>>20%64 != 0 { // generated code is fast enough for all
							q.exes, q.name = p.exes[1:], p.name[1:]
						}
						for i, y := range all(t, q, x) {
							mine.note(error32(y, p.row.Ref(float64(x[i]))), float64(x[i]))
						}
					}
					mu.Lock()
					defer mu.Unlock()
					if mine.ulp >= w.ulp || math.IsNaN(mine.ulp) {
						w = mine
					}
				})
			}
			wait.Wait()
			t.Logf("%-8s %.4f ulp at %s", name, w.ulp, w.at)
			if !(w.ulp <= p.row.Tol.F32) {
				t.Errorf("error %v ulp at %s exceeds the tolerance %v", w.ulp, w.at, p.row.Tol.F32)
			}
		})
	}
}

// TestFunctionsF64 is TestFunctionsF32 against the oracle, on fewer arguments.
func TestFunctionsF64(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	n := 150
	if *exhaustive {
		n = 300000
	}
	for _, name := range unary {
		t.Run(name, func(t *testing.T) {
			p := compile(t, name, ir.F64)
			x := []float64{
				math.SmallestNonzeroFloat64, 0x1p-1022, math.MaxFloat64, 709.782712893384, 709.7827128933841, -745.1332191019411,
				-745.1332191019412, 1023.9999, 1024, -1074, -1075, 1, -1, 0.5, 2, 0x1.6ac5b262ca1ffp+849, 0x1p30, 0x1.921fb54442d18p+30,
			}
			for range n {
				f := math.Float64frombits(rng.Uint64())
				if !math.IsNaN(f) && !math.IsInf(f, 0) {
					x = append(x, f)
				}
				x = append(x, rng.NormFloat64(), rng.NormFloat64()*30, rng.NormFloat64()*400, 1+rng.NormFloat64()/16,
					math.Round(rng.NormFloat64()*1e6)*(math.Pi/2))
			}
			var w worst
			for i, y := range all(t, p, x) {
				if outside(name, x[i]) {
					continue
				}
				w.note(error64(y, exact.Of(name, x[i])), x[i])
			}
			t.Logf("%-8s %.4f ulp at %s", name, w.ulp, w.at)
			if !(w.ulp <= p.row.Tol.F64) {
				t.Errorf("error %v ulp at %s exceeds the tolerance %v", w.ulp, w.at, p.row.Tol.F64)
			}
		})
	}
}

// outside reports arguments that the oracle does not take; TestSpecial and
// TestFunctionsF32 cover them.
func outside(name string, x float64) bool {
	switch name {
	case "log", "log2":
		return x <= 0
	case "log1p":
		return x <= -1
	case "exp", "expm1", "exp2", "sigmoid":
		return math.Abs(x) > 5000
	}
	return x == 0
}

// TestPow: the power, on arguments whose results spread over the whole range.
func TestPow(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	p32, p64 := compile(t, "pow", ir.F32), compile(t, "pow", ir.F64)
	var x32, z32 []float32
	var x64, z64 []float64
	for i := range 1500 {
		x := math.Exp(rng.NormFloat64() * 20)
		if i%3 == 0 {
			x = 1 + rng.NormFloat64()*math.Exp(-8*rng.Float64())/8
		}
		z := rng.NormFloat64() * 40 / max(math.Abs(math.Log(math.Abs(x))), 1e-3)
		if x < 0 || i%7 == 0 {
			x, z = -x, math.Round(z)
		}
		x32, z32 = append(x32, float32(x)), append(z32, float32(z))
		if i%5 == 0 {
			x64, z64 = append(x64, x), append(z64, z*8)
		}
	}
	var w32, w64 worst
	for i, y := range all(t, p32, x32, z32) {
		want, _ := exact.Of("pow", float64(x32[i]), float64(z32[i])).Float64()
		w32.note(error32(y, want), float64(x32[i]), float64(z32[i]))
	}
	for i, y := range all(t, p64, x64, z64) {
		w64.note(error64(y, exact.Of("pow", x64[i], z64[i])), x64[i], z64[i])
	}
	t.Logf("pow      %.4f ulp at %s, f64 %.4f ulp at %s", w32.ulp, w32.at, w64.ulp, w64.at)
	if !(w32.ulp <= p32.row.Tol.F32) || !(w64.ulp <= p64.row.Tol.F64) {
		t.Errorf("errors %v and %v ulp exceed the tolerances %v", w32, w64, p32.row.Tol)
	}
}

// TestSpecial: zeros, infinities and NaN, in both types. Package math follows
// C's rules, which are ours.
func TestSpecial(t *testing.T) {
	inf, nan, zero := math.Inf(1), math.NaN(), math.Copysign(0, -1)
	values := []float64{0, zero, inf, -inf, nan, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 1e30, -1e30, 0x1p24, 0x1p24 + 2, 0x1p24 - 1}
	check := func(name string, got64 float64, got32 float32, args ...float64) {
		want := ir.Lookup(name).Ref(args...)
		if odd[name] && args[0] == 0 {
			want = args[0]
		}
		if (want == 0 || math.IsInf(want, 0) || math.IsNaN(want)) && !same(got64, want) || math.IsNaN(got64) != math.IsNaN(want) {
			t.Errorf("%s(%v): got %v, want %v", name, args, got64, want)
		}
		if w := float32(want); (w == 0 || math.IsInf(float64(w), 0) || w != w) && !same(got32, w) || (got32 != got32) != (w != w) {
			t.Errorf("%s(%v) in f32: got %v, want %v", name, args, got32, w)
		}
	}
	narrow := func(v []float64) (out []float32) {
		for _, x := range v {
			out = append(out, float32(x))
		}
		return out
	}
	for _, name := range unary {
		y64 := all(t, compile(t, name, ir.F64), values)
		y32 := all(t, compile(t, name, ir.F32), narrow(values))
		for i, x := range values {
			check(name, y64[i], y32[i], x)
		}
	}
	var xs, zs []float64
	for _, x := range values {
		for _, z := range values {
			xs, zs = append(xs, x), append(zs, z)
		}
	}
	y64 := all(t, compile(t, "pow", ir.F64), xs, zs)
	y32 := all(t, compile(t, "pow", ir.F32), narrow(xs), narrow(zs))
	for i := range xs {
		check("pow", y64[i], y32[i], xs[i], zs[i])
	}
}
