package fusion_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/irtest"
)

func planClient(t testing.TB, o fusion.Options, d cpu.Options) *fusion.Client {
	t.Helper()
	dev, err := cpu.New(d)
	if err != nil {
		t.Fatal(err)
	}
	c := fusion.New(dev, o)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// randomPrograms returns programs with contents for their inputs.
func randomPrograms(n int) (ps []*ir.Program, in [][][]byte) {
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 91))
		p := irtest.Random(rng, irtest.Options{Nodes: 16})
		var data [][]byte
		for _, t := range p.Inputs {
			b := make([]byte, t.Bytes())
			if t.DType.IsFloat() && t.DType.Size() == 4 {
				for i := 0; i+4 <= len(b); i += 4 {
					binary.NativeEndian.PutUint32(b[i:], 0x3f000000|rng.Uint32()&0x80ffffff)
				}
			}
			data = append(data, b)
		}
		ps, in = append(ps, p), append(in, data)
	}
	return ps, in
}

// runAll runs programs, and returns what they give: bytes, or the text of an error.
func runAll(t testing.TB, c *fusion.Client, ps []*ir.Program, in [][][]byte) (out []string) {
	t.Helper()
	for i, p := range ps {
		data, errs, err := c.RunProgram(context.Background(), p, in[i])
		if err != nil {
			t.Fatal(err)
		}
		for k := range data {
			if errs[k] != nil {
				out = append(out, errs[k].Error())
			} else {
				out = append(out, string(data[k].Bytes))
			}
		}
	}
	return out
}

func compiled(t testing.TB, c *fusion.Client) int64 {
	t.Helper()
	n, ok := backend.As[backend.Counting](c)
	if !ok {
		t.Fatal("the device does not count")
	}
	x := n.Counters()
	return x.Compiled + x.Interpreted
}

func savePlans(t testing.TB, c *fusion.Client, opts ...fusion.PlanOption) []byte {
	t.Helper()
	var b bytes.Buffer
	rep, err := c.SavePlans(&b, opts...)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Bytes != int64(b.Len()) || rep.Skipped != 0 {
		t.Fatalf("%+v for %d bytes", rep, b.Len())
	}
	return b.Bytes()
}

// TestPlansPersist: a client that loaded the plans of another runs the same programs
// without a search, without a compilation, and with the same bits.
func TestPlansPersist(t *testing.T) {
	ps, in := randomPrograms(40)
	first := planClient(t, fusion.Options{}, cpu.Options{})
	want := runAll(t, first, ps, in)
	for _, trusted := range []bool{false, true} {
		var save, load []fusion.PlanOption
		if trusted {
			save, load = []fusion.PlanOption{fusion.WithCode()}, []fusion.PlanOption{fusion.WithTrustedCode()}
		}
		file := savePlans(t, first, save...)
		c := planClient(t, fusion.Options{}, cpu.Options{})
		rep, err := c.LoadPlans(bytes.NewReader(file), load...)
		if err != nil || rep.Refused != nil {
			t.Fatalf("%+v, %v", rep, err)
		}
		t.Logf("trusted %v: %d bytes, %+v", trusted, len(file), rep)
		if st := first.Stats(); rep.Plans < st.Plans || rep.Known != 0 {
			t.Errorf("loaded %+v of %+v", rep, st)
		}
		before := compiled(t, c)
		if trusted && rep.Code > 0 && (rep.Compiled != 0 || before > int64(rep.Code)/4) { // those of routines are
			t.Errorf("%d kernels compiled for a report of %+v", before, rep)
		}
		got := runAll(t, c, ps, in)
		st := c.Stats()
		if st.Searches != 0 || st.Rebound != 0 || st.Hits == 0 {
			t.Errorf("after loading: %+v", st)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("output %d differs", i)
			}
		}
		// Copies of views that are read are no part of plans.
		t.Logf("compiled while loading %d, afterwards %d", before, compiled(t, c)-before)
		if again, err := c.LoadPlans(bytes.NewReader(file), load...); err != nil || again.Plans != 0 || again.Known != rep.Plans {
			t.Errorf("loaded a second time: %+v, %v", again, err)
		}
		// Saved again, after the same runs, it is the same set of plans.
		if n := len(savePlans(t, c, save...)); n < len(file)*9/10 || n > len(file)*11/10 {
			t.Errorf("saved again %d bytes, first %d", n, len(file))
		}
	}
}

// reseal writes the hash that the content of a file has.
func reseal(b []byte) []byte {
	n, size := binary.Uvarint(b[8:])
	head := 8 + size + int(n)
	sum := sha256.New()
	sum.Write(b[:head])
	sum.Write(b[head+sha256.Size:])
	copy(b[head:], sum.Sum(nil))
	return b
}

func reasonOf(err error) fusion.PlansReason {
	var r *fusion.PlansRefused
	if errors.As(err, &r) {
		return r.Reason
	}
	return ""
}

