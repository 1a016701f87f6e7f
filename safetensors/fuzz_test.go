package safetensors

import (
	"bytes"
	"errors"
	"testing"
)

// FuzzRead checks that no input makes the reader panic, and that whatever it
// accepts survives being written and read again.
func FuzzRead(f *testing.F) {
	for _, g := range golden {
		f.Add([]byte(g.want))
	}
	f.Add(file(`{"\ud83d\ude00":{"dtype":"U8","x":[1e3,{"y":null}],"shape":[2],"data_offsets":[0,2]}}`, "ab"))
	f.Add(file(`{"q":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]}}`, "ab"))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		var tensors []Tensor
		for _, name := range file.Names() {
			tensor, err := file.Tensor(name)
			switch {
			case errors.Is(err, ErrUnsupportedDType), errors.Is(err, ErrMalformed):
			case err != nil:
				t.Fatal(err)
			default:
				tensors = append(tensors, tensor)
			}
		}
		var out bytes.Buffer
		if err := Write(&out, tensors, file.Metadata()); err != nil {
			t.Fatal(err)
		}
		again, err := Read(bytes.NewReader(out.Bytes()), int64(out.Len()))
		if err != nil {
			t.Fatalf("cannot read what was written: %v\n%q", err, out.Bytes())
		}
		for _, want := range tensors {
			got, err := again.Tensor(want.Name)
			if err != nil {
				t.Fatal(err)
			}
			expectEqual(t, got, want)
		}
		if len(again.Names()) != len(tensors) || len(again.Metadata()) != len(file.Metadata()) {
			t.Fatalf("%d tensors and %d metadata became %d and %d",
				len(tensors), len(file.Metadata()), len(again.Names()), len(again.Metadata()))
		}
	})
}
