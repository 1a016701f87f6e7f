//go:build linux && amd64

package driver

import (
	"errors"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
)

// linker is a driver's linker that answers with code for a text, or refuses it.
type linker struct {
	calls  []string
	text   string
	code   []byte
	size   uintptr // of the code, as it says
	refuse string  // the call that fails
	log    unsafe.Pointer
}

// address is a pointer that a call was given as a number.
func address(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

func (l *linker) answer(name string) uintptr {
	l.calls = append(l.calls, name)
	if name == l.refuse {
		return 218 // CUDA_ERROR_INVALID_PTX
	}
	return 0
}

const linkState = 0x5eed

func (l *linker) context(t *testing.T) *Context {
	d := &Driver{}
	f := &d.fn
	f.linkCreate = purego.NewCallback(func(n uint32, keys, values, out uintptr) uintptr {
		k, v := (*[4]uint32)(address(keys)), (*[4]uintptr)(address(values))
		if n != 4 || *k != [4]uint32{5, 6, 3, 4} || v[1] != jitLogBytes || v[3] != jitLogBytes {
			t.Errorf("%d options %v of sizes %d, %d", n, *k, v[1], v[3])
		}
		l.log = address(v[0])
		*(*uintptr)(address(out)) = linkState
		return l.answer("create")
	})
	f.linkAddData = purego.NewCallback(func(state uintptr, kind uint32, data, size, name uintptr, options uint32, keys, values uintptr) uintptr {
		if state != linkState || kind != 1 || name != 0 || options != 0 || keys != 0 || values != 0 {
			t.Errorf("state %#x, kind %d, name %#x, %d options", state, kind, name, options)
		}
		l.text = string(unsafe.Slice((*byte)(address(data)), size))
		if l.refuse == "add" {
			copy(unsafe.Slice((*byte)(l.log), 64), "line 3: what is this\x00")
		}
		return l.answer("add")
	})
	f.linkComplete = purego.NewCallback(func(state, code, size uintptr) uintptr {
		if state != linkState {
			t.Errorf("state %#x", state)
		}
		if len(l.code) > 0 {
			*(*uintptr)(address(code)) = uintptr(unsafe.Pointer(&l.code[0]))
		}
		*(*uintptr)(address(size)) = l.size
		return l.answer("complete")
	})
	f.linkDestroy = purego.NewCallback(func(state uintptr) uintptr {
		if state != linkState {
			t.Errorf("state %#x", state)
		}
		for i := range l.code { // it owned the code
			l.code[i] = 0
		}
		return l.answer("destroy")
	})
	f.getErrorName = purego.NewCallback(func(code, out uintptr) uintptr { return 1 })
	f.getErrorString = f.getErrorName
	return &Context{d: d}
}

// TestLink: the linker is given the text with its end, its code is copied before it goes,
// and it goes whatever happens.
func TestLink(t *testing.T) {
	for _, c := range []struct {
		refuse, calls, err, log string
		size                    uintptr
	}{
		{calls: "create add complete destroy", size: 9},
		{refuse: "create", calls: "create", err: "cuLinkCreate"},
		{refuse: "add", calls: "create add destroy", err: "cuLinkAddData", log: "line 3: what is this"},
		{refuse: "complete", calls: "create add complete destroy", err: "cuLinkComplete"},
		{refuse: "destroy", calls: "create add complete destroy", err: "cuLinkDestroy", size: 9},
		{calls: "create add complete destroy", err: "at most", size: maxLinked + 1},
	} {
		l := &linker{code: []byte("the code!"), size: c.size, refuse: c.refuse}
		image, err := l.context(t).Link([]byte("the text"))
		if got := strings.Join(l.calls, " "); got != c.calls {
			t.Errorf("calls %q, want %q", got, c.calls)
		}
		if c.err == "" {
			if err != nil || string(image) != "the code!" || l.text != "the text\x00" {
				t.Errorf("%q of %q, %v", image, l.text, err)
			}
			continue
		}
		if image != nil || err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q, %v; want an error with %q", image, err, c.err)
		}
		var e *Error
		if errors.As(err, &e) && (e.Log != c.log || e.Code != 218) {
			t.Errorf("code %d, log %q; want 218, %q", e.Code, e.Log, c.log)
		}
	}
}
