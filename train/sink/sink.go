// Package sink writes what a training reports: to a [log/slog] logger, to CSV, or
// to the event files that TensorBoard shows.
package sink

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"time"
)

// Value is a number with its name; parts of a name are divided by slashes:
// "loss/train".
type Value struct {
	Name  string
	Value float64
}

// Record is what was reported at a moment.
type Record struct {
	Time   time.Time
	Epoch  int
	Step   int // of all epochs
	Values []Value
}

// Sink takes records, in the order of time. It is used by one goroutine at a time.
type Sink interface {
	Write(Record) error
	Close() error
}

// Slog writes each record as one message, "train", whose attributes are epoch, step
// and the values.
func Slog(l *slog.Logger, level slog.Level) Sink { return logger{l, level} }

type logger struct {
	l     *slog.Logger
	level slog.Level
}

func (s logger) Write(r Record) error {
	attrs := make([]slog.Attr, 0, len(r.Values)+2)
	attrs = append(attrs, slog.Int("epoch", r.Epoch), slog.Int("step", r.Step))
	for _, v := range r.Values {
		attrs = append(attrs, slog.Float64(v.Name, v.Value))
	}
	s.l.LogAttrs(context.Background(), s.level, "train", attrs...)
	return nil
}

func (logger) Close() error { return nil }

// CSV writes a line for each record, after one with the names: time, epoch, step
// and those of the first record's values. A later record may lack some of them; a
// new one is an error. Every line reaches w before Write returns. Close leaves w
// open.
func CSV(w io.Writer) Sink { return &csvSink{w: csv.NewWriter(w)} }

type csvSink struct {
	w       *csv.Writer
	columns map[string]int
}

const fixedColumns = 3

func (s *csvSink) Write(r Record) error {
	if s.columns == nil {
		s.columns = map[string]int{}
		names := []string{"time", "epoch", "step"}
		for _, v := range r.Values {
			if _, twice := s.columns[v.Name]; twice {
				return fmt.Errorf("sink: two values %q", v.Name)
			}
			s.columns[v.Name] = len(names)
			names = append(names, v.Name)
		}
		s.w.Write(names)
	}
	line := make([]string, fixedColumns+len(s.columns))
	line[0], line[1], line[2] = r.Time.UTC().Format(time.RFC3339Nano), strconv.Itoa(r.Epoch), strconv.Itoa(r.Step)
	for _, v := range r.Values {
		at, ok := s.columns[v.Name]
		if !ok {
			return fmt.Errorf("sink: value %q was not in the first record, so it has no column", v.Name)
		}
		line[at] = strconv.FormatFloat(v.Value, 'g', -1, 64)
	}
	s.w.Write(line)
	s.w.Flush()
	if err := s.w.Error(); err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	return nil
}

func (s *csvSink) Close() error {
	s.w.Flush()
	return s.w.Error()
}
