package ptx

import (
	"fmt"
	"strconv"
	"strings"
)

// The parser reads the part of the PTX language that this package writes. The
// checker and the simulator of the tests work on what it returns.

type operandKind uint8

const (
	opndReg     operandKind = iota
	opndImm                 // number
	opndMem                 // [base+offset]; base is a register or a parameter
	opndGroup               // {a, b}
	opndBox                 // [tensor map, {coordinates}]
	opndSymbol              // label or shared variable
	opndSpecial             // %tid.x and the like
)

type operand struct {
	kind  operandKind
	name  string // of a register, symbol, special register or memory base
	value int64  // of a number; offset of memory
	group []string
}

// inst is one line that executes, or a label.
type inst struct {
	line  int
	label string // of a label line
	guard string // register
	not   bool   // the guard is negated
	op    string
	args  []operand
}

// parsed is a module of one entry.
type parsed struct {
	name    string
	arch    string // sm_80
	params  int
	many    int // bytes of an array of parameters; see manyText
	maps    int
	regs    map[string]int // by prefix such as "%r": one above the highest number
	shared  int
	dynamic bool // has shared memory that the launch gives
	threads int
	blocks  int // of a cluster; 0 without clusters
	code    []inst
}

func parse(text string) (*parsed, error) {
	p := &parsed{regs: map[string]int{}}
	inBody := false
	for n, line := range strings.Split(text, "\n") {
		if i := strings.Index(line, "//"); i >= 0 {
			line = line[:i]
		}
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		var err error
		switch {
		case !inBody:
			if line == "{" {
				inBody = true
				continue
			}
			err = p.header(line)
		case line == "}":
			inBody = false
		case strings.HasPrefix(line, "."):
			err = p.declaration(line)
		case strings.HasSuffix(line, ":"):
			p.code = append(p.code, inst{line: n + 1, label: strings.TrimSuffix(line, ":")})
		default:
			var in inst
			if in, err = parseInst(line); err == nil {
				in.line = n + 1
				p.code = append(p.code, in)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	if inBody {
		return nil, fmt.Errorf("the entry does not end")
	}
	return p, nil
}

func (p *parsed) header(line string) error {
	f := strings.Fields(line)
	switch f[0] {
	case ".target":
		p.arch = f[1]
	case ".version", ".address_size", ".minnctapersm", ".explicitcluster", ")":
	case ".extern":
		p.dynamic = true
	case ".visible":
		p.name = strings.TrimSuffix(f[2], "(")
	case ".param":
		if size, ok := strings.CutPrefix(f[len(f)-1], manyName+"["); ok && f[1] == ".align" {
			n, err := strconv.Atoi(strings.TrimSuffix(size, "]"))
			if err != nil || n%8 != 0 || p.many > 0 || p.params+p.maps > 0 {
				return fmt.Errorf("parameter %q", line)
			}
			p.many = n
			return nil
		}
		if f[1] == ".align" {
			if want := fmt.Sprintf("m%d[%d],", p.maps, MapBytes); f[len(f)-1] != want {
				return fmt.Errorf("parameter %q, expected %q", line, want)
			}
			p.maps++
			return nil
		}
		if want := fmt.Sprintf("a%d", p.params); strings.TrimSuffix(f[2], ",") != want || f[1] != ".u64" {
			return fmt.Errorf("parameter %q", line)
		}
		p.params++
	case ".maxntid", ".reqnctapercluster":
		n, err := strconv.Atoi(strings.TrimSuffix(f[1], ","))
		if err != nil {
			return err
		}
		if f[0] == ".maxntid" {
			p.threads = n
		} else {
			p.blocks = n
		}
	default:
		return fmt.Errorf("unknown directive %q", line)
	}
	return nil
}

func (p *parsed) declaration(line string) error {
	f := strings.Fields(strings.TrimSuffix(line, ";"))
	switch f[0] {
	case ".reg":
		name, count, ok := strings.Cut(strings.TrimSuffix(f[2], ">"), "<")
		n, err := strconv.Atoi(count)
		if !ok || err != nil {
			return fmt.Errorf("declaration %q", line)
		}
		for c := range numClasses {
			if classPrefix[c] == name && classType[c] == f[1] {
				p.regs[name] = n
				return nil
			}
		}
		return fmt.Errorf("declaration %q", line)
	case ".shared":
		_, err := fmt.Sscanf(f[len(f)-1], "sm[%d]", &p.shared)
		return err
	}
	return fmt.Errorf("unknown directive %q", line)
}

func parseInst(line string) (inst, error) {
	var in inst
	if !strings.HasSuffix(line, ";") {
		return in, fmt.Errorf("no semicolon in %q", line)
	}
	line = strings.TrimSuffix(line, ";")
	if strings.HasPrefix(line, "@") {
		g, rest, ok := strings.Cut(line[1:], " ")
		if !ok {
			return in, fmt.Errorf("guard without instruction in %q", line)
		}
		in.guard = strings.TrimPrefix(g, "!")
		in.not = in.guard != g
		line = rest
	}
	op, rest, _ := strings.Cut(line, " ")
	in.op = op
	for rest = strings.TrimSpace(rest); rest != ""; {
		end := len(rest)
		if rest[0] == '{' {
			end = strings.IndexByte(rest, '}') + 1
		} else if rest[0] == '[' {
			end = strings.IndexByte(rest, ']') + 1
		} else if i := strings.IndexByte(rest, ','); i >= 0 {
			end = i
		}
		o, err := parseOperand(strings.TrimSpace(rest[:end]))
		if err != nil {
			return in, err
		}
		in.args = append(in.args, o)
		rest = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(rest[end:]), ","))
	}
	return in, nil
}

func parseOperand(s string) (operand, error) {
	switch {
	case s == "":
		return operand{}, fmt.Errorf("empty operand")
	case s[0] == '{':
		var g []string
		for _, r := range strings.Split(strings.Trim(s, "{}"), ",") {
			g = append(g, strings.TrimSpace(r))
		}
		return operand{kind: opndGroup, group: g}, nil
	case s[0] == '[' && strings.Contains(s, "{"):
		name, box, _ := strings.Cut(strings.Trim(s, "[]"), ",")
		o, err := parseOperand(strings.TrimSpace(box))
		o.kind, o.name = opndBox, name
		return o, err
	case s[0] == '[':
		base, off, ok := strings.Cut(strings.Trim(s, "[]"), "+")
		o := operand{kind: opndMem, name: base}
		if ok {
			v, err := strconv.ParseInt(off, 0, 64)
			if err != nil {
				return o, err
			}
			o.value = v
		}
		return o, nil
	case s[0] == '%':
		if strings.Contains(s, ".") || s == "%lanemask_lt" {
			return operand{kind: opndSpecial, name: s}, nil
		}
		return operand{kind: opndReg, name: s}, nil
	case strings.HasPrefix(s, "0f"):
		v, err := strconv.ParseUint(s[2:], 16, 32)
		return operand{kind: opndImm, value: int64(v)}, err
	case s[0] == '-' || s[0] >= '0' && s[0] <= '9':
		if v, err := strconv.ParseInt(s, 0, 64); err == nil {
			return operand{kind: opndImm, value: v}, nil
		}
		v, err := strconv.ParseUint(s, 0, 64)
		return operand{kind: opndImm, value: int64(v)}, err
	}
	return operand{kind: opndSymbol, name: s}, nil
}
