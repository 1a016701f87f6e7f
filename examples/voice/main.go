// Command voice finds speech in a WAV file with Silero's voice activity detector,
// a small recurrent network: its state goes from one chunk to the next, so that
// sound of any length is heard as it comes.
//
//	go run ./examples/voice silero_vad_v5.onnx speech.wav
//
// The model is not part of this repository. Silero publishes it (MIT licence), and
// the npm package @ricky0123/vad-web has it as dist/silero_vad_v5.onnx.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/data/wav"
	"github.com/sinter-go/sinter/onnx"
)

func main() {
	threshold := flag.Float64("threshold", 0.5, "probability from which a chunk is speech")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: voice [flags] MODEL.onnx SOUND.wav\n\nMODEL.onnx is silero_vad_v5.onnx; the npm package @ricky0123/vad-web has it in dist.\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 2 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(context.Background(), os.Stdout, flag.Arg(0), flag.Arg(1), *threshold); err != nil {
		fmt.Fprintln(os.Stderr, "voice:", err)
		os.Exit(1)
	}
}

// run prints the stretches of speech in a file.
func run(ctx context.Context, out io.Writer, model, file string, threshold float64) error {
	sound, err := wav.ReadFile(file)
	if err != nil {
		return err
	}
	d, err := newDetector(model, sound.Rate)
	if err != nil {
		return err
	}
	defer d.close()
	samples := sound.Mono()
	var s stretches
	for len(samples) > 0 {
		chunk := make([]float32, d.chunk) // the last one ends in silence
		samples = samples[copy(chunk, samples):]
		p, err := d.hear(ctx, chunk)
		if err != nil {
			return err
		}
		s.add(float64(p) >= threshold)
	}
	s.add(false)
	second := float64(d.chunk) / float64(sound.Rate)
	for _, v := range s.found {
		fmt.Fprintf(out, "speech from %.2f s to %.2f s\n", float64(v[0])*second, float64(v[1])*second)
	}
	if len(s.found) == 0 {
		fmt.Fprintln(out, "no speech")
	}
	return nil
}

// stretches are runs of chunks with speech: from one, to another that has none.
type stretches struct {
	n, from int
	open    bool
	found   [][2]int
}

func (s *stretches) add(speech bool) {
	switch {
	case speech && !s.open:
		s.from = s.n
	case !speech && s.open:
		s.found = append(s.found, [2]int{s.from, s.n})
	}
	s.open = speech
	s.n++
}

// detector hears sound chunk by chunk.
type detector struct {
	prog    *onnx.Program
	chunk   int       // samples
	context []float32 // the end of the chunk before
	rate    *sinter.Tensor
	state   *sinter.Tensor // stays on the device
}

// newDetector loads the model, which knows sound of 8000 and 16000 samples a second.
func newDetector(model string, rate int) (*detector, error) {
	if rate != 8000 && rate != 16000 {
		return nil, fmt.Errorf("the sound has %d samples a second; the model takes 8000 or 16000", rate)
	}
	m, err := onnx.Load(model)
	if err != nil {
		return nil, err
	}
	prog, err := m.Compile()
	if err != nil {
		return nil, err
	}
	d := &detector{prog: prog, chunk: rate * 32 / 1000, context: make([]float32, rate*4/1000)}
	d.rate = sinter.Scalar(int64(rate))
	d.state = sinter.Zeros(sinter.F32, 2, 1, 128)
	return d, errors.Join(d.rate.Err(), d.state.Err())
}

// hear returns the probability that a chunk is speech, given all before it.
func (d *detector) hear(ctx context.Context, chunk []float32) (float32, error) {
	s := sinter.NewScope("chunk", sinter.NoGrad())
	defer s.End()
	heard := append(d.context, chunk...)
	x := s.Own(sinter.FromSlice(heard, 1, len(heard)))
	out, err := d.prog.Run(ctx, map[string]*sinter.Tensor{"input": x, "state": d.state, "sr": d.rate})
	if err != nil {
		return 0, err
	}
	old := d.state
	d.state = s.Keep(out["stateN"])
	old.Release()
	d.context = heard[len(heard)-len(d.context):]
	return sinter.Item[float32](ctx, out["output"])
}

func (d *detector) close() {
	d.state.Release()
	d.rate.Release()
	d.prog.Release()
}
