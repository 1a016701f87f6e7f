package onnx

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// message decodes a length-delimited field with a decoder of its message.
func message[T any](f field, size int, r *reader, decode func(*reader, []byte) (T, error)) (T, error) {
	var zero T
	if f.typ != protowire.BytesType {
		return zero, f.wrong("a message")
	}
	if err := r.charge(size); err != nil {
		return zero, err
	}
	return decode(r, f.data)
}

func setMessage[T any](f field, size int, r *reader, decode func(*reader, []byte) (*T, error), to **T) (err error) {
	*to, err = message(f, size, r, decode)
	return err
}

func addMessage[T any](f field, size int, r *reader, decode func(*reader, []byte) (*T, error), to *[]*T) error {
	v, err := message(f, size, r, decode)
	*to = append(*to, v)
	return err
}

func (r *reader) model(b []byte) (*Model, error) {
	m := &Model{Opsets: map[string]int64{}, Metadata: map[string]string{}}
	err := r.each(b, func(f field) error {
		switch f.num {
		case 1:
			return setInt(f, &m.IRVersion)
		case 2:
			return r.setStr(f, &m.Producer)
		case 3:
			return r.setStr(f, &m.ProducerVersion)
		case 4:
			return r.setStr(f, &m.Domain)
		case 5:
			return setInt(f, &m.Version)
		case 6:
			return r.setStr(f, &m.Doc)
		case 7:
			return setMessage(f, 256, r, (*reader).graph, &m.Graph)
		case 8:
			return r.opset(f, m.Opsets)
		case 14:
			return r.entry(f, m.Metadata)
		case 25:
			return addMessage(f, 256, r, (*reader).function, &m.Functions)
		}
		return nil
	})
	return m, err
}

func (r *reader) opset(f field, to map[string]int64) error {
	if f.typ != protowire.BytesType {
		return f.wrong("a model")
	}
	var domain string
	var version int64
	err := r.each(f.data, func(f field) error {
		switch f.num {
		case 1:
			return r.setStr(f, &domain)
		case 2:
			return setInt(f, &version)
		}
		return nil
	})
	to[plainDomain(domain)] = version
	if err != nil {
		return err
	}
	return r.charge(64)
}

// plainDomain maps the two names of the standard domain to one.
func plainDomain(d string) string {
	if d == "ai.onnx" {
		return ""
	}
	return d
}

func (r *reader) entry(f field, to map[string]string) error {
	if f.typ != protowire.BytesType {
		return f.wrong("a key and value")
	}
	var k, v string
	err := r.each(f.data, func(f field) error {
		switch f.num {
		case 1:
			return r.setStr(f, &k)
		case 2:
			return r.setStr(f, &v)
		}
		return nil
	})
	to[k] = v
	if err != nil {
		return err
	}
	return r.charge(64)
}

func (r *reader) graph(b []byte) (*Graph, error) {
	g := &Graph{}
	return g, r.each(b, func(f field) error {
		switch f.num {
		case 1:
			return addMessage(f, 160, r, (*reader).node, &g.Nodes)
		case 2:
			return r.setStr(f, &g.Name)
		case 5:
			return addMessage(f, 200, r, (*reader).tensor, &g.Initializers)
		case 10:
			return r.setStr(f, &g.Doc)
		case 11:
			return addMessage(f, 64, r, (*reader).valueInfo, &g.Inputs)
		case 12:
			return addMessage(f, 64, r, (*reader).valueInfo, &g.Outputs)
		case 13:
			return addMessage(f, 64, r, (*reader).valueInfo, &g.Values)
		case 15:
			return addMessage(f, 64, r, (*reader).sparse, &g.Sparse)
		}
		return nil
	})
}

