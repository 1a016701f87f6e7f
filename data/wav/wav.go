// Package wav reads and writes WAV files: samples of sound as float32.
//
//	s, err := wav.ReadFile("speech.wav")
//	mono := s.Mono()        // one channel, from -1 to 1
//
// Integers of 8, 16, 24 and 32 bits and floats of 32 and 64 bits are read, as
// plain or extensible files have them; compressed sound is an error. Files need
// not be trusted: memory grows with the data that is there, up to [MaxBytes].
package wav

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// MaxBytes is the most bytes of samples that a file may have.
const MaxBytes = 1 << 31

// ErrFormat marks data that is no WAV file, or of a kind that is not read.
var ErrFormat = errors.New("malformed or unknown")

// Sound is samples: those of all channels at one time lie side by side.
type Sound struct {
	Rate     int // samples a second, of each channel
	Channels int
	Samples  []float32 // from -1 to 1, integers as shares of the largest magnitude
}

// Frames returns the number of samples of each channel.
func (s Sound) Frames() int {
	if s.Channels < 1 {
		return 0
	}
	return len(s.Samples) / s.Channels
}

// Mono returns one channel: the mean of all.
func (s Sound) Mono() []float32 {
	if s.Channels == 1 {
		return s.Samples
	}
	out := make([]float32, s.Frames())
	for i := range out {
		var sum float64
		for _, v := range s.Samples[i*s.Channels : (i+1)*s.Channels] {
			sum += float64(v)
		}
		out[i] = float32(sum / float64(s.Channels))
	}
	return out
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("wav: %w: "+format, append([]any{ErrFormat}, args...)...)
}

// format is the chunk "fmt ".
type format struct {
	tag, channels, bits int
	rate                int
}

const (
	tagPCM        = 1
	tagFloat      = 3
	tagExtensible = 0xfffe
)

// Read reads a file.
func Read(r io.Reader) (Sound, error) {
	var head [12]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Sound{}, malformed("no header: %v", err)
	}
	if string(head[:4]) != "RIFF" || string(head[8:]) != "WAVE" {
		return Sound{}, malformed("the file begins with %q", head[:])
	}
	var f *format
	for {
		var chunk [8]byte
		if _, err := io.ReadFull(r, chunk[:]); err != nil {
			return Sound{}, malformed("there is no chunk of data")
		}
		size := int64(binary.LittleEndian.Uint32(chunk[4:]))
		switch string(chunk[:4]) {
		case "fmt ":
			var err error
			if f, err = readFormat(r, size); err != nil {
				return Sound{}, err
			}
		case "data":
			if f == nil {
				return Sound{}, malformed("data comes before its format")
			}
			return f.samples(r, size)
		default:
			if n, err := io.CopyN(io.Discard, r, size+size%2); err != nil {
				return Sound{}, malformed("the chunk %q has %d bytes, the file ends after %d", chunk[:4], size, n)
			}
		}
	}
}

func readFormat(r io.Reader, size int64) (*format, error) {
	if size < 16 || size > 1<<10 {
		return nil, malformed("a format of %d bytes", size)
	}
	b := make([]byte, size+size%2)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, malformed("the format ends early")
	}
	le := binary.LittleEndian
	f := &format{tag: int(le.Uint16(b)), channels: int(le.Uint16(b[2:])), bits: int(le.Uint16(b[14:]))}
	rate := le.Uint32(b[4:])
	if f.tag == tagExtensible && size >= 26 {
		f.tag = int(le.Uint16(b[24:]))
	}
	switch {
	case f.channels < 1 || f.channels > 1024:
		return nil, malformed("%d channels", f.channels)
	case rate < 1 || rate > 1<<24:
		return nil, malformed("%d samples a second", rate)
	case f.tag == tagPCM && (f.bits == 8 || f.bits == 16 || f.bits == 24 || f.bits == 32):
	case f.tag == tagFloat && (f.bits == 32 || f.bits == 64):
	default:
		return nil, malformed("samples of format %d with %d bits; integers and floats are read", f.tag, f.bits)
	}
	f.rate = int(rate)
	return f, nil
}

