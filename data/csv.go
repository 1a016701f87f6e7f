package data

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strconv"
)

const (
	// MaxValues is the largest number of values that [ReadCSV] reads, 1 GiB of
	// them. It bounds what a small compressed file can unfold to.
	MaxValues = 1 << 28

	// MaxFeatures is the largest number of features of a sample in a CSV file.
	MaxFeatures = 1 << 20

	// A line may take this many bytes per column, and some more. The longest
	// float64 in exact decimals is longer, but nobody writes those.
	maxColumnBytes = 64
	minLineLimit   = 4096
)

// ReadCSV reads samples from comma-separated numbers, one sample per line: the
// features and, on every line or on none, an integer label after them. Data
// that begins like a gzip file is decompressed.
//
// Blank lines are skipped, spaces around numbers and quotes around fields are
// allowed, and the first line may be a header: it is taken for one when it has
// as many columns as a sample and none of them is a number. Values are kept as
// they stand, they are not scaled.
//
// An error names the line, and the column where there is one, both counted from
// 1: a line with the wrong number of columns, a field that is not a number, a
// number outside the range of float32 (or of int64, for a label), infinities
// and NaN, a line that is far longer than its columns can take, data without a
// sample, more than [MaxValues] values, damaged compression.
func ReadCSV(r io.Reader, features int) (*Set, error) {
	return CSV{Features: features}.Read(r)
}

// CSV says what samples of a file must be like, where that is known: a value or
// label out of range is then an error with its line and column.
type CSV struct {
	Features int
	Min, Max float32 // of a feature; no limits if both are 0
	Classes  int     // labels are 0 to Classes-1; no limits if 0
}

// Read is [ReadCSV] with these limits.
func (c CSV) Read(r io.Reader) (*Set, error) {
	s, err := c.read(r, MaxValues)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	return s, nil
}

func readCSV(r io.Reader, features, maxValues int) (*Set, error) {
	return CSV{Features: features}.read(r, maxValues)
}

func (c CSV) read(r io.Reader, maxValues int) (*Set, error) {
	features := c.Features
	if features < 1 || features > MaxFeatures {
		return nil, fmt.Errorf("%d features, want 1 to %d", features, MaxFeatures)
	}
	br := bufio.NewReader(r)
	if magic, _ := br.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(br)
		if err != nil {
			return nil, err
		}
		defer z.Close()
		br = bufio.NewReader(z)
	}
	p := csvReader{
		want:  c,
		lines: lineReader{r: br, limit: max(minLineLimit, (features+1)*maxColumnBytes)},
		set:   &Set{Features: features},
	}
	for {
		line, err := p.lines.next()
		if err == io.EOF {
			break
		}
		if err == nil && len(bytes.TrimSpace(line)) > 0 {
			err = p.line(line)
		}
		if err == nil && len(p.set.Pixels) > maxValues {
			err = fmt.Errorf("more than %d values", maxValues)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d%w", p.lines.number, columnFirst(err))
		}
	}
	if p.set.N == 0 {
		return nil, fmt.Errorf("no sample in %d lines", p.lines.number)
	}
	return p.set, nil
}

// columnError is an error in a certain column.
type columnError struct {
	column int // from 1
	msg    string
}

func (e *columnError) Error() string { return fmt.Sprintf(", column %d: %s", e.column, e.msg) }

// columnFirst makes err follow "line 3": ", column 4: …" or ": …".
func columnFirst(err error) error {
	if _, ok := err.(*columnError); ok {
		return err
	}
	return fmt.Errorf(": %w", err)
}

// csvReader collects the samples of a file.
type csvReader struct {
	want    CSV
	lines   lineReader
	set     *Set
	columns int // of every line; 0 before the first
	fields  [][]byte
}

// line takes in a line that is not blank.
func (p *csvReader) line(line []byte) (err error) {
	if p.fields, err = splitFields(p.fields[:0], line); err != nil {
		return err
	}
	features := p.set.Features
	if n := len(p.fields); p.columns == 0 {
		if n != features && n != features+1 {
			return fmt.Errorf("%d columns, want %d, or %d with a label", n, features, features+1)
		}
		p.columns = n
		if isHeader(p.fields) {
			return nil
		}
	} else if n != p.columns {
		return fmt.Errorf("%d columns, want %d as on the first line", n, p.columns)
	}
	for i, f := range p.fields[:features] {
		v, err := parseFloat(f)
		if err == nil && (v < p.want.Min || v > p.want.Max) && p.want.Min < p.want.Max {
			err = fmt.Errorf("%s is out of range, want %v to %v", quote(f), p.want.Min, p.want.Max)
		}
		if err != nil {
			return &columnError{i + 1, err.Error()}
		}
		p.set.Pixels = append(p.set.Pixels, v)
	}
	if p.columns > features {
		l, err := parseLabel(p.fields[features])
		if err == nil && (l < 0 || l >= int64(p.want.Classes)) && p.want.Classes > 0 {
			err = fmt.Errorf("label %d is out of range, want 0 to %d", l, p.want.Classes-1)
		}
		if err != nil {
			return &columnError{features + 1, err.Error()}
		}
		p.set.Labels = append(p.set.Labels, l)
	}
	p.set.N++
	return nil
}

// isHeader tells names of columns from a damaged sample. A line with even one
// number, also "nan" and the like, is a sample, as is one of empty fields: to
// drop it in silence would be worse than an error about a strange header.
func isHeader(fields [][]byte) bool {
	named := false
	for _, f := range fields {
		if _, err := strconv.ParseFloat(string(f), 64); err == nil || errors.Is(err, strconv.ErrRange) {
			return false
		}
		named = named || len(f) > 0
	}
	return named
}

func parseFloat(f []byte) (float32, error) {
	// strconv also reads hexadecimal numbers, "inf" and "nan".
	if len(bytes.Trim(f, "0123456789+-.eE")) > 0 {
		return 0, fmt.Errorf("%s is not a number", quote(f))
	}
	v, err := strconv.ParseFloat(string(f), 32)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s is out of the range of float32", quote(f))
	case err != nil:
		return 0, fmt.Errorf("%s is not a number", quote(f))
	}
	return float32(v), nil
}

func parseLabel(f []byte) (int64, error) {
	v, err := strconv.ParseInt(string(f), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("label %s is out of the range of int64", quote(f))
	case err != nil:
		return 0, fmt.Errorf("label %s is not an integer", quote(f))
	}
	return v, nil
}

// quote returns f in double quotes, shortened when it is long.
func quote(f []byte) string {
	const limit = 40
	if len(f) <= limit {
		return fmt.Sprintf("%q", f)
	}
	return fmt.Sprintf("%q… (%d bytes)", f[:limit], len(f))
}
