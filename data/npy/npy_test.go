package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/ir"
)

// Files in testdata were written by numpy 1.24.

// values decodes elements as float64.
func values(t *testing.T, a Array) []float64 {
	t.Helper()
	e := binary.NativeEndian
	var out []float64
	size := a.DType.Size()
	for b := a.Bytes; len(b) >= size; b = b[size:] {
		var v float64
		switch a.DType {
		case ir.Bool, ir.U8:
			v = float64(b[0])
		case ir.I8:
			v = float64(int8(b[0]))
		case ir.I16:
			v = float64(int16(e.Uint16(b)))
		case ir.U16:
			v = float64(e.Uint16(b))
		case ir.I32:
			v = float64(int32(e.Uint32(b)))
		case ir.U32:
			v = float64(e.Uint32(b))
		case ir.I64:
			v = float64(int64(e.Uint64(b)))
		case ir.U64:
			v = float64(e.Uint64(b))
		case ir.F16:
			v = map[uint16]float64{0xc000: -2, 0xbc00: -1, 0: 0, 0x3c00: 1, 0x4000: 2, 0x4200: 3}[e.Uint16(b)]
		case ir.F32:
			v = float64(math.Float32frombits(e.Uint32(b)))
		case ir.F64:
			v = math.Float64frombits(e.Uint64(b))
		}
		out = append(out, v)
	}
	return out
}

func TestNumpysArchives(t *testing.T) {
	for _, name := range []string{"all", "compressed"} {
		arrays, err := ReadZipFile(filepath.Join("testdata", name+".npz"))
		if err != nil || len(arrays) != 12 {
			t.Fatalf("%d arrays, %v", len(arrays), err)
		}
		for kind, d := range kinds {
			want := []float64{-2, -1, 0, 1, 2, 3}
			switch {
			case d == ir.Bool:
				want = []float64{1, 1, 0, 1, 1, 1}
			case d.Kind() == ir.KindUint:
				want[0], want[1] = math.Exp2(float64(8*d.Size()))-2, math.Exp2(float64(8*d.Size()))-1
			}
			a := arrays[kind]
			if a.DType != d || !slices.Equal(a.Shape, []int{2, 3}) || !slices.Equal(values(t, a), want) {
				t.Errorf("%s: %s%v %v, want %v", kind, a.DType, a.Shape, values(t, a), want)
			}
		}
	}
}

