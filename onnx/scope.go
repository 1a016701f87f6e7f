package onnx

// outOfScope says why an operator is not meant to be supported, "" for others.
func outOfScope(domain, name string) string {
	if domain == "ai.onnx.ml" {
		return "classical machine learning (ai.onnx.ml) is not tensor computation"
	}
	if domain == "ai.onnx.preview.training" || domain == "ai.onnx.training" {
		return "training operators; train with packages autodiff and optim"
	}
	return skipped[name]
}

var skipped = map[string]string{
	"ImageDecoder": "decoding of picture files; use package data",
}
