package onnx

import (
	command "flag"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"
)

var update = command.Bool("update", false, "write COVERAGE.md")

// standard are the operators of ai.onnx up to the newest opset.
const standard = `Abs Acos Acosh Add AffineGrid And ArgMax ArgMin Asin Asinh Atan Atanh Attention AveragePool BatchNormalization Bernoulli
BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor BlackmanWindow Cast CastLike CausalConvWithState Ceil Celu CenterCropPad Clip
Col2Im Compress Concat ConcatFromSequence Constant ConstantOfShape Conv ConvInteger ConvTranspose Cos Cosh CumProd CumSum DFT DeformConv
DepthToSpace DequantizeLinear Det Div Dropout DynamicQuantizeLinear Einsum Elu Equal Erf Exp Expand EyeLike Flatten Floor GRU Gather
GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool Greater GreaterOrEqual GridSample GroupNormalization
HammingWindow HannWindow HardSigmoid HardSwish Hardmax Identity If ImageDecoder InstanceNormalization IsInf IsNaN LRN LSTM
LayerNormalization LeakyRelu Less LessOrEqual LinearAttention Log LogSoftmax Loop LpNormalization LpPool MatMul MatMulInteger Max MaxPool
MaxRoiPool MaxUnpool Mean MeanVarianceNormalization MelWeightMatrix Min Mish Mod Mul Multinomial Neg NegativeLogLikelihoodLoss
NonMaxSuppression NonZero Not OneHot Optional OptionalGetElement OptionalHasElement Or PRelu Pad Pow QLinearConv QLinearMatMul
QuantizeLinear RMSNormalization RNN RandomNormal RandomNormalLike RandomUniform RandomUniformLike Range Reciprocal ReduceL1 ReduceL2
ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare RegexFullMatch Relu Reshape Resize
ReverseSequence RoiAlign RotaryEmbedding Round STFT Scan Scatter ScatterElements ScatterND Selu SequenceAt SequenceConstruct SequenceEmpty
SequenceErase SequenceInsert SequenceLength SequenceMap Shape Shrink Sigmoid Sign Sin Sinh Size Slice Softmax SoftmaxCrossEntropyLoss
Softplus Softsign SpaceToDepth Split SplitToSequence Sqrt Squeeze StringConcat StringNormalizer StringSplit Sub Sum SwiGLU Swish Tan Tanh
TensorScatter TfIdfVectorizer ThresholdedRelu Tile TopK Transpose Trilu Unique Unsqueeze Upsample Where Xor`

// coverage writes the table down.
func coverage() string {
	var b strings.Builder
	b.WriteString(`# Operators of ONNX

Written by ` + "`go test ./onnx -run TestCoverageDocument -update`" + ` from the table of operators; a test keeps it true. Opsets 7 to ` + fmt.Sprint(newestOpset) + `
of ai.onnx; a column "from" lists the opsets in which an operator's form changed. Attributes that are not listed are
reported when a model is compiled.

Element types: all operators take those of the 13 dtypes that their arithmetic is defined for. int4, uint4, int2, uint2,
float8 (four kinds), float8e8m0 and float4e2m1 are held widened: operators marked "moves" pass them on, those marked
"narrow" compute with them. Strings: constants, and operators marked "moves" or "narrow" as far as they are known on the
host. Complex numbers have no tensors.

`)
	domains := map[string][]string{}
	for k := range table {
		domains[k.domain] = append(domains[k.domain], k.name)
	}
	var order []string
	for d := range domains {
		order = append(order, d)
	}
	sort.Strings(order)
	for _, d := range order {
		names := domains[d]
		sort.Strings(names)
		title := d
		if d == "" {
			title = "ai.onnx"
		}
		fmt.Fprintf(&b, "## %s: %d operators\n\n| operator | from | inputs | outputs | attributes | types |\n| --- | --- | --- | --- | --- | --- |\n", title, len(names))
		for _, n := range names {
			forms := table[opKey{d, n}]
			var since, attrs, types []string
			for _, f := range forms {
				since = append(since, fmt.Sprint(f.since))
				for _, a := range f.attrs {
					if !slices.Contains(attrs, a.name) {
						attrs = append(attrs, a.name)
					}
				}
			}
			last := forms[len(forms)-1]
			if last.until > 0 {
				since = append(since, fmt.Sprintf("to %d", last.until))
			}
			if last.keeps {
				types = append(types, "moves")
			}
			if last.narrow {
				types = append(types, "narrow")
			}
			if last.random {
				types = append(types, "random")
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", n, strings.Join(since, ", "), last.in, last.out, strings.Join(attrs, ", "), strings.Join(types, ", "))
		}
		b.WriteString("\n")
	}
	b.WriteString("## Not there\n\n")
	for _, n := range missing() {
		why := outOfScope("", n)
		if why == "" {
			why = "not supported yet"
		}
		fmt.Fprintf(&b, "- %s: %s\n", n, why)
	}
	fmt.Fprintf(&b, "- ai.onnx.ml: %s\n- ai.onnx.preview.training: %s\n", outOfScope("ai.onnx.ml", ""), outOfScope("ai.onnx.preview.training", ""))
	return b.String()
}

// missing lists standard operators that the table lacks.
func missing() []string {
	var out []string
	for _, n := range strings.Fields(standard) {
		if table[opKey{"", n}] == nil {
			out = append(out, n)
		}
	}
	return out
}

func TestCoverageDocument(t *testing.T) {
	want := coverage()
	if *update {
		if err := os.WriteFile("COVERAGE.md", []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("COVERAGE.md")
	if err != nil || string(got) != want {
		t.Errorf("COVERAGE.md does not list the operators of the table (%v); write it with -update", err)
	}
	for _, n := range missing() {
		if outOfScope("", n) == "" {
			t.Errorf("%s is neither supported nor out of scope", n)
		}
	}
	// Exporters put this one of ONNX Runtime's into ai.onnx.
	known := append(strings.Fields(standard), "SimplifiedLayerNormalization")
	for k := range table {
		if k.domain == "" && !slices.Contains(known, k.name) {
			t.Errorf("the table has %s, which is not of ai.onnx", k.name)
		}
	}
}
