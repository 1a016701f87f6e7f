package data

import (
	"bytes"
	_ "embed"
	"fmt"
)

//go:embed digits.csv.gz
var digitsFile []byte

// digitsMax is the darkest pixel of the file.
const digitsMax = 16

// Digits returns 1,797 handwritten digits of 8×8 pixels from 0 (paper) to 1
// (ink), with labels 0 to 9. Each call decodes the embedded file anew, so the
// caller owns the result; an error means that the program was built from a
// damaged source tree.
//
// The data is "Optical Recognition of Handwritten Digits" by E. Alpaydin and
// C. Kaynak, UCI Machine Learning Repository, CC BY 4.0.
func Digits() (*Set, error) {
	s, err := ReadCSV(bytes.NewReader(digitsFile), 64)
	if err != nil {
		return nil, fmt.Errorf("embedded digits: %w", err)
	}
	for i := range s.Pixels {
		s.Pixels[i] /= digitsMax // exact, since it is a power of two
	}
	return s, nil
}