// TestPlansRefused: files of other builds, tables, devices and options, and damaged
// ones, are refused with the reason, before anything of them is used.
func TestPlansRefused(t *testing.T) {
	ps, in := randomPrograms(3)
	first := planClient(t, fusion.Options{}, cpu.Options{})
	runAll(t, first, ps, in)
	file := savePlans(t, first, fusion.WithCode())
	load := func(b []byte, o fusion.Options, opts ...fusion.PlanOption) error {
		c := planClient(t, o, cpu.Options{})
		rep, err := c.LoadPlans(bytes.NewReader(b), opts...)
		if err != nil && (rep != fusion.LoadedPlans{} || c.Stats().Plans != 0 || !errors.Is(err, ir.ErrFormat)) {
			t.Errorf("%v, and loaded %+v", err, rep)
		}
		return err
	}
	change := func(from, to string) []byte {
		b := bytes.Replace(bytes.Clone(file), []byte(from), []byte(to), 1)
		if bytes.Equal(b, file) {
			t.Fatalf("the file has no %q", from)
		}
		return reseal(b)
	}
	for _, c := range []struct {
		b    []byte
		o    fusion.Options
		want fusion.PlansReason
	}{
		{nil, fusion.Options{}, fusion.PlansNoFile},
		{[]byte("PK\x03\x04 and more bytes"), fusion.Options{}, fusion.PlansNoFile},
		{file[:5], fusion.Options{}, fusion.PlansDamaged},
		{file[:len(file)-1], fusion.Options{}, fusion.PlansDamaged},
		{append(file[:len(file)-1:len(file)-1], file[len(file)-1]^1), fusion.Options{}, fusion.PlansDamaged},
		{change("1\x05"+runtime.GOARCH, "1\x05"+strings.Repeat("z", len(runtime.GOARCH))), fusion.Options{}, fusion.PlansArch},
		{change("unfused=false", "unfused=wrong"), fusion.Options{}, fusion.PlansOptions},
		{file, fusion.Options{Plan: fusion.PlanOptions{MaxNodes: 7}}, fusion.PlansOptions},
		{file, fusion.Options{Oracle: true}, fusion.PlansOptions},
	} {
		if c.b != nil && c.want == fusion.PlansArch && len(runtime.GOARCH) != 5 {
			continue
		}
		if err := load(c.b, c.o); reasonOf(err) != c.want {
			t.Errorf("got %v, expected %q", err, c.want)
		}
	}
	if err := load(file, fusion.Options{}, fusion.WithMaxBytes(100)); reasonOf(err) != fusion.PlansTooLarge {
		t.Error(err)
	}
	c := planClient(t, fusion.Options{}, cpu.Options{Generator: cpu.Interpret})
	if rep, err := c.LoadPlans(bytes.NewReader(file), fusion.WithTrustedCode()); err == nil && reasonOf(rep.Refused) == "" && rep.Code != 0 {
		t.Errorf("an interpreting device took code: %+v", rep)
	}
}

// TestPlansMaxBytes: a bounded file has the plans used last.
func TestPlansMaxBytes(t *testing.T) {
	ps, in := randomPrograms(12)
	first := planClient(t, fusion.Options{}, cpu.Options{})
	runAll(t, first, ps, in)
	whole := savePlans(t, first)
	limit := int64(len(whole)/2 + 64<<10)
	var b bytes.Buffer
	rep, err := first.SavePlans(&b, fusion.WithMaxBytes(limit))
	if err != nil || int64(b.Len()) > limit || rep.Plans == 0 {
		t.Fatalf("%d bytes, at most %d: %+v, %v", b.Len(), limit, rep, err)
	}
	c := planClient(t, fusion.Options{}, cpu.Options{})
	if got, err := c.LoadPlans(&b, fusion.WithMaxBytes(limit)); err != nil || got.Plans != rep.Plans {
		t.Fatalf("%+v of %+v, %v", got, rep, err)
	}
	runAll(t, c, ps[len(ps)-1:], in[len(in)-1:])
	if st := c.Stats(); st.Searches != 0 {
		t.Errorf("the last program was searched for: %+v", st)
	}
}

// checkPlans loads a file of any content and requires that what was taken computes
// what it should.
func checkPlans(t testing.TB, b []byte, ps []*ir.Program, in [][][]byte, want []string) {
	c := planClient(t, fusion.Options{}, cpu.Options{})
	if _, err := c.LoadPlans(bytes.NewReader(b), fusion.WithMaxBytes(1<<20)); err != nil {
		if reasonOf(err) == "" {
			t.Fatalf("%v: no refusal", err)
		}
		return
	}
	for i, s := range runAll(t, c, ps, in) {
		if s != want[i] {
			t.Fatalf("output %d differs after loading %x", i, b)
		}
	}
}