// samples reads the data. A size of 2^32-1, which programs write that do not know
// it beforehand, means all that follows.
func (f *format) samples(r io.Reader, size int64) (Sound, error) {
	whole := size != math.MaxUint32
	if size > MaxBytes && whole {
		return Sound{}, malformed("%d bytes of samples, at most %d are read", size, MaxBytes)
	}
	var b bytes.Buffer
	n, err := io.Copy(&b, io.LimitReader(r, min(size, MaxBytes)))
	if err != nil {
		return Sound{}, fmt.Errorf("wav: %w", err)
	}
	if whole && n < size {
		return Sound{}, malformed("%d bytes of samples are announced, the file has %d", size, n)
	}
	data := b.Bytes()
	width := f.bits / 8
	frames := len(data) / (width * f.channels)
	out := make([]float32, frames*f.channels)
	for i := range out {
		out[i] = f.sample(data[i*width:])
	}
	return Sound{Rate: f.rate, Channels: f.channels, Samples: out}, nil
}

func (f *format) sample(b []byte) float32 {
	le := binary.LittleEndian
	switch {
	case f.tag == tagFloat && f.bits == 32:
		return math.Float32frombits(le.Uint32(b))
	case f.tag == tagFloat:
		return float32(math.Float64frombits(le.Uint64(b)))
	case f.bits == 8:
		return (float32(b[0]) - 128) / 128
	case f.bits == 16:
		return float32(int16(le.Uint16(b))) / (1 << 15)
	case f.bits == 24:
		return float32(int32(uint32(b[0])<<8|uint32(b[1])<<16|uint32(b[2])<<24)>>8) / (1 << 23)
	}
	return float32(float64(int32(le.Uint32(b))) / (1 << 31))
}

// Write writes a file with integers of 16 bits; samples outside of -1 to 1 are
// cut off.
func Write(w io.Writer, s Sound) error {
	if s.Channels < 1 || s.Channels > 1024 || s.Rate < 1 || s.Rate > 1<<24 || len(s.Samples)%s.Channels != 0 {
		return fmt.Errorf("wav: %d samples of %d channels, %d a second", len(s.Samples), s.Channels, s.Rate)
	}
	size := int64(2 * len(s.Samples))
	if size > MaxBytes {
		return fmt.Errorf("wav: %d bytes of samples, at most %d are written", size, MaxBytes)
	}
	le := binary.LittleEndian
	b := append([]byte("RIFF"), 0, 0, 0, 0)
	le.PutUint32(b[4:], uint32(36+size))
	b = append(b, "WAVEfmt "...)
	b = le.AppendUint32(b, 16)
	b = le.AppendUint16(b, tagPCM)
	b = le.AppendUint16(b, uint16(s.Channels))
	b = le.AppendUint32(b, uint32(s.Rate))
	b = le.AppendUint32(b, uint32(s.Rate*s.Channels*2))
	b = le.AppendUint16(b, uint16(s.Channels*2))
	b = le.AppendUint16(b, 16)
	b = le.AppendUint32(append(b, "data"...), uint32(size))
	for _, v := range s.Samples {
		x := math.RoundToEven(float64(v) * (1 << 15))
		if x != x { // NaN
			x = 0
		}
		b = le.AppendUint16(b, uint16(int16(max(-1<<15, min(1<<15-1, x)))))
	}
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("wav: %w", err)
	}
	return nil
}

// ReadFile reads a WAV file.
func ReadFile(path string) (Sound, error) {
	f, err := os.Open(path)
	if err != nil {
		return Sound{}, err
	}
	defer f.Close()
	s, err := Read(bufio.NewReader(f))
	if err != nil {
		return Sound{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// WriteFile writes a WAV file.
func WriteFile(path string, s Sound) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(f)
	err = Write(b, s)
	return errors.Join(err, b.Flush(), f.Close())
}
