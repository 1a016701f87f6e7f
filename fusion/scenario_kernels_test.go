package fusion_test

import "testing"

// Scenarios: what becomes one kernel. Where a case of the source counts blocks, ours
// names their operations; drops are not operations here, and views are index maps
// of the kernels around them: an operation of a block only where a kernel computes
// what they show.
func TestScenariosElementwise(t *testing.T) {
	runScenarios(t, []scenario{
		{name: "add, exp", want: []string{"add exp"}, text: `
  in %1 f32[32,32]
  in %2 f32[32,32]
  %3 = add %1 %2
  %4 = exp %3
  out %4`},
		{name: "sync between add and exp", sync: []int{0}, want: []string{"add", "exp"}, text: `
  in %1 f32[32,32]
  in %2 f32[32,32]
  %3 = add %1 %2
  %4 = exp %3
  out %4`},
		{name: "add, mul, exp", want: []string{"add mul exp"}, text: `
  in %1 f32[32,32]
  in %2 f32[32,32]
  %3 = add %1 %2
  %4 = mul %3 %2
  %5 = exp %4
  out %5`},
		{name: "four times ones, scalar, mul, add", want: []string{"full mul mul add full mul mul add full mul mul add full mul mul add"}, text: `
  in %1 f32[32,32]
  in %2 f32[]
  %10 = full {shape=[32,32],dtype=f32,value=f32:1}
  %11 = mul %10 %2
  %12 = mul %11 %1
  %13 = add %12 %1
  %20 = full {shape=[32,32],dtype=f32,value=f32:1}
  %21 = mul %20 %2
  %22 = mul %21 %13
  %23 = add %22 %13
  %30 = full {shape=[32,32],dtype=f32,value=f32:1}
  %31 = mul %30 %2
  %32 = mul %31 %23
  %33 = add %32 %23
  %40 = full {shape=[32,32],dtype=f32,value=f32:1}
  %41 = mul %40 %2
  %42 = mul %41 %33
  %43 = add %42 %33
  out %43`},
		// The source leaves a lone swap of axes out of the block. Here it is an index map.
		{name: "swap_dims, then add, exp", want: []string{"add exp"}, text: `
  in %1 f32[16,32]
  in %2 f32[32,16]
  %3 = permute %1 {axes=[1,0]}
  %4 = add %3 %2
  %5 = exp %4
  out %5`},
		{name: "int xor, and, shift, or, not, to float, times 0.5", want: []string{"xor and shl or not cast mul"}, text: `
  in %1 i32[4]
  in %2 i32[4]
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
		{name: "two reshapes of a cloned tensor, mul, sum_dim", text: `
  in %1 f32[6]
  %2 = reshape %1 {shape=[2,3]}
  %3 = reshape %1 {shape=[2,3]}
  %4 = mul %2 %3
  %5 = sum %4 {axes=[1]}
  out %5 %2`},
		{name: "swap_dims and narrow match contiguous", text: `
  in %1 f32[5,7,3]
  %2 = permute %1 {axes=[1,0,2]}
  %3 = slice %2 {starts=[1,0,0],sizes=[4,5,3],steps=[1,1,1]}
  %4 = exp %3
  %5 = max %4 {axes=[2],keepdims=true}
  %6 = sub %4 %5
  out %6 %3`},
	})
}

// Scenarios of concatenation: the joined result is written by the kernel that
// computes its parts.
func TestScenariosCat(t *testing.T) {
	runScenarios(t, []scenario{
		{name: "cat, then scalar mul", want: []string{"concat mul"}, text: `
  in %1 f32[4,8]
  in %2 f32[4,8]
  in %3 f32[]
  %4 = concat %1 %2 {axis=0}
  %5 = mul %4 %3
  out %5`},
		{name: "last dim, 3 and 5, unaligned", want: []string{"concat mul"}, text: `
  in %1 f32[4,3]
  in %2 f32[4,5]
  in %3 f32[]
  %4 = concat %1 %2 {axis=1}
  %5 = mul %4 %3
  out %5`},
		{name: "three inputs, middle dim", want: []string{"concat mul"}, text: `
  in %1 f32[2,3,4]
  in %2 f32[2,1,4]
  in %3 f32[2,5,4]
  in %4 f32[]
  %5 = concat %1 %2 %3 {axis=1}
  %6 = mul %5 %4
  out %6`},
		// The source splits here; ours computes the part in place of the joined one.
		{name: "a computed input", want: []string{"exp concat mul"}, text: `
  in %1 f32[4,8]
  in %2 f32[4,8]
  in %3 f32[]
  %4 = exp %1
  %5 = concat %4 %2 {axis=0}
  %6 = mul %5 %3
  out %6`},
		{name: "int", want: []string{"concat mul"}, text: `
  in %1 i32[2,6]
  in %2 i32[3,6]
  in %3 i32[]
  %4 = concat %1 %2 {axis=0}
  %5 = mul %4 %3
  out %5`},
		{name: "bool and equal", want: []string{"concat eq"}, text: `
  in %1 bool[2,6]
  in %2 bool[3,6]
  in %3 bool[5,6]
  %4 = concat %1 %2 {axis=0}
  %5 = eq %4 %3
  out %5`},
		{name: "transposed input, last dim", want: []string{"concat mul"}, text: `
  in %1 f32[8,4]
  in %2 f32[4,5]
  in %3 f32[]
  %4 = permute %1 {axes=[1,0]}
  %5 = concat %4 %2 {axis=1}
  %6 = mul %5 %3
  out %6`},
		{name: "output broadcast, [1,8] and [2,8]", want: []string{"concat add"}, text: `
  in %1 f32[1,8]
  in %2 f32[2,8]
  in %3 f32[4,3,8]
  %4 = concat %1 %2 {axis=0}
  %5 = add %3 %4
  out %5`},
	})
}

// Scenarios of results in the memory of operands. Large enough to be worth it.
func TestScenariosInPlace(t *testing.T) {
	runScenarios(t, []scenario{
		{name: "a consuming chain aliases each time", place: 1, want: []string{"add exp"}, text: `
  in %1 f32[64,64]
  in %2 f32[]
  %3 = add %1 %2
  %4 = exp %3
  out %4`},
		{name: "with a broadcast bias it aliases", place: 1, want: []string{"add relu"}, text: `
  in %1 f32[64,64]
  in %2 f32[64]
  %3 = add %1 %2
  %4 = relu %3
  out %4`},
		{name: "a dimension of size one with stride zero", text: `
  in %1 f32[1,64]
  in %2 f32[64,64]
  %3 = expand %1 {shape=[64,64]}
  %4 = add %3 %2
  out %4`},
		{name: "an input that is only read survives", text: `
  in %1 f32[64,64]
  in %2 f32[]
  %3 = add %1 %2
  out %3 %1`},
		{name: "an elementwise output that feeds a fused reduction aliases", place: 1, text: `
  in %1 f32[64,64]
  in %2 f32[]
  %3 = mul %1 %2
  %4 = sum %3 {axes=[1]}
  out %3 %4`},
		{name: "three accumulations alias with a cached plan", place: 3, sync: []int{0, 1, 2}, text: `
  in %1 f32[64,64]
  in %2 f32[64,64]
  %3 = add %1 %2
  %4 = add %3 %2
  %5 = add %4 %2
  out %5`},
	})
}

// Scenarios of reductions with what is before and after them.
func TestScenariosReduceBroadcasted(t *testing.T) {
	runScenarios(t, []scenario{
		{name: "read, reduce, write, broadcast", want: []string{"add sum div"}, text: `
  in %1 f32[8,64]
  in %2 f32[8,64]
  %3 = add %1 %2
  %4 = sum %3 {axes=[1],keepdims=true}
  %5 = div %3 %4
  out %5`},
		{name: "two reductions", want: []string{"max sub sum"}, text: `
  in %1 f32[8,64]
  %2 = max %1 {axes=[1],keepdims=true}
  %3 = sub %1 %2
  %4 = sum %3 {axes=[1]}
  out %4`},
		{name: "two with a broadcast between", want: []string{"max sub exp sum div"}, text: `
  in %1 f32[8,64]
  %2 = max %1 {axes=[1],keepdims=true}
  %3 = sub %1 %2
  %4 = exp %3
  %5 = sum %4 {axes=[1],keepdims=true}
  %6 = div %4 %5
  out %6`},
		{name: "an intermediate reused later", want: []string{"add sum div mul"}, text: `
  in %1 f32[8,64]
  in %2 f32[8,64]
  %3 = add %1 %2
  %4 = sum %3 {axes=[1],keepdims=true}
  %5 = div %2 %4
  %6 = mul %5 %3
  out %6 %3`},
		{name: "causal softmax [6,96,96]", want: []string{"full expand where max sub exp sum div"}, text: `
  in %1 f32[6,96,96]
  in %2 bool[96,96]
  %3 = full {shape=[],dtype=f32,value=f32:-inf}
  %4 = expand %3 {shape=[6,96,96]}
  %5 = where %2 %4 %1
  %6 = max %5 {axes=[2],keepdims=true}
  %7 = sub %5 %6
  %8 = exp %7
  %9 = sum %8 {axes=[2],keepdims=true}
  %10 = div %8 %9
  out %10`},
		{name: "max with NaN, broadcast", want: []string{"full div add max sub"}, text: `
  in %1 f32[8,64]
  %2 = full {shape=[8,64],dtype=f32,value=f32:0}
  %3 = div %1 %2
  %4 = add %3 %1
  %5 = max %4 {axes=[1],keepdims=true}
  %6 = sub %4 %5
  out %6`},
		{name: "ones, sum, add, add, sum", text: `
  in %1 f32[8,64]
  %2 = full {shape=[8,64],dtype=f32,value=f32:1}
  %3 = sum %2 {axes=[1],keepdims=true}
  %4 = add %1 %3
  %5 = add %4 %2
  %6 = sum %5 {axes=[1],keepdims=true}
  out %6`},
	})
}

// Scenarios of logical reductions.
func TestScenariosReduceLogical(t *testing.T) {
	runScenarios(t, []scenario{
		{name: "any over dim, bool", want: []string{"any"}, text: "\n  in %1 bool[4,257]\n  %2 = any %1 {axes=[1]}\n  out %2"},
		{name: "all over dim, bool", want: []string{"all"}, text: "\n  in %1 bool[4,257]\n  %2 = all %1 {axes=[1]}\n  out %2"},
		{name: "any over dim, float", want: []string{"cast any"}, text: "\n  in %1 f32[4,257]\n  %2 = cast %1 {dtype=bool}\n  %3 = any %2 {axes=[1]}\n  out %3"},
		{name: "all over dim, int", want: []string{"cast all"}, text: "\n  in %1 i32[4,257]\n  %2 = cast %1 {dtype=bool}\n  %3 = all %2 {axes=[1]}\n  out %3"},
		{name: "broadcast back with or", want: []string{"any or"}, text: `
  in %1 bool[4,257]
  %2 = any %1 {axes=[1],keepdims=true}
  %3 = or %1 %2
  out %3`},
		{name: "broadcast back with and", want: []string{"all and"}, text: `
  in %1 bool[4,257]
  %2 = all %1 {axes=[1],keepdims=true}
  %3 = and %1 %2
  out %3`},
		{name: "whole tensor, bool", want: []string{"any"}, text: "\n  in %1 bool[4,257]\n  %2 = any %1 {axes=[0,1]}\n  out %2"},
		{name: "whole tensor, float", want: []string{"cast all"}, text: "\n  in %1 f32[4,257]\n  %2 = cast %1 {dtype=bool}\n  %3 = all %2 {axes=[0,1]}\n  out %3"},
		{name: "whole tensor, int", want: []string{"cast any"}, text: "\n  in %1 i64[4,257]\n  %2 = cast %1 {dtype=bool}\n  %3 = any %2 {axes=[0,1]}\n  out %3"},
		{name: "reshape, then any", want: []string{"any"}, text: `
  in %1 bool[4,256]
  %2 = reshape %1 {shape=[16,64]}
  %3 = any %2 {axes=[1]}
  out %3`},
		{name: "times 5, then any", want: []string{"mul cast any"}, text: `
  in %1 f32[4,257]
  in %2 f32[]
  %3 = mul %1 %2
  %4 = cast %3 {dtype=bool}
  %5 = any %4 {axes=[1]}
  out %5`},
	})
}

// Scenarios of channels-last layouts. Strides of a base never change here: a
// relayout that the source's kernels choose has no counterpart, and layouts that
// users make are views. What is left is that values are right and inputs stay.
func TestScenariosChannelsLast(t *testing.T) {
	pool := func(c, h, w int, between string) string {
		return "\n  in %1 f32[2," + itoa(c) + "," + itoa(h) + "," + itoa(w) + "]\n  in %2 f32[]" + between
	}
	var list []scenario
	for _, c := range []int{3, 4, 8} {
		list = append(list, scenario{name: "add and a window reduction, width " + itoa(c), text: pool(c, 6, 6, `
  %3 = add %1 %2
  %4 = unfold %3 {axis=2,size=2,step=2}
  %5 = max %4 {axes=[-1]}
  out %5`)})
	}
	list = append(list, scenario{name: "swapped input", text: pool(3, 4, 5, `
  %3 = permute %1 {axes=[0,2,3,1]}
  %4 = add %3 %2
  %5 = sum %4 {axes=[1,2]}
  out %5 %4`)},
		scenario{name: "times 2 in place", place: 1, text: pool(8, 16, 16, `
  %3 = mul %1 %2
  out %3`)},
		scenario{name: "scalar broadcast", text: pool(4, 6, 6, `
  %3 = permute %1 {axes=[0,2,3,1]}
  %4 = mul %3 %2
  out %4`)},
		scenario{name: "mutual broadcast", text: `
  in %1 f32[2,4,1,5]
  in %2 f32[1,4,6,1]
  %3 = permute %1 {axes=[0,2,3,1]}
  %4 = permute %2 {axes=[0,2,3,1]}
  %5 = add %3 %4
  out %5`},
		scenario{name: "an input also used later keeps its layout", text: pool(4, 6, 6, `
  %3 = permute %1 {axes=[0,2,3,1]}
  %4 = mul %3 %2
  %5 = add %1 %2
  out %4 %5`)})
	runScenarios(t, list)
}

// f16: two branches of a convolution's product with a manual normalisation, added.
// The source compares with f32 within a tolerance; ours asks for the unfused bits.
func TestScenariosHalf(t *testing.T) {
	branch := `
  %D1 = matmul %1 %W
  %D2 = mean %D1 {axes=[0],keepdims=true}
  %D3 = sub %D1 %D2
  %D4 = mul %D3 %D3
  %D5 = mean %D4 {axes=[0],keepdims=true}
  %D6 = add %D5 %4
  %D7 = rsqrt %D6
  %D8 = mul %D3 %D7`
	text := func(rows string) string {
		s := "\n  in %1 f16[" + rows + ",16]\n  in %2 f16[16,24]\n  in %3 f16[16,24]\n  in %4 f16[]"
		return s + replace(branch, "D", "1", "W", "2") + replace(branch, "D", "2", "W", "3") + "\n  %30 = add %18 %28\n  out %30"
	}
	runScenarios(t, []scenario{{name: "large", text: text("300")}, {name: "small", text: text("4")}})
}
