// Package attend computes attention: rows whose access is [ir.Recurrence]. It makes
// kernels in the kernel IR of the steps, and runs them over blocks of queries and
// keys, with whatever executables the device makes of them. So all devices of a
// kind agree, and no bit depends on the order of tasks, the number of threads,
// which queries are computed together, or the strides of the operands.
//
// # The recurrence
//
// For one query q, with m = -inf, l = 0 and a vector acc = 0, over blocks of
// [Block] keys in ascending order, in the compute type of the dtype (f16 and bf16
// are widened to f32, results rounded once at the end):
//
//	x_j   = (q · k_j) · t             t = scale · log2(e), rounded; the product by kernel.DotTree
//	x_j   = fma(bias_j, log2(e), x_j) with a bias; the first rounding of x_j stays
//	x_j   = -inf                      of hidden keys: by causal, the window, or a bias of -inf
//	m'    = max(m, max x_j)
//	p_j   = 2^(x_j - m')              see weight; m' = -inf counts as 0 here
//	a     = 2^(m - m')
//	l     = fma(l, a, Σ p_j)          ascending from +0
//	acc   = fma(acc, a, Σ p_j · v_j)  ascending from +0 by fma
//	m     = m'
//
// and then y = acc / l + 0, which is 0 where l is 0, and lse = fma(m, ln 2, log l),
// which is -inf there. Keys of weight 0 take no part in acc, whatever is in v.
//
// A block whose keys are all hidden changes nothing: m' = m, every p is 0, and a is
// 1, or acc and l are 0. So a causal pass over all keys, one over the blocks that a
// query sees, and a step of decoding over a cache that ends there have equal bits.
// What the sum of zero terms may change is the sign of a zero, which adding +0 at
// the end makes +0.
//
// # Gradients
//
// The weights are computed again from lse, a block of 64 queries by 64 keys at a
// time: p = 2^(x - lse·log2(e)), 0 where x or lse is -inf; with dp = dy · v,
// ds = p·(dp - delta), 0 where p is 0. The sums dq = Σ ds·k, dk = Σ ds·q and
// dv = Σ p·dy take blocks in ascending order, each from +0 by fma, added to what
// there is; heads that share keys in ascending order. dq and dk are scaled at the
// end. See backward.go for that of a bias.
//
// # How it runs
//
// A task is [Rows] queries of a head, or a block of keys, and has scratch memory of
// its own: no memory grows with the number of scores. Scores lie transposed, keys
// by queries, so that the lanes of generated code are queries: nothing is summed
// across lanes. Keys and values of the compute type are read where they lie.
//
// Weights of 0 take no part at no cost: a product with them is NaN only if a value
// is not finite, and NaN stays. A task whose result has a NaN runs again with
// kernels that look at each weight.
package attend
