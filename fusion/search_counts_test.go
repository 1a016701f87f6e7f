package fusion_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/irtest"
)

// A count is how many launches a program takes, at most.
type count struct {
	name     string
	launches int
	text     string
}

// counts are the bars of the project: what users compose, in launches.
var counts = []count{
	{"gelu", 1, `
  in %1 f32[64,32]
  in %2 f32[]
  in %3 f32[]
  %4 = div %1 %2
  %5 = erf %4
  %6 = full {shape=[],dtype=f32,value=f32:1}
  %7 = add %5 %6
  %8 = mul %1 %7
  %9 = mul %8 %3
  out %9`},
	{"softmax", 1, `
  in %1 f32[16,40]
  %2 = max %1 {axes=[1],keepdims=true}
  %3 = sub %1 %2
  %4 = exp %3
  %5 = sum %4 {axes=[1],keepdims=true}
  %6 = div %4 %5
  out %6`},
	{"log-softmax", 1, `
  in %1 f32[16,40]
  %2 = max %1 {axes=[1],keepdims=true}
  %3 = sub %1 %2
  %4 = exp %3
  %5 = sum %4 {axes=[1],keepdims=true}
  %6 = log %5
  %7 = sub %3 %6
  out %7`},
	{"layer norm", 1, `
  in %1 f32[16,40]
  in %2 f32[40]
  in %3 f32[40]
  in %4 f32[]
  %5 = mean %1 {axes=[1],keepdims=true}
  %6 = sub %1 %5
  %7 = mul %6 %6
  %8 = mean %7 {axes=[1],keepdims=true}
  %9 = add %8 %4
  %10 = sqrt %9
  %11 = div %6 %10
  %12 = mul %11 %2
  %13 = add %12 %3
  out %13`},
	{"rms norm", 1, `
  in %1 f32[16,40]
  in %2 f32[40]
  in %4 f32[]
  %7 = mul %1 %1
  %8 = mean %7 {axes=[1],keepdims=true}
  %9 = add %8 %4
  %10 = sqrt %9
  %11 = div %1 %10
  %12 = mul %11 %2
  out %12`},
	{"rope", 1, `
  in %1 f32[4,10,16]
  in %2 f32[10,16]
  in %3 f32[10,16]
  %4 = slice %1 {starts=[0,0,8],sizes=[4,10,8],steps=[1,1,1]}
  %5 = slice %1 {starts=[0,0,0],sizes=[4,10,8],steps=[1,1,1]}
  %6 = neg %4
  %7 = concat %6 %5 {axis=2}
  %8 = mul %1 %2
  %9 = mul %7 %3
  %10 = add %8 %9
  out %10`},
	{"gather and scale", 1, `
  in %1 f32[50,16]
  in %2 i64[7]
  in %3 f32[]
  %4 = gather %1 %2
  %5 = mul %4 %3
  out %5`},
	{"bias and relu", 1, `
  in %1 f32[64,32]
  in %2 f32[32]
  %3 = add %1 %2
  %4 = relu %3
  out %4`},
	{"sum and product", 1, `
  in %1 f32[640]
  in %2 f32[640]
  %3 = add %1 %2
  %4 = mul %1 %2
  out %3 %4`},
	{"mean and deviation", 1, `
  in %1 f32[16,40]
  %2 = mean %1 {axes=[1]}
  %5 = variance %1 {axes=[1]}
  %3 = sqrt %5
  out %2 %3`},
	{"linear and relu", 1, `
  in %1 f32[8,16]
  in %2 f32[16,24]
  in %3 f32[24]
  %4 = matmul %1 %2
  %5 = add %4 %3
  %6 = relu %5
  out %6`},
	{"concat of computed", 1, `
  in %1 f32[8,16]
  in %2 f32[8,12]
  in %3 f32[]
  %4 = mul %1 %3
  %5 = add %2 %3
  %6 = concat %4 %5 {axis=1}
  out %6`},
	{"constants", 1, strings.Join(func() (lines []string) {
		lines = append(lines, "\n  in %1 f32[]")
		for i := range 4 {
			n := 10 * (i + 1)
			lines = append(lines, fmt.Sprintf("  %%%d = full {shape=[32,16],dtype=f32,value=f32:1}", n),
				fmt.Sprintf("  %%%d = mul %%%d %%1", n+1, n))
			prev := n + 1
			if i > 0 {
				prev = n - 7
			}
			lines = append(lines, fmt.Sprintf("  %%%d = mul %%%d %%%d", n+2, n+1, prev), fmt.Sprintf("  %%%d = add %%%d %%%d", n+3, n+2, prev))
		}
		return append(lines, "  out %43")
	}(), "\n")},
	{"integers", 1, `
  in %1 i32[100]
  in %2 i32[100]
  in %3 i32[]
  in %4 f32[]
  %5 = xor %1 %2
  %6 = and %5 %3
  %7 = shl %6 %3
  %8 = or %7 %2
  %9 = not %8
  %10 = cast %9 {dtype=f32}
  %11 = mul %10 %4
  out %11`},
	{"half", 1, `
  in %1 f16[100]
  in %2 f16[100]
  %3 = mul %1 %2
  %4 = add %3 %1
  %5 = exp %4
  %6 = sub %5 %2
  out %6`},
	{"add and exp", 1, `
  in %1 f32[100]
  in %2 f32[100]
  %3 = add %1 %2
  %4 = exp %3
  out %4`},
	{"logical reduction", 1, `
  in %1 bool[4,257]
  in %2 bool[4,1]
  %3 = any %1 {axes=[1],keepdims=true}
  %4 = or %3 %2
  out %4`},
	{"transposed", 1, `
  in %1 f32[16,40]
  in %2 f32[40,16]
  %3 = permute %1 {axes=[1,0]}
  %4 = add %3 %2
  %5 = permute %4 {axes=[1,0]}
  %6 = exp %5
  out %6`},
	{"cast before a scan", 1, `
  in %1 f16[4096]
  in %2 i64[4096]
  in %3 f32[]
  %4 = cast %1 {dtype=f32}
  %5 = add %4 %3
  %6 = cumsum %5
  %7 = mul %4 %6
  out %7`},
	{"concat of unaligned widths, then scaled", 1, `
  in %1 f32[4,3]
  in %2 f32[4,5]
  in %3 f32[]
  %4 = concat %1 %2 {axis=1}
  %5 = mul %4 %3
  out %5`},
	{"concat of three in the middle", 1, `
  in %1 f32[2,3,4]
  in %2 f32[2,1,4]
  in %3 f32[2,5,4]
  %4 = concat %1 %2 %3 {axis=1}
  %5 = exp %4
  out %5`},
	{"concat of integers", 1, `
  in %1 i32[6]
  in %2 i32[7]
  %3 = concat %1 %2 {axis=0}
  %4 = neg %3
  out %4`},
	{"concat of bools, compared", 1, `
  in %1 bool[6]
  in %2 bool[7]
  in %3 bool[13]
  %4 = concat %1 %2 {axis=0}
  %5 = xor %4 %3
  out %5`},
	{"concat of a transposed operand", 1, `
  in %1 f32[5,4]
  in %2 f32[4,3]
  %3 = permute %1 {axes=[1,0]}
  %4 = concat %3 %2 {axis=1}
  %5 = abs %4
  out %5`},
	{"concat, broadcast", 1, `
  in %1 f32[1,8]
  in %2 f32[2,8]
  in %3 f32[3,1]
  %4 = concat %1 %2 {axis=0}
  %5 = add %4 %3
  out %5`},
	{"reduced and broadcast", 1, `
  in %1 f32[6,33]
  in %2 f32[6,33]
  %3 = add %1 %2
  %4 = sum %3 {axes=[1],keepdims=true}
  %5 = sub %2 %4
  out %5`},
	{"two reductions", 1, `
  in %1 f32[6,33]
  %2 = sum %1 {axes=[1],keepdims=true}
  %3 = max %1 {axes=[1],keepdims=true}
  %4 = add %2 %3
  %5 = mul %1 %4
  out %5`},
	{"two reductions, one after the other", 1, `
  in %1 f32[6,33]
  %2 = sum %1 {axes=[1],keepdims=true}
  %3 = sub %1 %2
  %4 = mul %3 %3
  %5 = sum %4 {axes=[1],keepdims=true}
  %6 = add %3 %5
  out %6`},
	{"an intermediate that is kept", 1, `
  in %1 f32[6,33]
  %2 = exp %1
  %3 = sum %2 {axes=[1],keepdims=true}
  %4 = div %2 %3
  out %2 %4`},
	{"softmax under a mask", 1, `
  in %1 f32[6,24,24]
  in %2 bool[24,24]
  in %3 f32[]
  %4 = where %2 %1 %3
  %5 = max %4 {axes=[2],keepdims=true}
  %6 = sub %4 %5
  %7 = exp %6
  %8 = sum %7 {axes=[2],keepdims=true}
  %9 = div %7 %8
  out %9`},
	{"any over the whole", 1, `
  in %1 bool[4,257]
  %2 = any %1
  %3 = not %2
  out %3`},
	{"reshaped, scaled, any", 1, `
  in %1 f32[4,6]
  in %2 f32[]
  %3 = reshape %1 {shape=[8,3]}
  %4 = gt %3 %2
  %5 = any %4 {axes=[1]}
  out %5`},
	{"two reshapes of one tensor", 1, `
  in %1 f32[6]
  %2 = reshape %1 {shape=[1,6]}
  %3 = reshape %1 {shape=[6,1]}
  %4 = mul %2 %3
  %5 = sum %4 {axes=[1]}
  out %5`},
	{"a lone transposition, then two operations", 1, `
  in %1 f32[6,7]
  in %2 f32[7,6]
  %3 = permute %1 {axes=[1,0]}
  %4 = add %3 %2
  %5 = exp %4
  out %3 %5`},
	{"pooled branches in half precision", 1, `
  in %1 f16[8,16]
  in %2 f16[16]
  in %3 f16[16]
  in %4 f16[8,16]
  %5 = sub %1 %2
  %6 = div %5 %3
  %7 = mul %4 %3
  %8 = add %6 %7
  out %8`},
	{"a cast mask beside its source", 1, `
  in %1 f32[300]
  in %2 f32[]
  %3 = gt %1 %2
  %4 = cast %3 {dtype=f32}
  %5 = mul %1 %4
  out %3 %5`},
	{"mean and scale in a network", 1, `
  in %1 f32[8,16]
  in %2 f32[16,24]
  in %3 f32[24]
  in %4 f32[]
  %5 = matmul %1 %2
  %6 = add %5 %3
  %7 = tanh %6
  %8 = mul %7 %4
  %9 = permute %8 {axes=[1,0]}
  out %9`},
}

