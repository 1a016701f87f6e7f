// Package peers runs the systems that Sinter is measured against, each in a
// process of its own that stays up: it reads requests as lines of JSON and answers
// how long a call took, so that measurements can take turns and the peer's
// allocator is warm. What is not installed is skipped, with the reason; Sinter
// depends on none of them. bench/README.md describes the protocol.
package peers

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed c/*.c c/*.h python/*.py ort/*.mjs
var files embed.FS

// Extract writes the programs of the peers to a folder, in which they lie as they
// do here: "ort/model.mjs", which measures a model with ONNX Runtime, and others.
func Extract(dir string) error {
	return fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		to := filepath.Join(dir, filepath.FromSlash(path))
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(to, 0o700)
		}
		b, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, b, 0o600)
	})
}

// Request asks for measurements of one workload.
type Request struct {
	Workload string `json:"workload"`
	Sizes    []int  `json:"sizes"` // what they mean is the workload's to say
	DType    string `json:"dtype"`
	Threads  int    `json:"threads"`
	Warmup   int    `json:"warmup"` // calls that are not measured
	Rounds   int    `json:"rounds"`
	MS       int    `json:"ms"`              // a round is as many calls as take so many milliseconds, at least one
	Clock    string `json:"clock,omitempty"` // "cpu": the time that processors spend on the peer

	// Model is the workload as an ONNX file, for peers that run such.
	Model  string  `json:"model,omitempty"`
	Inputs []Input `json:"inputs,omitempty"`
}

// Input is an input of a model.
type Input struct {
	Name  string `json:"name"`
	Type  string `json:"type"` // as ONNX calls it: "float32"
	Dims  []int  `json:"dims"`
	Below int    `json:"below,omitempty"` // of indices: they are in [0, Below)
}

// Answer is what a peer says: first who it is, then the mean time of a call in
// each round. Skip says why there is no such thing.
type Answer struct {
	Peer    string    `json:"peer,omitempty"`
	Version string    `json:"version,omitempty"`
	NS      []float64 `json:"ns,omitempty"`
	Skip    string    `json:"skip,omitempty"`
}

// Skipped says why a peer, or a workload of it, is not measured.
type Skipped struct{ Peer, Why string }

func (s *Skipped) Error() string { return s.Peer + ": " + s.Why }
