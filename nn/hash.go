package nn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/sinter-go/sinter/safetensors"
)

// Hash waits for the parameters of a model and returns the SHA-256 of the file
// that [Save] would write without metadata, in hexadecimal: equal hashes, equal
// bits.
func Hash(ctx context.Context, model any) (string, error) {
	tensors, err := hostTensors(ctx, Params(model))
	if err != nil {
		return "", err
	}
	h := sha256.New()
	if err := safetensors.Write(h, tensors, nil); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
