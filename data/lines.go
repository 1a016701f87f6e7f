package data

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// lineReader reads lines of bounded length. bufio.Scanner is not used because,
// when reading fails within a line, it hands out what it has of the line first:
// the error would be about a strange line, not about the damaged file.
type lineReader struct {
	r      *bufio.Reader
	limit  int // bytes of a line, without its end
	number int // of the line read last, from 1
	buf    []byte
}

// next returns the next line without its end, valid until the next call, and
// io.EOF after the last.
func (l *lineReader) next() ([]byte, error) {
	l.number++
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		l.buf = append(l.buf, part...)
		line := bytes.TrimSuffix(bytes.TrimSuffix(l.buf, []byte("\n")), []byte("\r"))
		if l.number == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		switch {
		case len(line) > l.limit:
			return nil, fmt.Errorf("longer than %d bytes", l.limit)
		case err == io.EOF && len(l.buf) == 0:
			l.number--
			return nil, io.EOF
		case err == nil || err == io.EOF:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// splitFields appends the fields of a line to dst, without the spaces and the
// quotes around them. Doubled quotes within quotes are left as they are, since
// no number has any.
func splitFields(dst [][]byte, line []byte) ([][]byte, error) {
	for {
		line = bytes.TrimLeft(line, " \t")
		var field, rest []byte
		var more bool
		if len(line) > 0 && line[0] == '"' {
			end := closingQuote(line)
			if end < 0 {
				return dst, &columnError{len(dst) + 1, "the quote is not closed"}
			}
			field = line[1:end]
			rest = bytes.TrimLeft(line[end+1:], " \t")
			if len(rest) > 0 {
				if rest[0] != ',' {
					return dst, &columnError{len(dst) + 1, "text follows the closing quote"}
				}
				rest, more = rest[1:], true
			}
		} else {
			field, rest, more = bytes.Cut(line, []byte(","))
		}
		dst = append(dst, bytes.TrimSpace(field))
		if !more {
			return dst, nil
		}
		line = rest
	}
}

// closingQuote returns where the quote that opens line closes, -1 if nowhere.
func closingQuote(line []byte) int {
	for i := 1; i < len(line); i++ {
		if line[i] != '"' {
			continue
		}
		if i+1 < len(line) && line[i+1] == '"' {
			i++
			continue
		}
		return i
	}
	return -1
}
