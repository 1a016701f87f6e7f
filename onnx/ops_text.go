package onnx

import (
	"fmt"
	"strconv"
)

var _ = register(
	opDef{name: "TfIdfVectorizer", since: 9, in: one, out: one, narrow: true, run: tfIdfOp, attrs: []attrSpec{
		need("max_gram_length", AttrInt), need("max_skip_count", AttrInt), need("min_gram_length", AttrInt), need("mode", AttrString),
		need("ngram_counts", AttrInts), need("ngram_indexes", AttrInts), plainAttr("pool_int64s", AttrInts), plainAttr("pool_strings", AttrStrings),
		plainAttr("weights", AttrFloats)}},
)

// grams are the sequences that TfIdfVectorizer counts: of each length from 1, by
// their words, the column of the output.
type grams struct {
	byWords []map[string]int // of length 1, 2, ...
	column  []int            // of the output, of gram i of the pool
	columns int
}

// word quotes a word, so that words in a row have one reading.
func word(s string) string { return strconv.Quote(s) + " " }

// newGrams reads the pool of grams from the attributes.
func newGrams(c *Call) (*grams, error) {
	var pool []string
	for _, v := range c.Ints("pool_int64s") {
		pool = append(pool, strconv.Itoa(v))
	}
	pool = append(pool, c.Strs("pool_strings")...)
	starts := c.Ints("ngram_counts")
	g := &grams{column: c.Ints("ngram_indexes")}
	for _, k := range g.column {
		if k < 0 || k >= 1<<24 {
			return nil, fmt.Errorf("a gram in column %d", k)
		}
		g.columns = max(g.columns, k+1)
	}
	id := 0
	for i, from := range starts {
		n, to := i+1, len(pool)
		if i+1 < len(starts) {
			to = starts[i+1]
		}
		if from < 0 || to < from || to > len(pool) || (to-from)%n != 0 {
			return nil, fmt.Errorf("ngram_counts %v for a pool of %d words", starts, len(pool))
		}
		words := map[string]int{}
		for ; from < to; from += n {
			key := ""
			for _, w := range pool[from : from+n] {
				key += word(w)
			}
			words[key] = id
			id++
		}
		g.byWords = append(g.byWords, words)
	}
	if id != len(g.column) {
		return nil, fmt.Errorf("%d grams for %d ngram_indexes", id, len(g.column))
	}
	return g, nil
}

// count adds up the grams of a row of words, whose words may lie up to skip+1
// apart.
func (g *grams) count(row []string, least, most, skip int) []int {
	counts := make([]int, len(g.column))
	for s := 0; s <= skip && s < max(len(row), 1); s++ {
		for n := least; n <= min(most, len(g.byWords)); n++ {
			if n == 1 && s > 0 || len(g.byWords[n-1]) == 0 {
				continue // single words have no distance
			}
			for from := 0; from+(n-1)*(s+1) < len(row); from++ {
				key := ""
				for k := range n {
					key += word(row[from+k*(s+1)])
				}
				if id, ok := g.byWords[n-1][key]; ok {
					counts[id]++
				}
			}
		}
	}
	return counts
}

// tfIdfOp counts grams of words or numbers in each row of its input.
func tfIdfOp(c *Call) error {
	h, err := c.Host(0)
	if err != nil {
		return err
	}
	words := h.Strs
	if h.Elem != String {
		v, err := h.ints()
		if err != nil {
			return err
		}
		for _, x := range v {
			words = append(words, strconv.Itoa(x))
		}
	}
	g, err := newGrams(c)
	if err != nil {
		return err
	}
	least, most, skip := c.Int("min_gram_length"), c.Int("max_gram_length"), c.Int("max_skip_count")
	weights := c.Floats("weights")
	mode := c.Str("mode")
	switch {
	case len(h.Shape) != 1 && len(h.Shape) != 2:
		return fmt.Errorf("words of shape %v, expected one or two axes", h.Shape)
	case least < 1 || most < least || skip < 0:
		return fmt.Errorf("grams of %d to %d words, up to %d apart", least, most, skip)
	case mode != "TF" && mode != "IDF" && mode != "TFIDF":
		return fmt.Errorf("the mode %q, expected TF, IDF or TFIDF", mode)
	case c.HasAttr("weights") && len(weights) != len(g.column):
		return fmt.Errorf("%d weights for %d grams", len(weights), len(g.column))
	}
	out := &Host{Elem: Float, Shape: []int{g.columns}}
	rows, width := 1, len(words)
	if len(h.Shape) == 2 {
		rows, width = h.Shape[0], h.Shape[1]
		out.Shape = []int{rows, g.columns}
	}
	if work := float64(rows) * float64(width) * float64(min(skip+1, width)) * float64(min(most, len(g.byWords))+1); work > 1<<28 {
		return fmt.Errorf("%d words with up to %d between them are too many", len(words), skip)
	}
	if rows*g.columns > 1<<24 {
		return fmt.Errorf("%d rows of %d columns are too many", rows, g.columns)
	}
	out.Floats = make([]float64, rows*g.columns)
	for r := range rows {
		for id, n := range g.count(words[r*width:(r+1)*width], least, most, skip) {
			if n == 0 {
				continue
			}
			v, w := float64(n), 1.0
			if c.HasAttr("weights") {
				w = weights[id]
			}
			switch mode {
			case "IDF":
				v = w
			case "TFIDF":
				v *= w
			}
			out.Floats[r*g.columns+g.column[id]] = round(Float, v)
		}
	}
	c.SetHost(0, out)
	return nil
}
