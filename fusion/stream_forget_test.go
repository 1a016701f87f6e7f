package fusion_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
)

// TestForgotten: what a program forgets without having released it, the collector
// finds: uploads and results of streams that are forgotten too, and what recipes
// have stored on the way.
func TestForgotten(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(e *shop)
	}{
		{"an upload, with its stream", func(e *shop) { e.up(e.c.NewStream(context.Background()), 1, 2) }},
		{"a result, with its stream", func(e *shop) {
			s := e.c.NewStream(context.Background())
			x := e.up(s, 1, 2)
			e.want(e.op(s, "add", x, x), 2, 4)
		}},
		{"what recipes stored", func(e *shop) {
			x := e.up(e.owner, 1, 2)
			a := e.op(e.owner, "add", x, x)
			b := e.op(e.owner, "add", a, x)
			c := e.op(e.owner, "add", b, x)
			e.want(e.op(e.owner, "add", c, x), 5, 10)
			e.want(a, 2, 4)
			e.want(c, 4, 8) // stores b too, which nobody reads
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := cpu.New(cpu.Options{})
			if err != nil {
				t.Fatal(err)
			}
			client := fusion.New(d, fusion.Options{Small: -1})
			defer client.Close()
			e := &shop{t: t, c: client, owner: client.NewStream(context.Background())}
			c.run(e)
			for try := 0; try < 50 && e.tensors() > 0; try++ {
				collectGarbage()
			}
			if n := e.tensors(); n != 0 {
				t.Errorf("%d tensors are left", n)
			}
		})
	}
}

// TestForgottenBesideError: a value that carries an error holds nothing of what was recorded
// with it.
func TestForgottenBesideError(t *testing.T) {
	e := newShop(t)
	typ := ir.Type{DType: ir.F32, Shape: ir.Shape{2}}
	var kept []*fusion.Value
	for range 4 { // searched, found, repeated
		func() {
			bad := e.owner.Arriving(typ, func(ir.ID) error { return errors.New("lost on its way") })
			x := e.up(e.owner, 1, 2)
			e.want(e.op(e.owner, "neg", x), -1, -2) // whose room the next ones get
			y := e.op(e.owner, "add", x, x)
			z := e.op(e.owner, "add", y, bad)
			if err := z.Store(); err != nil {
				t.Fatal(err)
			}
			e.want(y, 2, 4)
			kept = append(kept, z)
		}()
	}
	for try := 0; try < 50 && e.tensors() > 0; try++ {
		collectGarbage()
	}
	if n := e.tensors(); n != 0 {
		t.Errorf("%d tensors are left", n)
	}
	for _, z := range kept {
		if z.Failure() == nil {
			t.Error("there is no error")
		}
	}
}

// TestReleasedOnItsWay: a value on its way that is released by its stream is still
// there for the work on another stream that waits for it.
func TestReleasedOnItsWay(t *testing.T) {
	e := newShop(t)
	typ := ir.Type{DType: ir.F32, Shape: ir.Shape{1}}
	come := make(chan struct{})
	x := e.owner.Arriving(typ, func(to ir.ID) error {
		<-come
		return e.c.Upload(ir.Tensor{ID: to, Type: typ}, []byte{0, 0, 0x80, 0x3f})
	})
	y := e.op(e.peer, "add", x, x)
	z := e.op(e.grand, "neg", x)
	x.Release()
	z.Release() // nobody wants it: it holds its operand all the same
	close(come)
	time.Sleep(5 * time.Millisecond) // it settles, and nothing but y's work holds it
	e.want(y, 2)
	y.Release()
	for try := 0; try < 20 && e.tensors() > 0; try++ {
		collectGarbage()
	}
	if n := e.tensors(); n != 0 {
		t.Errorf("%d tensors are left", n)
	}
}
