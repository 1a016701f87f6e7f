package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/sinter-go/sinter/data/wav"
	"github.com/sinter-go/sinter/internal/cases"
)

// vowels is a buzz of 120 Hz through the resonances of an open vowel, four
// syllables a second: enough of a voice for the detector.
func vowels(out []float32, rate int) {
	type resonance struct{ hz, width, gain float64 }
	formants := []resonance{{700, 90, 1}, {1200, 110, 0.6}, {2600, 160, 0.3}}
	phase := 0.0
	state := make([][2]float64, len(formants))
	for i := range out {
		at := float64(i) / float64(rate)
		pitch := 120 + 20*math.Sin(2*math.Pi*0.7*at)
		phase += pitch / float64(rate)
		pulse := 0.0
		if phase >= 1 {
			phase--
			pulse = 1
		}
		v := 0.0
		for k, f := range formants {
			r := math.Exp(-math.Pi * f.width / float64(rate))
			y := pulse*f.gain + 2*r*math.Cos(2*math.Pi*f.hz/float64(rate))*state[k][0] - r*r*state[k][1]
			state[k] = [2]float64{y, state[k][0]}
			v += y
		}
		out[i] += float32(0.2 * v * (0.55 - 0.45*math.Cos(2*math.Pi*4*at)))
	}
}

func TestVoice(t *testing.T) {
	model := cases.RealModel(t, 2, "silero_vad_v5")
	for _, rate := range []int{16000, 8000} {
		noise := rand.New(rand.NewPCG(1, 2))
		samples := make([]float32, 4*rate)
		for i := range samples {
			samples[i] = 0.0005 * float32(noise.NormFloat64())
		}
		vowels(samples[3*rate/2:3*rate], rate)
		file := filepath.Join(t.TempDir(), "sound.wav")
		if err := wav.WriteFile(file, wav.Sound{Rate: rate, Channels: 1, Samples: samples}); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := run(t.Context(), &out, model, file, 0.5); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d: %s", rate, out.String())
		var from, to float64
		lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
		if _, err := fmt.Sscanf(string(lines[0]), "speech from %f s", &from); err != nil {
			t.Fatalf("%d samples a second: %s", rate, &out)
		}
		var last float64
		if _, err := fmt.Sscanf(string(lines[len(lines)-1]), "speech from %f s to %f s", &last, &to); err != nil {
			t.Fatalf("%d samples a second: %s", rate, &out)
		}
		if math.Abs(from-1.5) > 0.3 || math.Abs(to-3) > 0.5 {
			t.Errorf("%d samples a second: the voice is from 1.5 s to 3 s, found\n%s", rate, &out)
		}
	}
}

func TestSilence(t *testing.T) {
	model := cases.RealModel(t, 2, "silero_vad_v5")
	file := filepath.Join(t.TempDir(), "sound.wav")
	if err := wav.WriteFile(file, wav.Sound{Rate: 16000, Channels: 1, Samples: make([]float32, 16000)}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), &out, model, file, 0.5); err != nil || out.String() != "no speech\n" {
		t.Errorf("%q, %v", &out, err)
	}
	if err := wav.WriteFile(file, wav.Sound{Rate: 44100, Channels: 1, Samples: make([]float32, 10)}); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), &out, model, file, 0.5); err == nil {
		t.Error("44100 samples a second are no error")
	}
}

func TestStretches(t *testing.T) {
	var s stretches
	for _, v := range []bool{true, true, false, true, false, false} {
		s.add(v)
	}
	if got := fmt.Sprint(s.found); got != "[[0 2] [3 4]]" {
		t.Error(got)
	}
}
