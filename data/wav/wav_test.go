package wav

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"
)

// file makes a WAV file by the definition of the format.
func file(tag, channels, bits int, extra []byte, data []byte) []byte {
	le := binary.LittleEndian
	f := le.AppendUint16(nil, uint16(tag))
	f = le.AppendUint16(f, uint16(channels))
	f = le.AppendUint32(f, 8000)
	f = le.AppendUint32(f, uint32(8000*channels*bits/8))
	f = le.AppendUint16(f, uint16(channels*bits/8))
	f = le.AppendUint16(f, uint16(bits))
	f = append(f, extra...)
	b := []byte("RIFF\x00\x00\x00\x00WAVELIST\x03\x00\x00\x00abc\x00") // an odd chunk is padded
	b = append(b, "fmt "...)
	b = le.AppendUint32(b, uint32(len(f)))
	b = append(b, f...)
	b = append(b, "data"...)
	b = le.AppendUint32(b, uint32(len(data)))
	return append(b, data...)
}

func TestFormats(t *testing.T) {
	le := binary.LittleEndian
	float := func(v float32) []byte { return le.AppendUint32(nil, math.Float32bits(v)) }
	extensible := slices.Concat([]byte{22, 0, 24, 0, 4, 0, 0, 0}, []byte{1, 0}, make([]byte, 14))
	for name, c := range map[string]struct {
		file []byte
		want []float32
	}{
		"u8":         {file(1, 1, 8, nil, []byte{0, 128, 192, 255}), []float32{-1, 0, 0.5, 127. / 128}},
		"i16":        {file(1, 1, 16, nil, []byte{0, 0x80, 0, 0x40, 1, 0}), []float32{-1, 0.5, 1. / 32768}},
		"i24":        {file(1, 1, 24, nil, []byte{0, 0, 0x80, 0, 0, 0x40, 1, 0, 0}), []float32{-1, 0.5, 1. / (1 << 23)}},
		"i32":        {file(1, 1, 32, nil, []byte{0, 0, 0, 0x80, 0, 0, 0, 0x40}), []float32{-1, 0.5}},
		"f32":        {file(3, 1, 32, nil, slices.Concat(float(0.25), float(-1.5))), []float32{0.25, -1.5}},
		"f64":        {file(3, 1, 64, nil, le.AppendUint64(nil, math.Float64bits(0.125))), []float32{0.125}},
		"extensible": {file(0xfffe, 1, 24, extensible, []byte{0, 0, 0xc0}), []float32{-0.5}},
	} {
		s, err := Read(bytes.NewReader(c.file))
		if err != nil || s.Rate != 8000 || s.Channels != 1 || !slices.Equal(s.Samples, c.want) {
			t.Errorf("%s: %+v, %v, want %v", name, s, err, c.want)
		}
	}
}

func TestStereoAndBack(t *testing.T) {
	in := Sound{Rate: 16000, Channels: 2, Samples: []float32{0.5, -0.25, 2, 0}}
	path := filepath.Join(t.TempDir(), "a.wav")
	if err := WriteFile(path, in); err != nil {
		t.Fatal(err)
	}
	s, err := ReadFile(path)
	want := []float32{0.5, -0.25, 32767. / 32768, 0}
	if err != nil || s.Rate != 16000 || s.Channels != 2 || !slices.Equal(s.Samples, want) {
		t.Fatal(s, err)
	}
	if m := s.Mono(); !slices.Equal(m, []float32{0.125, 32767. / 65536}) {
		t.Errorf("mono %v", m)
	}
	if err := Write(&bytes.Buffer{}, Sound{Rate: 1, Channels: 2, Samples: make([]float32, 3)}); err == nil {
		t.Error("half a frame was written")
	}
}

func TestHostile(t *testing.T) {
	good := file(1, 1, 16, nil, []byte{0, 0x80, 0, 0x40})
	for n := range good {
		if _, err := Read(bytes.NewReader(good[:n])); !errors.Is(err, ErrFormat) {
			t.Errorf("%d of %d bytes: %v", n, len(good), err)
		}
	}
	for name, b := range map[string][]byte{
		"compressed": file(2, 1, 4, nil, nil), "no channels": file(1, 0, 16, nil, nil), "12 bits": file(1, 1, 12, nil, nil),
		"no sound": []byte("RIFFxxxxAVI LIST"),
	} {
		if _, err := Read(bytes.NewReader(b)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(file(1, 2, 16, nil, []byte{0, 0x80, 0, 0x40}))
	f.Add(file(3, 1, 32, nil, make([]byte, 8)))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Read(bytes.NewReader(b))
		if err == nil && (s.Channels < 1 || len(s.Samples) > len(b) || s.Frames()*s.Channels != len(s.Samples)) {
			t.Errorf("%d samples of %d bytes", len(s.Samples), len(b))
		}
	})
}
