package safetensors

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/ir"
)

// file builds a file by hand from the definition of the format.
func file(header, data string) []byte {
	n := len(header)
	b := []byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24), 0, 0, 0, 0}
	return append(append(b, header...), data...)
}

func read(t *testing.T, b []byte) *File {
	t.Helper()
	f, err := Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The bytes of 0, 1, 2, 3, 4, 5 as float32.
const sixFloats = "\x00\x00\x00\x00" + "\x00\x00\x80\x3f" + "\x00\x00\x00\x40" +
	"\x00\x00\x40\x40" + "\x00\x00\x80\x40" + "\x00\x00\xa0\x40"

var golden = []struct {
	name     string
	tensors  []Tensor
	metadata map[string]string
	want     string
}{
	{
		name: "empty",
		want: "\x08\x00\x00\x00\x00\x00\x00\x00" + `{}      `,
	},
	{
		name:     "metadata only",
		metadata: map[string]string{"framework": "pt"},
		want:     "\x28\x00\x00\x00\x00\x00\x00\x00" + `{"__metadata__":{"framework":"pt"}}     `,
	},
	{
		name:    "header of a multiple of 8 bytes",
		tensors: []Tensor{{"attn.0", ir.F32, []int{1, 2, 3}, []byte(sixFloats)}},
		want: "\x40\x00\x00\x00\x00\x00\x00\x00" +
			`{"attn.0":{"dtype":"F32","shape":[1,2,3],"data_offsets":[0,24]}}` + sixFloats,
	},
	{
		name:    "padded header",
		tensors: []Tensor{{"attn0", ir.F32, []int{1, 1, 2, 3}, []byte(sixFloats)}},
		want: "\x48\x00\x00\x00\x00\x00\x00\x00" +
			`{"attn0":{"dtype":"F32","shape":[1,1,2,3],"data_offsets":[0,24]}}       ` + sixFloats,
	},
	{
		name: "order, scalar, zero size, escapes",
		tensors: []Tensor{
			{"m", ir.Bool, []int{3}, []byte{0, 1, 1}},
			{"b", ir.U8, nil, []byte{7}},
			{"a\"\\\n\x01é<", ir.F16, []int{1}, []byte{0, 0x3c}},
			{"z", ir.F64, []int{2, 0}, nil},
			{"i", ir.I64, []int{}, []byte{1, 2, 3, 4, 5, 6, 7, 8}},
			{"a", ir.U8, []int{1, 1}, []byte{9}},
		},
		metadata: map[string]string{"y": "\t", "x": ""},
		want: "\x78\x01\x00\x00\x00\x00\x00\x00" +
			`{"__metadata__":{"x":"","y":"\t"},` +
			`"i":{"dtype":"I64","shape":[],"data_offsets":[0,8]},` +
			`"z":{"dtype":"F64","shape":[2,0],"data_offsets":[8,8]},` +
			`"a\"\\\n\u0001é<":{"dtype":"F16","shape":[1],"data_offsets":[8,10]},` +
			`"a":{"dtype":"U8","shape":[1,1],"data_offsets":[10,11]},` +
			`"b":{"dtype":"U8","shape":[],"data_offsets":[11,12]},` +
			`"m":{"dtype":"BOOL","shape":[3],"data_offsets":[12,15]}} ` +
			"\x01\x02\x03\x04\x05\x06\x07\x08" + "\x00\x3c" + "\x09" + "\x07" + "\x00\x01\x01",
	},
}

func TestGolden(t *testing.T) {
	for _, g := range golden {
		t.Run(g.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := Write(&b, g.tensors, g.metadata); err != nil {
				t.Fatal(err)
			}
			if b.String() != g.want {
				t.Fatalf("wrote\n%q, want\n%q", b.String(), g.want)
			}
			slices.Reverse(g.tensors)
			b.Reset()
			if err := Write(&b, g.tensors, g.metadata); err != nil || b.String() != g.want {
				t.Fatalf("the order of the tensors changed the file (error %v)", err)
			}
			f := read(t, []byte(g.want))
			if len(f.Names()) != len(g.tensors) || !slices.IsSorted(f.Names()) {
				t.Errorf("names %q", f.Names())
			}
			if len(f.Metadata()) != len(g.metadata) {
				t.Errorf("metadata %q, want %q", f.Metadata(), g.metadata)
			}
			for k, v := range g.metadata {
				if f.Metadata()[k] != v {
					t.Errorf("metadata %q, want %q", f.Metadata(), g.metadata)
				}
			}
			for _, want := range g.tensors {
				got, err := f.Tensor(want.Name)
				if err != nil {
					t.Fatal(err)
				}
				expectEqual(t, got, want)
			}
		})
	}
}

