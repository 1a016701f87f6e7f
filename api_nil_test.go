package sinter_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/sinter-go/sinter"
)

// arguments lists values for a parameter: zero, and others that may hurt.
func arguments(t reflect.Type) []reflect.Value {
	var out []reflect.Value
	add := func(v ...any) {
		for _, x := range v {
			out = append(out, reflect.ValueOf(x))
		}
	}
	good := sinter.Ones(sinter.F32, 2, 2)
	switch t {
	case reflect.TypeFor[context.Context]():
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		add(context.Background(), ctx)
		return out
	case reflect.TypeFor[*sinter.Tensor]():
		add((*sinter.Tensor)(nil), &sinter.Tensor{}, good, sinter.FromSlice([]int64{9, -9}))
		return out
	case reflect.TypeFor[*sinter.Device]():
		add(sinter.DefaultDevice())
		return append(out, reflect.Zero(t))
	case reflect.TypeFor[any]():
		add((*sinter.Tensor)(nil), &sinter.Tensor{}, good, 1, -1.5, "text", []int{1}, struct{}{}, true)
		return append(out, reflect.Zero(t))
	case reflect.TypeFor[sinter.DType]():
		add(sinter.F32, sinter.DType(0), sinter.DType(200), sinter.Bool)
		return out
	case reflect.TypeFor[sinter.Range]():
		add(sinter.Range{}, sinter.All(), sinter.Span(-9, 9).By(-2))
		return out
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		for _, v := range []int64{0, 1, -1, 1 << 62, -1 << 62} {
			out = append(out, reflect.ValueOf(v).Convert(t))
		}
	case reflect.Float64:
		add(0.0, -1e300)
	case reflect.Slice:
		out = append(out, reflect.Zero(t))
		for _, e := range arguments(t.Elem()) {
			s := reflect.MakeSlice(t, 2, 2)
			s.Index(0).Set(e)
			s.Index(1).Set(e)
			out = append(out, s)
		}
	default:
		out = append(out, reflect.Zero(t))
	}
	return out
}

// TestNothingPanics calls every method of Tensor on nil, zero, sound and failed
// tensors with all sorts of arguments.
func TestNothingPanics(t *testing.T) {
	released := sinter.Ones(sinter.F32, 2)
	released.Release()
	ended := sinter.NewScope("ended")
	inEnded := ended.In(sinter.Ones(sinter.F32, 3)).Add(1)
	ended.End()
	receivers := map[string]*sinter.Tensor{
		"nil": nil, "zero": {}, "sound": sinter.Ones(sinter.F32, 2, 2), "ints": sinter.FromSlice([]int64{1, 2}),
		"scalar": sinter.Scalar(true), "empty": sinter.Zeros(sinter.F32, 0, 3), "failed": sinter.Ones(sinter.F32, 2).Reshape(3),
		"released": released, "of an ended scope": inEnded,
	}
	typ := reflect.TypeFor[*sinter.Tensor]()
	calls, panicked := 0, map[string]int{}
	for i := range typ.NumMethod() {
		m := typ.Method(i)
		var lists [][]reflect.Value
		rounds := 1
		for k := 1; k < m.Type.NumIn(); k++ {
			in := m.Type.In(k)
			if in.Kind() == reflect.Func {
				lists = nil
				break
			}
			lists = append(lists, arguments(in))
			rounds = max(rounds, len(lists[len(lists)-1]))
		}
		if len(lists) != m.Type.NumIn()-1 {
			continue // takes a function
		}
		for name, x := range receivers {
			if m.Name == "Release" && name != "nil" && name != "zero" && name != "released" {
				continue
			}
			for r := range rounds {
				for shift := range min(2, len(lists)+1) {
					args := []reflect.Value{reflect.ValueOf(x)}
					for k, l := range lists {
						args = append(args, l[(r+k*shift)%len(l)])
					}
					calls++
					call(t, m, name, args, panicked)
				}
			}
		}
	}
	if calls < 1000 {
		t.Errorf("only %d calls", calls)
	}
	t.Logf("%d calls of %d methods", calls, typ.NumMethod())
}

// call runs one method in bounded time, and reports a panic.
func call(t *testing.T, m reflect.Method, receiver string, args []reflect.Value, panicked map[string]int) {
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		if m.Type.IsVariadic() {
			m.Func.CallSlice(args)
		} else {
			m.Func.Call(args)
		}
	}()
	select {
	case p := <-done:
		if p != nil {
			if panicked[m.Name]++; panicked[m.Name] < 3 {
				t.Errorf("%s of a tensor that is %s panics: %v (%s)", m.Name, receiver, p, describeArgs(args[1:]))
			}
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("%s of a tensor that is %s hangs (%s)", m.Name, receiver, describeArgs(args[1:]))
	}
}

func describeArgs(args []reflect.Value) string {
	s := ""
	for _, a := range args {
		if _, ok := a.Interface().(*sinter.Tensor); ok {
			s += fmt.Sprintf(" tensor(nil=%v)", a.IsNil())
		} else {
			s += fmt.Sprintf(" %#v", a)
		}
	}
	return s
}

// TestZeroValues: functions over nil tensors and zero values give errors.
func TestZeroValues(t *testing.T) {
	var none *sinter.Tensor
	for name, x := range map[string]*sinter.Tensor{
		"Concat of nothing": sinter.Concat(0), "Concat of nil": sinter.Concat(0, none), "Stack of nothing": sinter.Stack(0),
		"Stack of nil": sinter.Stack(-1, none, none), "Where": sinter.Where(none, none, none), "Where of constants": sinter.Where(none, 1, 2),
		"In": sinter.NewScope("s").In(none), "Keep": sinter.NewScope("s").Keep(none),
		"Full": sinter.Full(nil, 0), "Zeros": sinter.Zeros(0, 2), "Ones": sinter.Ones(99), "FromSlice": sinter.FromSlice([]int8(nil), 3),
		"FromBytes": sinter.FromBytes(sinter.Of{}, 0, nil), "Apply": sinter.Apply("add", nil)[0], "Apply of nil": sinter.Apply("add", []*sinter.Tensor{none, nil})[0],
		"Arange": sinter.Arange(3, 0), "Eye": sinter.Eye(-1, sinter.F32), "LinSpace": sinter.LinSpace(0, 1, -1, sinter.F32), "Tri": sinter.Tri(2, 99),
		"huge Unstack": sinter.Ones(sinter.F32, 1).Expand(1 << 40).Unstack(0)[0], "huge Chunk": sinter.Ones(sinter.F32, 2).Chunk(0, 1<<40)[0],
		"Var": sinter.NewVar(none).Value(), "Uniform": sinter.NewGenerator(0).Uniform(sinter.Of{}, 0, -1),
	} {
		if x.Err() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, list := range [][]*sinter.Tensor{sinter.MeshGrid(none), sinter.BroadcastTensors(none, none), sinter.MeshGrid(), sinter.BroadcastTensors()} {
		for _, x := range list {
			if x.Err() == nil {
				t.Error("of nil tensors: no error")
			}
		}
	}
	if err := sinter.NewVar(sinter.Ones(sinter.F32, 2)).Set(none); err == nil {
		t.Error("Set of nil: no error")
	}
	if x := sinter.FromSlice([]float32(nil)); x.Err() != nil || x.Size() != 0 {
		t.Errorf("FromSlice of nothing: %v", x.Err())
	}
	if v, err := sinter.Data[float32](context.Background(), sinter.FromSlice([]float32{})); err != nil || v == nil || len(v) != 0 {
		t.Errorf("Data of nothing: %v, %v", v, err)
	}
}