func (r *reader) node(b []byte) (*Node, error) {
	n := &Node{}
	err := r.each(b, func(f field) error {
		switch f.num {
		case 1:
			return r.addStr(f, &n.Inputs)
		case 2:
			return r.addStr(f, &n.Outputs)
		case 3:
			return r.setStr(f, &n.Name)
		case 4:
			return r.setStr(f, &n.Op)
		case 5:
			return addMessage(f, 300, r, (*reader).attr, &n.Attrs)
		case 6:
			return r.setStr(f, &n.Doc)
		case 7:
			return r.setStr(f, &n.Domain)
		case 8:
			return r.setStr(f, &n.Overload)
		}
		return nil
	})
	n.Domain = plainDomain(n.Domain)
	return n, err
}

func (r *reader) attr(b []byte) (*Attr, error) {
	a := &Attr{}
	var kind, seen int64
	err := r.each(b, func(f field) error {
		if k := attrField[f.num]; k != AttrUndefined {
			seen = int64(k)
		}
		switch f.num {
		case 1:
			return r.setStr(f, &a.Name)
		case 2:
			if f.typ != protowire.Fixed32Type {
				return f.wrong("an attribute")
			}
			a.Float = math.Float32frombits(uint32(f.u))
		case 3:
			return setInt(f, &a.Int)
		case 4:
			return r.setStr(f, &a.Str)
		case 5:
			return setMessage(f, 200, r, (*reader).tensor, &a.Tensor)
		case 6:
			return setMessage(f, 256, r, (*reader).graph, &a.Graph)
		case 7:
			return r.addFloats(f, &a.Floats)
		case 8:
			return r.addInts(f, &a.Ints)
		case 9:
			return r.addStr(f, &a.Strs)
		case 10:
			return addMessage(f, 200, r, (*reader).tensor, &a.Tensors)
		case 11:
			return addMessage(f, 256, r, (*reader).graph, &a.Graphs)
		case 14:
			return setMessage(f, 100, r, (*reader).typ, &a.Type)
		case 20:
			return setInt(f, &kind)
		case 21:
			return r.setStr(f, &a.Ref)
		case 22:
			return setMessage(f, 64, r, (*reader).sparse, &a.Sparse)
		}
		return nil
	})
	if kind == 0 { // old files state no type
		kind = seen
	}
	if kind < 0 || kind >= int64(len(attrKindNames)) {
		kind = int64(AttrUndefined)
	}
	a.Kind = AttrKind(kind)
	return a, err
}

// attrField is the kind of attribute that a field holds.
var attrField = map[protowire.Number]AttrKind{2: AttrFloat, 3: AttrInt, 4: AttrString, 5: AttrTensor, 6: AttrGraph, 7: AttrFloats,
	8: AttrInts, 9: AttrStrings, 10: AttrTensors, 11: AttrGraphs, 14: AttrType, 15: AttrTypes, 22: AttrSparse, 23: AttrSparses}

func (r *reader) tensor(b []byte) (*Tensor, error) {
	t := &Tensor{}
	var elem, location int64
	external := map[string]string(nil)
	err := r.each(b, func(f field) error {
		switch f.num {
		case 1:
			return r.addInts(f, &t.Dims)
		case 2:
			return setInt(f, &elem)
		case 4:
			t.given = "float_data"
			return r.addFixed(f, &t.raw)
		case 5:
			t.given = "int32_data"
			return r.addInts(f, &t.ints)
		case 6:
			t.given = "string_data"
			return r.addStr(f, &t.Strs)
		case 7:
			t.given = "int64_data"
			return r.addInts(f, &t.ints)
		case 8:
			return r.setStr(f, &t.Name)
		case 9:
			if f.typ != protowire.BytesType {
				return f.wrong("a tensor")
			}
			t.given, t.raw = "raw_data", f.data
		case 10:
			t.given = "double_data"
			return r.addFixed(f, &t.raw)
		case 11:
			t.given = "uint64_data"
			return r.addInts(f, &t.ints)
		case 13:
			if external == nil {
				external = map[string]string{}
			}
			return r.entry(f, external)
		case 14:
			return setInt(f, &location)
		}
		return nil
	})
	t.Elem = Elem(elem)
	if location == 1 {
		t.external = external
		if external == nil {
			t.external = map[string]string{}
		}
	}
	return t, err
}