// TestPlansHostile changes bytes of a file, with the right hash: what is taken
// computes the same, and nothing panics.
func TestPlansHostile(t *testing.T) {
	ps, in := randomPrograms(2)
	first := planClient(t, fusion.Options{}, cpu.Options{})
	want := runAll(t, first, ps, in)
	file := savePlans(t, first)
	n, size := binary.Uvarint(file[8:])
	body := 8 + size + int(n) + sha256.Size
	rng := rand.New(rand.NewPCG(5, 5))
	rounds := 1500
	if testing.Short() {
		rounds = 200
	}
	for range rounds {
		b := bytes.Clone(file)
		for range 1 + rng.IntN(2) {
			at := body + rng.IntN(len(b)-body)
			b[at] = []byte{0, 1, 2, 0x7f, 0x80, 0xff, b[at] + 1, b[at] - 1, byte(rng.Uint32())}[rng.IntN(9)]
		}
		checkPlans(t, reseal(b), ps, in, want)
	}
}

// withBody returns a file with the header of another and a body of its own.
func withBody(file []byte, body int, content []byte) []byte {
	n, size := binary.Uvarint(file[8:])
	head := file[8+size : 8+size+int(n)]
	old := len(binary.AppendUvarint(nil, uint64(len(file)-body))) // the length ends the header
	head = binary.AppendUvarint(bytes.Clone(head[:len(head)-old]), uint64(len(content)))
	b := binary.AppendUvarint(bytes.Clone(file[:8]), uint64(len(head)))
	b = append(append(b, head...), make([]byte, sha256.Size)...)
	return reseal(append(b, content...))
}

func FuzzLoadPlans(f *testing.F) {
	ps, in := randomPrograms(1)
	first := planClient(f, fusion.Options{}, cpu.Options{})
	want := runAll(f, first, ps, in)
	file := savePlans(f, first)
	n, size := binary.Uvarint(file[8:])
	body := 8 + size + int(n) + sha256.Size
	if again := withBody(file, body, file[body:]); !bytes.Equal(again, file) {
		f.Fatal("the header is not understood")
	}
	f.Add(file[body:])
	f.Fuzz(func(t *testing.T, content []byte) { checkPlans(t, withBody(file, body, content), ps, in, want) })
}

// TestPlansOfFusers: the optimization of a third party's fuser is saved by its state
// and made again by Restore; a client without the fuser refuses the file.
func TestPlansOfFusers(t *testing.T) {
	withFuser := fusion.Options{Fusers: []fusion.Fuser{doubleNeg{}}}
	p := parse(t, "program twice\n  in %1 f32[3]\n  %2 = neg %1\n  %3 = neg %2\n  out %3\n")
	in := [][][]byte{{f32Bytes(1, -2, 3)}}
	open := func(o fusion.Options) *fusion.Client {
		return planClient(t, o, cpu.Options{Routines: map[string]cpu.Routine{copyRow.Name: func(c *backend.Call) error {
			copy(c.Out[0].Data, c.In[0].Data)
			return nil
		}}})
	}
	first := open(withFuser)
	want := runAll(t, first, []*ir.Program{p}, in)
	var blocks []fusion.ExplainBlock
	c := open(withFuser)
	defer c.Inspect(func(r fusion.Run) { blocks = append(blocks, r.Explain().Blocks...) })()
	file := savePlans(t, first)
	if rep, err := c.LoadPlans(bytes.NewReader(file)); err != nil || rep.Plans != 1 || rep.Refused != nil {
		t.Fatalf("%+v, %v", rep, err)
	}
	if got := runAll(t, c, []*ir.Program{p}, in); got[0] != want[0] {
		t.Errorf("got % x, want % x", got, want)
	}
	if st := c.Stats(); st.Searches != 0 {
		t.Errorf("%+v", st)
	}
	custom := 0
	for _, b := range blocks {
		if b.Kind == fusion.CustomBlock && b.Fuser == "double neg" {
			custom++
		}
	}
	if custom != 1 {
		t.Errorf("%d blocks of the fuser: %+v", custom, blocks)
	}
	if _, err := open(fusion.Options{}).LoadPlans(bytes.NewReader(file)); reasonOf(err) != fusion.PlansOptions {
		t.Errorf("without the fuser: %v", err)
	}
}

// TestPlansLearnt: what a late read taught is loaded: the result is stored at once.
func TestPlansLearnt(t *testing.T) {
	round := func(r *recorder) int {
		runs := 0
		defer r.c.Inspect(func(fusion.Run) { runs++ })()
		h := r.do("exp", []*fusion.Value{r.upload(100, 1000)})
		y := r.do("add", []*fusion.Value{h, h})
		r.read(y)
		r.read(h)
		return runs
	}
	first := newRecorder(t, fusion.Options{})
	if n := round(first); n != 2 {
		t.Fatalf("%d runs, want one and a recipe", n)
	}
	round(first)
	c := newRecorder(t, fusion.Options{})
	if _, err := c.c.LoadPlans(bytes.NewReader(savePlans(t, first.c))); err != nil {
		t.Fatal(err)
	}
	if n := round(c); n != 1 || c.c.Stats().Searches != 0 {
		t.Errorf("%d runs, want 1: %+v", n, c.c.Stats())
	}
}
