// Package tune chooses between ways to do the same: block sizes, thresholds, times
// to wait. Candidates of a choice give the same bits, so that what was measured on a
// machine, or was not, never changes an answer; tests of those who offer a choice
// prove it for every candidate.
//
// A measurement ranks the candidates of a bucket: a class of launches that are alike.
// A bucket is coarser than a launch, so each launch asks for itself which candidate
// fits it, in the order of the ranking ([Pick]): one that was best for another launch
// of the bucket and does not fit this one is passed over, and if none fits the error
// says why for each. Rankings are kept in a file of the machine ([Open]).
package tune

import (
	"fmt"
	"strings"

	"github.com/sinter-go/sinter/ir"
)

// Choice is a decision between candidates, the first of which is taken where nothing
// was measured. Names of candidates are distinct: files of rankings have them.
type Choice[C any] struct {
	Name       string
	Candidates []Candidate[C]
}

// Candidate is one way.
type Candidate[C any] struct {
	Name string
	Is   C
}

// Reason says why a candidate was not taken.
type Reason string

// The reasons.
const (
	Unfit    Reason = "does not fit"      // the launch
	NoMemory Reason = "not enough memory" // for it
	Missing  Reason = "unsupported"       // by the processor or device
)

// Refusal is a candidate that was passed over, or not measured. It is an error of
// kind [ir.ErrMemory] if memory was missing, else [ir.ErrUnsupported].
type Refusal struct {
	Candidate string
	Reason    Reason
	Detail    string
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("candidate %s: %s: %s", r.Candidate, r.Reason, r.Detail)
}

// Is says of which kind the error is.
func (r *Refusal) Is(kind error) bool {
	if r.Reason == NoMemory {
		return kind == ir.ErrMemory
	}
	return kind == ir.ErrUnsupported
}

// NoCandidate is the error of a launch that no candidate fits.
type NoCandidate struct {
	Choice, Bucket string
	Refused        []*Refusal
}

func (e *NoCandidate) Error() string {
	var why []string
	for _, r := range e.Refused {
		why = append(why, r.Error())
	}
	return fmt.Sprintf("tune: no way to do %s for %s: %s", e.Choice, e.Bucket, strings.Join(why, "; "))
}

// Unwrap returns the refusals.
func (e *NoCandidate) Unwrap() []error {
	out := make([]error, len(e.Refused))
	for i, r := range e.Refused {
		out[i] = r
	}
	return out
}

// Pick returns the first candidate that fits a launch: the measured ones of its
// bucket from the fastest on, then the others in the order of the choice. fits
// returns nil, or why the candidate cannot be taken for this launch; nil for fits
// means that all can. The error is a [*NoCandidate].
//
// t may be nil: then nothing was measured.
func Pick[C any](t *Table, c *Choice[C], bucket string, fits func(C) *Refusal) (C, error) {
	failed := &NoCandidate{Choice: c.Name, Bucket: bucket}
	try := func(x *Candidate[C]) bool {
		if fits == nil {
			return true
		}
		r := fits(x.Is)
		if r == nil {
			return true
		}
		named := *r
		named.Candidate = x.Name
		failed.Refused = append(failed.Refused, &named)
		return false
	}
	ranking := t.ranking(c.Name, bucket)
	for _, name := range ranking {
		if x := c.find(name); x != nil && try(x) {
			return x.Is, nil
		}
	}
	for i := range c.Candidates {
		x := &c.Candidates[i]
		if !contains(ranking, x.Name) && try(x) {
			return x.Is, nil
		}
	}
	var none C
	return none, failed
}

func (c *Choice[C]) find(name string) *Candidate[C] {
	for i := range c.Candidates {
		if c.Candidates[i].Name == name {
			return &c.Candidates[i]
		}
	}
	return nil
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// Bucket names the class of sizes: each is rounded up to a power of two.
func Bucket(sizes ...int64) string {
	text := make([]string, len(sizes))
	for i, n := range sizes {
		p := int64(1)
		for p < n && p < 1<<62 {
			p <<= 1
		}
		text[i] = fmt.Sprint(p)
	}
	return strings.Join(text, "x")
}
