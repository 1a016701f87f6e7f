package faulty

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sinter-go/sinter/ir"
)

// Script says how a backend misbehaves. Its text has one statement a line:
//
//	delay add 20ms            # before every add; * is every operation
//	hold mul 2                # the second mul waits for Open
//	fail sub 3 data no luck   # the third sub fails with a data error; * is every one
//	disconnect after 40       # the device is lost when 40 nodes were passed on
//	panic after 40            # the Submit that goes beyond panics
//	drop Compiler HostMemory  # capabilities that the inner backend has
//	lack op softmax nonzero   # operations, said beforehand and failed when tried
//	lack dtype f16 bf16
type Script struct {
	Rules           []Rule
	DisconnectAfter int // nodes; 0 means never
	PanicAfter      int
	Drop            []string
	LackOps         []string
	LackDTypes      []ir.DType
}

// Rule is one statement about an operation.
type Rule struct {
	Do    string // "delay", "hold" or "fail"
	Op    string // name, "*" for every one
	Nth   int    // from 1; 0 means every one
	Delay time.Duration
	Kind  error // of the failure
	Msg   string
}

// kinds are the names of the kinds of error in a script.
var kinds = []struct {
	name string
	kind error
}{
	{"shape", ir.ErrShape}, {"dtype", ir.ErrDType}, {"argument", ir.ErrArgument}, {"data", ir.ErrData}, {"device", ir.ErrDevice},
	{"closed", ir.ErrClosed}, {"memory", ir.ErrMemory}, {"cancelled", ir.ErrCancelled}, {"unsupported", ir.ErrUnsupported}, {"internal", ir.ErrInternal},
}

// capabilities are those that a script can drop.
var capabilities = []string{"Compiler", "Tiler", "Profiler", "Memory", "Counting", "Routines", "HostMemory", "Streams", "Supporter"}

// Parse reads the text of a script. Errors are of kind [ir.ErrFormat] and name
// the line.
func Parse(text string) (Script, error) {
	var s Script
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if words := strings.Fields(line); len(words) > 0 {
			if err := s.statement(words); err != nil {
				return Script{}, ir.Errorf(ir.ErrFormat, "line %d: %v", i+1, err)
			}
		}
	}
	return s, nil
}

// MustParse is Parse for scripts in tests; it panics on an error.
func MustParse(text string) Script {
	s, err := Parse(text)
	if err != nil {
		panic("faulty: " + err.Error())
	}
	return s
}

func (s *Script) statement(w []string) error {
	need := func(n int, form string) error {
		if len(w) < n {
			return fmt.Errorf("expected %q", form)
		}
		return nil
	}
	count := func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return 0, fmt.Errorf("%q is not a number from 1", text)
		}
		return n, nil
	}
	switch w[0] {
	case "delay":
		if len(w) != 3 {
			return need(4, "delay op duration")
		}
		d, err := time.ParseDuration(w[2])
		if err != nil || d < 0 {
			return fmt.Errorf("%q is not a duration", w[2])
		}
		s.Rules = append(s.Rules, Rule{Do: "delay", Op: w[1], Delay: d})
	case "hold":
		if len(w) != 3 {
			return need(4, "hold op n")
		}
		n, err := count(w[2])
		if err != nil {
			return err
		}
		s.Rules = append(s.Rules, Rule{Do: "hold", Op: w[1], Nth: n})
	case "fail":
		if err := need(4, "fail op n kind message"); err != nil {
			return err
		}
		r := Rule{Do: "fail", Op: w[1], Msg: strings.Join(w[4:], " ")}
		if w[2] != "*" {
			n, err := count(w[2])
			if err != nil {
				return err
			}
			r.Nth = n
		}
		for _, k := range kinds {
			if k.name == w[3] {
				r.Kind = k.kind
			}
		}
		if r.Kind == nil {
			return fmt.Errorf("there is no kind of error %q", w[3])
		}
		s.Rules = append(s.Rules, r)
	case "disconnect", "panic":
		if len(w) != 3 || w[1] != "after" {
			return need(4, w[0]+" after n")
		}
		n, err := count(w[2])
		if err != nil {
			return err
		}
		if w[0] == "panic" {
			s.PanicAfter = n
		} else {
			s.DisconnectAfter = n
		}
	case "drop":
		for _, name := range w[1:] {
			if !slices.Contains(capabilities, name) {
				return fmt.Errorf("there is no capability %q (known: %s)", name, strings.Join(capabilities, " "))
			}
			s.Drop = append(s.Drop, name)
		}
	case "lack":
		if err := need(3, "lack op names, or lack dtype names"); err != nil {
			return err
		}
		switch w[1] {
		case "op":
			s.LackOps = append(s.LackOps, w[2:]...)
		case "dtype":
			for _, name := range w[2:] {
				d, err := ir.ParseDType(name)
				if err != nil {
					return err
				}
				s.LackDTypes = append(s.LackDTypes, d)
			}
		default:
			return fmt.Errorf("lack of %q, expected op or dtype", w[1])
		}
	default:
		return fmt.Errorf("%q is no statement", w[0])
	}
	return nil
}

// String returns the text of the script, which Parse reads back.
func (s Script) String() string {
	var b strings.Builder
	line := func(words ...any) { b.WriteString(strings.TrimSpace(fmt.Sprintln(words...)) + "\n") }
	for _, r := range s.Rules {
		nth := "*"
		if r.Nth > 0 {
			nth = strconv.Itoa(r.Nth)
		}
		switch r.Do {
		case "delay":
			line("delay", r.Op, r.Delay)
		case "hold":
			line("hold", r.Op, nth)
		case "fail":
			for _, k := range kinds {
				if k.kind == r.Kind {
					line("fail", r.Op, nth, k.name, r.Msg)
				}
			}
		}
	}
	if s.DisconnectAfter > 0 {
		line("disconnect after", s.DisconnectAfter)
	}
	if s.PanicAfter > 0 {
		line("panic after", s.PanicAfter)
	}
	if len(s.Drop) > 0 {
		line("drop", strings.Join(s.Drop, " "))
	}
	if len(s.LackOps) > 0 {
		line("lack op", strings.Join(s.LackOps, " "))
	}
	if len(s.LackDTypes) > 0 {
		names := make([]string, len(s.LackDTypes))
		for i, d := range s.LackDTypes {
			names[i] = d.String()
		}
		line("lack dtype", strings.Join(names, " "))
	}
	return b.String()
}
