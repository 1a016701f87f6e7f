package nn

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/sinter-go/sinter"
)

// Named is a parameter or buffer with its name in a model.
type Named struct {
	Name   string
	Var    *sinter.Var
	Buffer bool // saved with the model, but not trained: running statistics, say
}

// Parameterized is a part of a model that lists its parameters itself. Names are
// relative to it.
type Parameterized interface {
	NamedParams() []Named
}

// Params returns the parameters and buffers of a model: every [sinter.Var] that its exported
// fields lead to, through structs, pointers, interfaces, slices, arrays and maps,
// in the order of the fields, maps in the order of their keys. Vars that are nil
// are left out. A Var that is found in several places (tied weights) counts once,
// under the first name.
//
// A name is made of the fields' names in snake case, indices and keys:
// "blocks.3.out_proj.weight". Embedded structs add nothing to it. A field tag
// nn:"name" sets a part of the name, nn:"-" leaves a field out, and an option
// after the name, nn:"name,buffer" or nn:",buffer", says that what the field leads
// to is buffers: saved and loaded with the model, left alone by optimizers.
func Params(model any) []Named {
	w := walker{vars: map[*sinter.Var]bool{}, open: map[visit]bool{}}
	w.walk("", reflect.ValueOf(model))
	return w.found
}

// Vars returns the variables of [Params] that are no buffers, without names: what
// gradients are asked for, in the order in which an optimizer takes them.
func Vars(model any) []*sinter.Var {
	var out []*sinter.Var
	for _, p := range Params(model) {
		if !p.Buffer {
			out = append(out, p.Var)
		}
	}
	return out
}

// Trainable returns what of [Params] has gradients: no buffers, and nothing that
// [sinter.Var.Freeze] has frozen. Make optimizers of it if a part of the model is
// frozen.
func Trainable(model any) []Named {
	var out []Named
	for _, p := range Params(model) {
		if !p.Buffer && p.Var.Borrow().Tracked() {
			out = append(out, p)
		}
	}
	return out
}

// Count returns the number of elements of all parameters of a model, without
// buffers.
func Count(model any) int {
	n := 0
	for _, v := range Vars(model) {
		n += v.Borrow().Size()
	}
	return n
}

var (
	varType           = reflect.TypeFor[*sinter.Var]()
	parameterizedType = reflect.TypeFor[Parameterized]()
)

// visit is a pointer on the way from the model to a value, so that cycles end.
type visit struct {
	at  uintptr
	typ reflect.Type
}

type walker struct {
	found  []Named
	vars   map[*sinter.Var]bool
	open   map[visit]bool
	buffer bool // inside a field of buffers
}

func (w *walker) add(name string, v *sinter.Var, buffer bool) {
	if v != nil && !w.vars[v] {
		w.vars[v] = true
		w.found = append(w.found, Named{name, v, buffer || w.buffer})
	}
}

func (w *walker) walk(name string, v reflect.Value) {
	if !v.IsValid() {
		return
	}
	if v.Type() == varType {
		w.add(name, v.Interface().(*sinter.Var), false)
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		if v.IsNil() {
			return
		}
	}
	if v.Type().Implements(parameterizedType) && v.Kind() != reflect.Interface {
		for _, p := range v.Interface().(Parameterized).NamedParams() {
			w.add(join(name, p.Name), p.Var, p.Buffer)
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		at := visit{v.Pointer(), v.Type()}
		if w.open[at] {
			return
		}
		w.open[at] = true
		w.walk(name, v.Elem())
		delete(w.open, at)
	case reflect.Interface:
		w.walk(name, v.Elem())
	case reflect.Struct:
		w.fields(name, v)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			w.walk(join(name, strconv.Itoa(i)), v.Index(i))
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, compareKeys)
		for _, k := range keys {
			w.walk(join(name, fmt.Sprint(k.Interface())), v.MapIndex(k))
		}
	}
}

func (w *walker) fields(name string, v reflect.Value) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		tag, option, _ := strings.Cut(f.Tag.Get("nn"), ",")
		outer := w.buffer
		w.buffer = outer || option == "buffer"
		switch {
		case !f.IsExported() || tag == "-":
		case tag != "":
			w.walk(join(name, tag), v.Field(i))
		case f.Anonymous:
			w.walk(name, v.Field(i))
		default:
			w.walk(join(name, snake(f.Name)), v.Field(i))
		}
		w.buffer = outer
	}
}

// compareKeys orders keys of a map: numbers by value, others by their text.
func compareKeys(a, b reflect.Value) int {
	switch {
	case a.CanInt() && b.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint() && b.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	}
	return cmp.Compare(fmt.Sprint(a.Interface()), fmt.Sprint(b.Interface()))
}

func join(prefix, name string) string {
	switch {
	case prefix == "":
		return name
	case name == "":
		return prefix
	}
	return prefix + "." + name
}

// snake writes a Go name in snake case: OutProj as out_proj, QKVBias as qkv_bias.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 {
			after := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if !unicode.IsUpper(runes[i-1]) && runes[i-1] != '_' || after && runes[i-1] != '_' {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