func TestNumpysFiles(t *testing.T) {
	a, err := ReadFile("testdata/fortran_big.npy")
	if err != nil || a.DType != ir.F32 || !slices.Equal(a.Shape, []int{2, 3, 4}) {
		t.Fatal(a, err)
	}
	for i, v := range values(t, a) {
		if v != float64(i) {
			t.Fatalf("fortran order: %v", values(t, a))
		}
	}
	if a, err := ReadFile("testdata/scalar.npy"); err != nil || len(a.Shape) != 0 || values(t, a)[0] != 1.5 {
		t.Error(a, err)
	}
	if a, err := ReadFile("testdata/empty.npy"); err != nil || !slices.Equal(a.Shape, []int{3, 0}) || len(a.Bytes) != 0 {
		t.Error(a, err)
	}
	for _, v := range []string{"v2", "v3"} {
		if a, err := ReadFile("testdata/" + v + ".npy"); err != nil || !slices.Equal(values(t, a), []float64{0, 1, 2}) {
			t.Error(v, a, err)
		}
	}
	for name, want := range map[string]string{"complex": `"<c8"`, "objects": `"|O"`} {
		if _, err := ReadFile("testdata/" + name + ".npy"); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWritesNumpysBytes compares with the files, byte for byte.
func TestWritesNumpysBytes(t *testing.T) {
	for _, name := range []string{"scalar", "empty"} {
		want, err := os.ReadFile("testdata/" + name + ".npy")
		if err != nil {
			t.Fatal(err)
		}
		a, err := Read(bytes.NewReader(want))
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := Write(&got, a); err != nil || !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s: %v\n%q\n%q", name, err, got.Bytes(), want)
		}
	}
	arrays, err := ReadZipFile("testdata/all.npz")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("testdata/all.npz")
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range arrays {
		var got bytes.Buffer
		if err := Write(&got, a); err != nil || !bytes.Contains(raw, got.Bytes()) { // entries are not compressed
			t.Errorf("%s: %v, other bytes than numpy's", name, err)
		}
	}
}

func TestZipFile(t *testing.T) {
	arrays, err := ReadZipFile("testdata/all.npz")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.npz")
	if err := WriteZipFile(path, arrays); err != nil {
		t.Fatal(err)
	}
	again, err := ReadZipFile(path)
	if err != nil || fmt.Sprint(again) != fmt.Sprint(arrays) {
		t.Errorf("%v, %v", again, err)
	}
	one := filepath.Join(t.TempDir(), "a.npy")
	if err := WriteFile(one, arrays["f4"]); err != nil {
		t.Fatal(err)
	}
	if a, err := ReadFile(one); err != nil || !bytes.Equal(a.Bytes, arrays["f4"].Bytes) {
		t.Error(a, err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if at := bytes.Index(raw, arrays["f8"].Bytes); at < 0 {
		t.Fatal("no data")
	} else {
		raw[at]++
	}
	if _, err := ReadZip(bytes.NewReader(raw), int64(len(raw))); !errors.Is(err, ErrFormat) {
		t.Errorf("a wrong checksum: %v", err)
	}
}

func file(header, data string) string {
	return magic + "\x01\x00" + string(binary.LittleEndian.AppendUint16(nil, uint16(len(header)))) + header + data
}

func TestHeaders(t *testing.T) {
	for _, h := range []string{
		"{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }",
		`{"shape":(2,),"fortran_order":False,"descr":"=i2"}`,
		"{ 'fortran_order' : True , 'descr' : '<i2' , 'shape' : ( 2L , ) }  \n",
		"{'descr': '<i2', 'fortran_order': False, 'shape': (1, 2)}",
	} {
		if a, err := Read(strings.NewReader(file(h, "\x01\x00\x02\x00"))); err != nil || a.DType != ir.I16 {
			t.Errorf("%s: %v", h, err)
		}
	}
	for _, h := range []string{
		"", "{", "{}", "[]", "{'descr': '<i2'}", "{'descr': '<i2', 'descr': '<i2', 'fortran_order': False, 'shape': (2,)}",
		"{'descr': '<i2', 'fortran_order': 0, 'shape': (2,)}", "{'descr': '<i2', 'fortran_order': False, 'shape': (2)}",
		"{'descr': '<i2', 'fortran_order': False, 'shape': (-2,)}", "{'descr': '<i2', 'fortran_order': False, 'shape': (99999999999999999999,)}",
		"{'descr': '<i2', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4294967296)}",
		"{'descr': '<i2', 'fortran_order': False, 'shape': (3,)}", "{'descr': 'i2', 'fortran_order': False, 'shape': (2,)}",
		"{'descr': '|i2', 'fortran_order': False, 'shape': (2,)}", "{'descr': [('a', '<i2')], 'fortran_order': False, 'shape': (2,)}",
		"{'descr': '<i2', 'fortran_order': False, 'shape': (2,), 'x': 'y'}", "{'descr': '<i2', 'fortran_order': False, 'shape': (2,)} x",
		"{'descr': '', 'fortran_order': False, 'shape': (2,)}", "{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}",
		"{'descr': '<i2', 'fortran_order': False, 'shape': (" + strings.Repeat("1,", 65) + ")}",
	} {
		if a, err := Read(strings.NewReader(file(h, "\x02\x00\x02\x00"))); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v, %v", h, a, err)
		}
	}
	for _, b := range []string{"", magic, magic + "\x04\x00\x00\x00", magic + "\x01\x00\x01", magic + "\x02\x00\xff\xff\xff\xff", magic + "\x01\x00\x05\x00{"} {
		if _, err := Read(strings.NewReader(b)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v", b, err)
		}
	}
	// A claim of gigabytes costs little when nothing follows.
	claim := file("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000,)}", "1234")
	if n := testing.AllocsPerRun(1, func() { Read(strings.NewReader(claim)) }); n > 100 {
		t.Errorf("%v allocations", n)
	}
}

func TestWriteRefuses(t *testing.T) {
	for _, a := range []Array{{}, {DType: ir.BF16, Shape: []int{1}, Bytes: make([]byte, 2)}, {DType: ir.F32, Shape: []int{2}, Bytes: make([]byte, 4)},
		{DType: ir.F32, Shape: []int{-1}}, {DType: ir.F32, Shape: make([]int, 65)}, {DType: ir.F32, Shape: []int{1 << 40, 1 << 40}}} {
		if err := Write(new(bytes.Buffer), a); err == nil {
			t.Errorf("%+v was written", a)
		}
	}
}

func FuzzRead(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.npy")
	for _, name := range files {
		if b, err := os.ReadFile(name); err == nil {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := read(bytes.NewReader(b), 1<<20)
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := Write(&out, a); err != nil {
			t.Fatal(err)
		}
		again, err := Read(&out)
		if err != nil || again.DType != a.DType || !slices.Equal(again.Shape, a.Shape) || !bytes.Equal(again.Bytes, a.Bytes) {
			t.Errorf("%+v, then %+v, %v", a, again, err)
		}
	})
}

func FuzzZip(f *testing.F) {
	for _, name := range []string{"all", "compressed"} {
		if b, err := os.ReadFile("testdata/" + name + ".npz"); err == nil {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) { ReadZip(bytes.NewReader(b), int64(len(b))) })
}
