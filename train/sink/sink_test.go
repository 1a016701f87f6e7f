package sink_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sinter-go/sinter/train/sink"
	"google.golang.org/protobuf/encoding/protowire"
)

var when = time.Date(2026, 5, 4, 3, 2, 1, 500e6, time.UTC)

func record(step int, loss float64) sink.Record {
	return sink.Record{Time: when, Epoch: step / 10, Step: step, Values: []sink.Value{{"loss/train", loss}, {"accuracy/test", 0.5}}}
}

func TestSlog(t *testing.T) {
	var b bytes.Buffer
	s := sink.Slog(slog.New(slog.NewTextHandler(&b, nil)), slog.LevelInfo)
	if err := errors.Join(s.Write(record(20, 0.25)), s.Close()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "level=INFO msg=train epoch=2 step=20 loss/train=0.25 accuracy/test=0.5") {
		t.Error(b.String())
	}
}

func TestCSV(t *testing.T) {
	var b bytes.Buffer
	s := sink.CSV(&b)
	r := record(20, math.Inf(1))
	r.Values = r.Values[1:]
	if err := errors.Join(s.Write(record(10, 0.1)), s.Write(r), s.Close()); err != nil {
		t.Fatal(err)
	}
	want := "time,epoch,step,loss/train,accuracy/test\n2026-05-04T03:02:01.5Z,1,10,0.1,0.5\n2026-05-04T03:02:01.5Z,2,20,,0.5\n"
	if b.String() != want {
		t.Errorf("%s, want %s", b.String(), want)
	}
	if err := s.Write(sink.Record{Values: []sink.Value{{"new", 1}}}); err == nil {
		t.Error("a value without a column")
	}
	if err := sink.CSV(&b).Write(sink.Record{Values: []sink.Value{{"a", 1}, {"a", 1}}}); err == nil {
		t.Error("two values of one name")
	}
	if err := sink.CSV(full{}).Write(record(1, 1)); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// records parses a file by the description of the format, checksums too.
func records(t *testing.T, b []byte) [][]byte {
	t.Helper()
	sum := func(b []byte) uint32 {
		c := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
		return (c>>15 | c<<17) + 0xa282ead8
	}
	var out [][]byte
	for len(b) > 0 {
		n := binary.LittleEndian.Uint64(b)
		if binary.LittleEndian.Uint32(b[8:]) != sum(b[:8]) || binary.LittleEndian.Uint32(b[12+n:]) != sum(b[12:12+n]) {
			t.Fatal("checksum")
		}
		out = append(out, b[12:12+n])
		b = b[16+n:]
	}
	return out
}

// fields parses a message; nested ones are left as they are.
func fields(t *testing.T, b []byte) map[protowire.Number][]any {
	t.Helper()
	out := map[protowire.Number][]any{}
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		b = b[n:]
		var v any
		switch typ {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			var u uint32
			u, n = protowire.ConsumeFixed32(b)
			v = math.Float32frombits(u)
		case protowire.Fixed64Type:
			var u uint64
			u, n = protowire.ConsumeFixed64(b)
			v = math.Float64frombits(u)
		case protowire.BytesType:
			v, n = protowire.ConsumeBytes(b)
		}
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		out[num], b = append(out[num], v), b[n:]
	}
	return out
}

func TestTensorBoard(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	s, err := sink.NewTensorBoard(dir)
	if err != nil {
		t.Fatal(err)
	}
	img := image.NewNRGBA(image.Rect(0, 0, 3, 2))
	if err := errors.Join(s.Write(record(1, 0.25)), s.Write(record(300, 2)), s.Image(record(300, 0), "digits", img), s.Close()); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "events.out.tfevents.*"))
	if len(files) != 1 {
		t.Fatal(files)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	// Every event file begins so: 24 bytes, their masked checksum, the time's tag.
	if want := "1800000000000000a37f4b2209"; fmt.Sprintf("%x", b[:13]) != want {
		t.Errorf("the file begins with %x, want %s", b[:13], want)
	}
	events := records(t, b)
	if len(events) != 4 {
		t.Fatalf("%d events", len(events))
	}
	if v := fields(t, events[0]); string(v[3][0].([]byte)) != "brain.Event:2" || math.Abs(v[1][0].(float64)-float64(time.Now().Unix())) > 60 {
		t.Errorf("%v", v)
	}
	e := fields(t, events[2])
	if e[1][0] != float64(when.Unix())+0.5 || e[2][0] != uint64(300) {
		t.Errorf("time %v, step %v", e[1], e[2])
	}
	values := fields(t, e[5][0].([]byte))[1]
	if len(values) != 2 {
		t.Fatalf("%d values", len(values))
	}
	if v := fields(t, values[0].([]byte)); string(v[1][0].([]byte)) != "loss/train" || v[2][0] != float32(2) {
		t.Errorf("%v", v)
	}
	value := fields(t, fields(t, fields(t, events[3])[5][0].([]byte))[1][0].([]byte))
	picture := fields(t, value[4][0].([]byte))
	if string(value[1][0].([]byte)) != "digits" || picture[1][0] != uint64(2) || picture[2][0] != uint64(3) || picture[3][0] != uint64(4) {
		t.Errorf("%v", picture)
	}
	if c, err := png.DecodeConfig(bytes.NewReader(picture[4][0].([]byte))); err != nil || c.Width != 3 || c.Height != 2 {
		t.Error(c, err)
	}
}

func TestTensorBoardErrors(t *testing.T) {
	s := sink.NewEventWriter(full{}, when)
	if err := s.Write(record(1, 1)); !errors.Is(err, errFull) || !errors.Is(s.Close(), errFull) {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := sink.NewTensorBoard(file); err == nil {
		t.Error("a file as a directory")
	}
}