func expectEqual(t *testing.T, got, want Tensor) {
	t.Helper()
	if got.Name != want.Name || got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) || !bytes.Equal(got.Data, want.Data) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// allTypes has one tensor of each element type, with every byte of data
// different from its neighbours.
func allTypes() []Tensor {
	var out []Tensor
	for i, d := range ir.DTypes() {
		shape := [][]int{{2, 3}, {}, {5}, {1, 0, 4}, {1, 1, 1, 7}}[i%5]
		n := d.Size()
		for _, s := range shape {
			n *= s
		}
		data := make([]byte, n)
		for j := range data {
			data[j] = byte(17*i + 31*j)
			if d == ir.Bool {
				data[j] = byte(j % 2)
			}
		}
		out = append(out, Tensor{"layer." + d.String(), d, shape, data})
	}
	return out
}

func TestRoundTripOfAllTypes(t *testing.T) {
	tensors := allTypes()
	var b bytes.Buffer
	if err := Write(&b, tensors, nil); err != nil {
		t.Fatal(err)
	}
	f := read(t, b.Bytes())
	if f.Metadata() != nil {
		t.Errorf("metadata %v, want nil", f.Metadata())
	}
	for _, want := range tensors {
		got, err := f.Tensor(want.Name)
		if err != nil {
			t.Fatal(err)
		}
		expectEqual(t, got, want)
		info, err := f.Info(want.Name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Format != strings.ToUpper(want.DType.String()) || info.DType != want.DType || info.Bytes != int64(len(want.Data)) {
			t.Errorf("info %+v of %+v", info, want)
		}
		e, _ := f.header.find(want.Name)
		if (f.start+e.begin)%int64(want.DType.Size()) != 0 {
			t.Errorf("%s is not aligned", want.Name)
		}
	}
}

func TestResultsAreCopies(t *testing.T) {
	f := read(t, []byte(golden[4].want))
	f.Names()[0] = "changed"
	f.Metadata()["x"] = "changed"
	a, _ := f.Tensor("a")
	a.Shape[0] = 99
	info, _ := f.Info("a")
	info.Shape[0] = 98
	again, _ := f.Tensor("a")
	if f.Names()[0] == "changed" || f.Metadata()["x"] != "" || again.Shape[0] != 1 {
		t.Error("a caller changed the file")
	}
}

func TestUnsupportedTypesAreNamed(t *testing.T) {
	b := file(`{"q":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]},`+
		`"r":{"dtype":"F8_E5M2","shape":[1],"data_offsets":[4,5]},`+
		`"s":{"dtype":"F4","shape":[2],"data_offsets":[5,6]},`+
		`"ok":{"dtype":"U8","shape":[1],"data_offsets":[6,7]}}`, "\x01\x02\x03\x04\x05\x06\x07")
	f := read(t, b)
	for name, dtype := range map[string]string{"q": "F8_E4M3", "r": "F8_E5M2", "s": "F4"} {
		_, err := f.Tensor(name)
		if !errors.Is(err, ErrUnsupportedDType) || !strings.Contains(err.Error(), dtype) || !strings.Contains(err.Error(), `"`+name+`"`) {
			t.Errorf("%s: error %v", name, err)
		}
		info, err := f.Info(name)
		if err != nil || info.Format != dtype || info.DType != ir.Invalid {
			t.Errorf("info %+v, %v", info, err)
		}
	}
	if ok, err := f.Tensor("ok"); err != nil || ok.Data[0] != 7 {
		t.Errorf("the supported tensor: %v, %v", ok, err)
	}
}

func TestNotFoundAndClosed(t *testing.T) {
	f := read(t, []byte(golden[2].want))
	if _, err := f.Tensor("attn.1"); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), `"attn.1"`) {
		t.Errorf("error %v", err)
	}
	if _, err := f.Info("attn.1"); !errors.Is(err, ErrNotFound) {
		t.Errorf("error %v", err)
	}
	for range 2 {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := f.Tensor("attn.0"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("after Close: error %v", err)
	}
}

func TestFailingReader(t *testing.T) {
	b := []byte(golden[2].want)
	r := &failingReader{r: bytes.NewReader(b), limit: int64(len(b))}
	f, err := Read(r, int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	r.limit -= 4 // as if the file had been cut meanwhile
	if _, err := f.Tensor("attn.0"); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "attn.0") {
		t.Errorf("error %v", err)
	}
	r.err = errors.New("disk on fire")
	if _, err := f.Tensor("attn.0"); !errors.Is(err, r.err) || errors.Is(err, ErrMalformed) {
		t.Errorf("error %v", err)
	}
}

type failingReader struct {
	r     io.ReaderAt
	limit int64
	err   error
}

func (r *failingReader) ReadAt(b []byte, off int64) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	return io.NewSectionReader(r.r, 0, r.limit).ReadAt(b, off)
}
