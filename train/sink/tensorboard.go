package sink

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// TensorBoard writes an event file: records of Event messages (tensorflow's
// event.proto and summary.proto), of which it uses scalars and images.
type TensorBoard struct {
	w      io.Writer
	closer io.Closer
	err    error // the first of writing; it stays
}

// NewTensorBoard makes a new event file in a directory, which is made if need be.
// Show it with "tensorboard --logdir DIR".
func NewTensorBoard(dir string) (*TensorBoard, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	now := time.Now()
	name := fmt.Sprintf("events.out.tfevents.%010d.%s.%d.%d", now.Unix(), filepath.Base(host), os.Getpid(), now.Nanosecond())
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	t := NewEventWriter(f, now)
	t.closer = f
	return t, t.err
}

// NewEventWriter writes events to w, which Close leaves open.
func NewEventWriter(w io.Writer, now time.Time) *TensorBoard {
	t := &TensorBoard{w: w}
	b := appendTime(nil, now)
	b = appendText(b, 3, "brain.Event:2")
	t.record(b)
	return t
}

// Write writes the values as scalars. Every record reaches the file before Write
// returns.
func (t *TensorBoard) Write(r Record) error {
	var summary []byte
	for _, v := range r.Values {
		var value []byte
		value = appendText(value, 1, v.Name)
		value = protowire.AppendTag(value, 2, protowire.Fixed32Type) // simple_value
		value = protowire.AppendFixed32(value, math.Float32bits(float32(v.Value)))
		summary = appendBytes(summary, 1, value)
	}
	return t.event(r, summary)
}

// Image writes a picture under a name, with the time and step of r.
func (t *TensorBoard) Image(r Record, name string, img image.Image) error {
	var encoded bytes.Buffer
	if err := png.Encode(&encoded, img); err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	const rgba = 4
	var picture []byte
	for i, v := range []int{img.Bounds().Dy(), img.Bounds().Dx(), rgba} {
		picture = protowire.AppendTag(picture, protowire.Number(i+1), protowire.VarintType)
		picture = protowire.AppendVarint(picture, uint64(v))
	}
	picture = appendBytes(picture, 4, encoded.Bytes())
	value := appendBytes(appendText(nil, 1, name), 4, picture)
	return t.event(r, appendBytes(nil, 1, value))
}

// event writes an event with a summary.
func (t *TensorBoard) event(r Record, summary []byte) error {
	b := appendTime(nil, r.Time)
	b = protowire.AppendTag(b, 2, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(r.Step))
	t.record(appendBytes(b, 5, summary))
	return t.err
}

// record frames data as TFRecord files do: length, its checksum, data, its
// checksum.
func (t *TensorBoard) record(data []byte) {
	if t.err != nil {
		return
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	b = binary.LittleEndian.AppendUint32(b, masked(b))
	b = append(b, data...)
	b = binary.LittleEndian.AppendUint32(b, masked(data))
	if _, err := t.w.Write(b); err != nil {
		t.err = fmt.Errorf("sink: %w", err)
	}
}

// Close closes the file.
func (t *TensorBoard) Close() error {
	if t.closer == nil {
		return t.err
	}
	err := t.closer.Close()
	t.closer = nil
	if t.err != nil {
		return t.err
	}
	return err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked is the checksum of TFRecord files, which hides that it is one: a checksum
// of data that holds checksums would be weak.
func masked(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

func appendTime(b []byte, t time.Time) []byte {
	b = protowire.AppendTag(b, 1, protowire.Fixed64Type)
	return protowire.AppendFixed64(b, math.Float64bits(float64(t.UnixMicro())/1e6))
}

func appendText(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func appendBytes(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}