func (r *reader) sparse(b []byte) (*SparseTensor, error) {
	s := &SparseTensor{}
	return s, r.each(b, func(f field) error {
		switch f.num {
		case 1:
			return setMessage(f, 200, r, (*reader).tensor, &s.Values)
		case 2:
			return setMessage(f, 200, r, (*reader).tensor, &s.Indices)
		case 3:
			return r.addInts(f, &s.Dims)
		}
		return nil
	})
}

func (r *reader) valueInfo(b []byte) (*ValueInfo, error) {
	v := &ValueInfo{}
	return v, r.each(b, func(f field) error {
		switch f.num {
		case 1:
			return r.setStr(f, &v.Name)
		case 2:
			return setMessage(f, 100, r, (*reader).typ, &v.Type)
		case 3:
			return r.setStr(f, &v.Doc)
		}
		return nil
	})
}

func (r *reader) typ(b []byte) (*Type, error) {
	t := &Type{}
	inner := func(f field, to **Type) error {
		if f.typ != protowire.BytesType {
			return f.wrong("a type")
		}
		*to = &Type{Other: "unknown"}
		return r.each(f.data, func(f field) error {
			if f.num == 1 {
				return setMessage(f, 100, r, (*reader).typ, to)
			}
			return nil
		})
	}
	return t, r.each(b, func(f field) error {
		switch f.num {
		case 1:
			return r.tensorType(f, t)
		case 4:
			return inner(f, &t.Sequence)
		case 9:
			return inner(f, &t.Optional)
		case 5:
			t.Other = "map"
		case 7:
			t.Other = "opaque"
		case 8:
			t.Other = "sparse tensor"
		}
		return nil
	})
}

func (r *reader) tensorType(f field, t *Type) error {
	if f.typ != protowire.BytesType {
		return f.wrong("a type")
	}
	return r.each(f.data, func(f field) error {
		switch f.num {
		case 1:
			var e int64
			err := setInt(f, &e)
			t.Elem = Elem(e)
			return err
		case 2:
			if f.typ != protowire.BytesType {
				return f.wrong("a shape")
			}
			t.HasShape = true
			return r.each(f.data, func(f field) error {
				if f.num != 1 {
					return nil
				}
				if f.typ != protowire.BytesType {
					return f.wrong("a shape")
				}
				d := Dim{Size: -1}
				err := r.each(f.data, func(f field) error {
					switch f.num {
					case 1:
						return setInt(f, &d.Size)
					case 2:
						return r.setStr(f, &d.Param)
					}
					return nil
				})
				if d.Size < 0 {
					d.Size = -1
				}
				t.Dims = append(t.Dims, d)
				if err != nil {
					return err
				}
				return r.charge(32)
			})
		}
		return nil
	})
}

func (r *reader) function(b []byte) (*Function, error) {
	fn := &Function{Opsets: map[string]int64{}}
	err := r.each(b, func(f field) error {
		switch f.num {
		case 1:
			return r.setStr(f, &fn.Name)
		case 4:
			return r.addStr(f, &fn.Inputs)
		case 5:
			return r.addStr(f, &fn.Outputs)
		case 6:
			return r.addStr(f, &fn.Required)
		case 7:
			return addMessage(f, 160, r, (*reader).node, &fn.Nodes)
		case 9:
			return r.opset(f, fn.Opsets)
		case 10:
			return r.setStr(f, &fn.Domain)
		case 11:
			return addMessage(f, 300, r, (*reader).attr, &fn.Defaults)
		case 13:
			return r.setStr(f, &fn.Overload)
		}
		return nil
	})
	fn.Domain = plainDomain(fn.Domain)
	return fn, err
}
