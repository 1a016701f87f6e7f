package router

import (
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/ir"
)

// ID names a device of a router:
//
//	cpu          the member cpu
//	cuda:0       a member by kind and index
//	lab/cuda:0   the device cuda:0 of a router that is a member named lab
//
// Text and value round-trip exactly. The zero ID names nothing.
type ID struct {
	Path  string // names of the routers on the way, outermost first, joined by "/"; "" for none
	Name  string
	Index string // decimal, without leading zeros; "" for none
}

// ParseID reads the text form of an id.
func ParseID(text string) (ID, error) {
	bad := func(why string) (ID, error) {
		return ID{}, ir.Errorf(ir.ErrArgument, "device id %q: %s; expected a form such as cpu, cuda:0 or name/cpu", text, why)
	}
	var id ID
	last := text
	if i := strings.LastIndexByte(text, '/'); i >= 0 {
		id.Path, last = text[:i], text[i+1:]
		for _, part := range strings.Split(id.Path, "/") {
			if !isName(part) {
				return bad("\"" + part + "\" is not a name")
			}
		}
	}
	name, index, indexed := strings.Cut(last, ":")
	if !isName(name) {
		return bad("\"" + name + "\" is not a name")
	}
	if indexed {
		if n, err := strconv.ParseUint(index, 10, 31); err != nil || strconv.FormatUint(n, 10) != index {
			return bad("\"" + index + "\" is not an index")
		}
	}
	id.Name, id.Index = name, index
	return id, nil
}

// String returns the text form.
func (id ID) String() string {
	s := id.Name
	if id.Index != "" {
		s += ":" + id.Index
	}
	if id.Path != "" {
		s = id.Path + "/" + s
	}
	return s
}

// In returns the id as it is seen through a router named by a path.
func (id ID) In(path string) ID {
	switch {
	case path == "":
	case id.Path == "":
		id.Path = path
	default:
		id.Path = path + "/" + id.Path
	}
	return id
}

// canonical returns the id with index 0 written out, so that cuda and cuda:0 are
// one device.
func (id ID) canonical() ID {
	if id.Index == "" {
		id.Index = "0"
	}
	return id
}

// isName reports whether s is a name: printable ASCII without space, quote, "/"
// and ":".
func isName(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c <= ' ' || c > '~' || strings.IndexByte("/:\"'`", c) >= 0 {
			return false
		}
	}
	return s != "" && len(s) <= 255
}