func program(text string) string { return "program p" + strings.TrimRight(text, "\n ") + "\n" }

// TestKernelCounts: what users compose takes as few launches as a kernel of its
// own would, and the kernels give the bits of one node at a time.
func TestKernelCounts(t *testing.T) {
	target := newDeviceTarget(t, cpu.Options{})
	first := ir.ID(1 << 20)
	for _, c := range counts {
		p := parse(t, program(c.text))
		s := segmentOf(p)
		plan, err := (&fusion.Planner{Target: target}).Plan(s)
		if err == nil {
			err = verify(plan)
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if plan.Fused.Launches > c.launches {
			t.Errorf("%s: %d launches, expected %d\n%s", c.name, plan.Fused.Launches, c.launches, plan.Explain())
		}
		inputs := irtest.InputData(rand.New(rand.NewPCG(1, 2)), p, 0)
		want, wantErrs, err := unfusedBits(p, target.d, inputs, first)
		if err != nil {
			t.Fatal(err)
		}
		got, gotErrs, err := execute(plan, target.d, inputs, first+1<<20)
		if err != nil {
			t.Fatal(err)
		}
		first += 2 << 20
		if d := compare(p, want, got, wantErrs, gotErrs); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

// adam is the step of an optimizer over n parameters, written out.
func adam(n int) string {
	var b strings.Builder
	b.WriteString("program adam\n  in %1 f32[]\n  in %2 f32[]\n  in %3 f32[]\n  in %4 f32[]\n  in %5 f32[]\n  in %6 f32[]\n")
	for i := range n { // parameter, gradient, two moments
		for j := range 4 {
			fmt.Fprintf(&b, "  in %%%d f32[%d,%d]\n", 10+4*i+j, 3+i, 20)
		}
	}
	id := 10 + 4*n
	var outs []string
	op := func(row string, in ...int) int {
		fmt.Fprintf(&b, "  %%%d = %s", id, row)
		for _, x := range in {
			fmt.Fprintf(&b, " %%%d", x)
		}
		b.WriteByte('\n')
		id++
		return id - 1
	}
	const b1, c1, b2, c2, lr, eps = 1, 2, 3, 4, 5, 6
	for i := range n {
		p, g, m, v := 10+4*i, 11+4*i, 12+4*i, 13+4*i
		m = op("add", op("mul", m, b1), op("mul", g, c1))
		v = op("add", op("mul", v, b2), op("mul", op("mul", g, g), c2))
		step := op("div", op("mul", m, lr), op("add", op("sqrt", v), eps))
		outs = append(outs, fmt.Sprint("%", op("sub", p, step)), fmt.Sprint("%", m), fmt.Sprint("%", v))
	}
	b.WriteString("  out " + strings.Join(outs, " ") + "\n")
	return b.String()
}

// TestOptimizerLaunches: a step over N parameters takes a launch per 64 of them,
// in the memory of the parameters and moments that it replaces.
func TestOptimizerLaunches(t *testing.T) {
	target := newDeviceTarget(t, cpu.Options{})
	for i, n := range []int{1, 8, 100} {
		p := parse(t, adam(n))
		s := segmentOf(p)
		var state int64
		for _, x := range p.Inputs {
			s.Dies = append(s.Dies, x.ID >= 10)
			if x.ID >= 10 {
				state += x.Bytes()
			}
		}
		plan, err := (&fusion.Planner{Target: target}).Plan(s)
		if err == nil {
			err = verify(plan)
		}
		if err != nil {
			t.Fatal(err)
		}
		want := (n + 63) / 64
		if plan.Fused.Launches != want || plan.Fused.Peak > state {
			t.Errorf("%d parameters: %d launches, peak %d; expected %d and at most %d", n, plan.Fused.Launches, plan.Fused.Peak, want, state)
		}
		inputs := irtest.InputData(rand.New(rand.NewPCG(1, 2)), p, 0)
		first := ir.ID(i*2+1) << 20
		a, ea, err := unfusedBits(p, target.d, inputs, first)
		if err != nil {
			t.Fatal(err)
		}
		b, eb, err := execute(plan, target.d, inputs, first+1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if d := compare(p, a, b, ea, eb); d != "" {
			t.Errorf("%d parameters: %s", n, d)
		}
	}
}

// TestSearchTime: the work of a search is bounded by the number of nodes: counted
// in lowerings, which do not depend on the machine.
func TestSearchTime(t *testing.T) {
	for _, n := range []int{64, 256} {
		for name, text := range map[string]string{"chain": chain(n), "adam": adam(n / 11)} {
			s := segmentOf(parse(t, text))
			plan, err := (&fusion.Planner{Target: paperTarget{}}).Plan(s)
			if err != nil {
				t.Fatal(err)
			}
			if got := plan.Lowerings; got > 8*len(s.Nodes) {
				t.Errorf("%s of %d nodes: %d lowerings", name, len(s.Nodes), got)
			}
		}
	}
}

// chain is n operations in a row, of many kinds.
func chain(n int) string {
	var b strings.Builder
	b.WriteString("program chain\n  in %1 f32[16,16]\n  in %2 f32[16]\n")
	for i := range n {
		x := max(1, i+2)
		if i == 0 {
			x = 1
		}
		switch i % 16 {
		case 5:
			fmt.Fprintf(&b, "  %%%d = softmax %%%d\n", i+3, x)
		case 9:
			fmt.Fprintf(&b, "  %%%d = permute %%%d {axes=[1,0]}\n", i+3, x)
		case 15:
			fmt.Fprintf(&b, "  %%%d = matmul %%%d %%1\n", i+3, x)
		default:
			fmt.Fprintf(&b, "  %%%d = add %%%d %%2\n", i+3, x)
		}
	}
	fmt.Fprintf(&b, "  out %%%d\n", n+2)
	return b.String()
}

func BenchmarkPlan(b *testing.B) {
	for name, text := range map[string]string{"chain256": chain(256), "adam256": adam(23)} {
		b.Run(name, func(b *testing.B) {
			target := newDeviceTarget(b, cpu.Options{})
			s := segmentOf(parse(b, text))
			for b.Loop() {
				if _, err := (&fusion.Planner{Target: target}).Plan(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
