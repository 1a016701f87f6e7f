package cublaslt

// functions holds the entry points by the names below.
type functions struct {
	getVersion                                                  uintptr
	create, destroy                                             uintptr
	matmulDescCreate, matmulDescSetAttribute, matmulDescDestroy uintptr
	layoutCreate, layoutSetAttribute, layoutDestroy             uintptr
	preferenceCreate, preferenceSetAttribute, preferenceDestroy uintptr
	algoGetHeuristic, matmul                                    uintptr
}

// find sets every entry point by asking the library for its address.
func (f *functions) find(library string, lookup func(name string) (uintptr, error)) error {
	for _, s := range []struct {
		name string
		at   *uintptr
	}{
		{"cublasLtGetVersion", &f.getVersion},
		{"cublasLtCreate", &f.create},
		{"cublasLtDestroy", &f.destroy},
		{"cublasLtMatmulDescCreate", &f.matmulDescCreate},
		{"cublasLtMatmulDescSetAttribute", &f.matmulDescSetAttribute},
		{"cublasLtMatmulDescDestroy", &f.matmulDescDestroy},
		{"cublasLtMatrixLayoutCreate", &f.layoutCreate},
		{"cublasLtMatrixLayoutSetAttribute", &f.layoutSetAttribute},
		{"cublasLtMatrixLayoutDestroy", &f.layoutDestroy},
		{"cublasLtMatmulPreferenceCreate", &f.preferenceCreate},
		{"cublasLtMatmulPreferenceSetAttribute", &f.preferenceSetAttribute},
		{"cublasLtMatmulPreferenceDestroy", &f.preferenceDestroy},
		{"cublasLtMatmulAlgoGetHeuristic", &f.algoGetHeuristic},
		{"cublasLtMatmul", &f.matmul},
	} {
		p, err := lookup(s.name)
		if err != nil {
			return &Unavailable{Reason: library + " lacks " + s.name + ": " + err.Error()}
		}
		*s.at = p
	}
	return nil
}

// The library's own numbers in use.
const (
	success      = 0
	notSupported = 15

	typeF32  = 0  // CUDA_R_32F
	typeF16  = 2  // CUDA_R_16F
	typeBF16 = 14 // CUDA_R_16BF

	computeF32 = 68 // CUBLAS_COMPUTE_32F: sums of f32, whatever is multiplied

	descTransA      = 3
	descTransB      = 4
	descEpilogue    = 7
	descBiasPointer = 8

	epilogueDefault = 1
	epilogueRelu    = 2
	epilogueBias    = 4

	layoutBatchCount = 5
	layoutBatchStep  = 6 // CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, in elements

	preferWorkspace  = 1 // CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
	preferReductions = 3 // CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK
	preferAlignA     = 5 // CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES; B, C and D follow

	// reduceInF32 keeps parts of a sum f32 until they are added, and has them added in an
	// order that does not depend on which block is done first.
	reduceInF32 = 2 // CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
)

var statusNames = map[int]string{
	1:            "CUBLAS_STATUS_NOT_INITIALIZED",
	3:            "CUBLAS_STATUS_ALLOC_FAILED",
	7:            "CUBLAS_STATUS_INVALID_VALUE",
	8:            "CUBLAS_STATUS_ARCH_MISMATCH",
	11:           "CUBLAS_STATUS_MAPPING_ERROR",
	13:           "CUBLAS_STATUS_EXECUTION_FAILED",
	14:           "CUBLAS_STATUS_INTERNAL_ERROR",
	notSupported: "CUBLAS_STATUS_NOT_SUPPORTED",
	16:           "CUBLAS_STATUS_LICENSE_ERROR",
}
