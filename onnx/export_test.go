package onnx

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/irtest"
)

// runProgram runs a program of rows as it is.
func runProgram(t testing.TB, p *ir.Program, inputs [][]byte) ([]backend.Data, []error) {
	t.Helper()
	b, err := cpu.New(cpu.Options{ID: "export-test"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for i, in := range p.Inputs {
		if err := b.Upload(in, inputs[i]); err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	if err := b.Submit(ctx, p.Nodes); err != nil {
		t.Fatal(err)
	}
	data, errs, err := b.Read(ctx, p.Outputs...)
	if err != nil {
		t.Fatal(err)
	}
	return data, errs
}

// exportAndRun writes a program as a file, reads the file and runs it.
func exportAndRun(t testing.TB, tr *Traced, inputs map[string]sinter.Array) (map[string]*Value, error) {
	t.Helper()
	m, err := Export(tr)
	if err != nil {
		return nil, err
	}
	b, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Parse(b)
	if err != nil {
		t.Fatalf("the file that was written: %v", err)
	}
	prog, err := back.Compile()
	if err != nil {
		t.Fatalf("the file that was written: %v", err)
	}
	in := map[string]*Value{}
	for name, a := range inputs {
		in[name] = ArrayValue(ElemOf(a.DType), a)
	}
	out, err := prog.RunValues(context.Background(), in)
	if err != nil {
		return nil, fmt.Errorf("running what was exported: %w", err)
	}
	return out, nil
}

// sameBits compares elements; any NaN equals any NaN.
func sameBits(d ir.DType, a, b []byte) int {
	size := d.Size()
	if len(a) != len(b) {
		return 0
	}
	for i := 0; i < len(a); i += size {
		if string(a[i:i+size]) == string(b[i:i+size]) {
			continue
		}
		if d.IsFloat() && isNaN(d, a[i:i+size]) && isNaN(d, b[i:i+size]) {
			continue
		}
		return i / size
	}
	return -1
}

func isNaN(d ir.DType, b []byte) bool {
	v := hostOf(ElemOf(d), sinter.Array{DType: d, Shape: []int{1}, Bytes: b}).Floats[0]
	return v != v
}

// checkExport compares a program with what was exported of it. It returns the
// error of Export if it refuses.
func checkExport(t *testing.T, p *ir.Program, data [][]byte) error {
	t.Helper()
	tr := &Traced{Program: p}
	in := map[string]sinter.Array{}
	for i, v := range p.Inputs {
		tr.Inputs = append(tr.Inputs, fmt.Sprintf("in%d", i))
		in[tr.Inputs[i]] = sinter.Array{DType: v.DType, Shape: v.Shape, Bytes: data[i]}
	}
	for i := range p.Outputs {
		tr.Outputs = append(tr.Outputs, fmt.Sprintf("out%d", i))
	}
	out, err := exportAndRun(t, tr, in)
	if err != nil && strings.Contains(err.Error(), "export: ") {
		return err
	}
	if err != nil {
		t.Errorf("%v\n%s", err, p)
		return nil
	}
	want, errs := runProgram(t, p, data)
	for i := range want {
		if errs[i] != nil {
			continue
		}
		got, err := out[tr.Outputs[i]].Array(context.Background())
		if err != nil {
			t.Errorf("output %d: %v\n%s", i, err, p)
			continue
		}
		w := want[i]
		if got.DType != w.Type.DType || !slices.Equal(got.Shape, []int(w.Type.Shape)) {
			t.Errorf("output %d is %s%v, expected %s\n%s", i, got.DType, got.Shape, w.Type, p)
			continue
		}
		if at := sameBits(got.DType, got.Bytes, w.Bytes); at >= 0 {
			size := got.DType.Size()
			t.Errorf("output %d, element %d: % x, the program has % x\n%s", i, at, got.Bytes[at*size:(at+1)*size], w.Bytes[at*size:(at+1)*size], p)
		}
	}
	return nil
}

// oneRow is a program of one row.
func oneRow(r *ir.Row, in []ir.Type, attrs ir.Attrs) (*ir.Program, error) {
	out, err := ir.Infer(r, in, attrs)
	if err != nil {
		return nil, err
	}
	p := &ir.Program{Name: r.Name}
	n := ir.Node{Row: r, Attrs: attrs}
	id := ir.ID(0)
	for _, t := range in {
		id++
		p.Inputs = append(p.Inputs, ir.Tensor{ID: id, Type: t})
	}
	n.In = p.Inputs
	for _, t := range out {
		id++
		n.Out = append(n.Out, ir.Tensor{ID: id, Type: t})
		p.Outputs = append(p.Outputs, id)
	}
	p.Nodes = []ir.Node{n}
	return p, nil
}

func TestExportRows(t *testing.T) {
	wrote, refused := map[string]int{}, map[string]int{}
	for _, r := range ir.Rows() {
		if r.Decompose != nil {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			samples := r.Samples
			if samples == nil && r.Access == ir.Elementwise {
				full, narrow := ir.Sample{}, ir.Sample{}
				for i := range r.Operands {
					full.Shapes = append(full.Shapes, ir.Shape{2, 3, 5})
					narrow.Shapes = append(narrow.Shapes, ir.Shape{2, 3, 5}[i:])
				}
				samples = []ir.Sample{full, narrow}
			}
			for _, s := range samples {
				for _, d := range ir.DTypes() {
					var in []ir.Type
					for i, shape := range s.Shapes {
						o := r.OperandAt(i)
						typ := ir.Type{DType: d, Shape: shape}
						if o.Class == ir.I64Class {
							typ.DType = ir.I64
						} else if o.Class == ir.BoolClass {
							typ.DType = ir.Bool
						}
						in = append(in, typ)
					}
					named := slices.Clone(s.Attrs)
					for _, spec := range r.Attrs {
						has := slices.ContainsFunc(named, func(n ir.Named) bool { return n.Name == spec.Name })
						if spec.Kind == ir.AttrDType && !has {
							named = append(named, ir.Named{Name: spec.Name, Value: d})
						}
						if spec.Kind == ir.AttrScalar && !has {
							named = append(named, ir.Named{Name: spec.Name, Value: ir.MakeScalar(d, 1)})
						}
					}
					attrs, err := r.MakeAttrs(named)
					if err != nil {
						continue
					}
					p, err := oneRow(r, in, attrs)
					if err != nil {
						continue
					}
					rng := rand.New(rand.NewPCG(uint64(r.Number), uint64(d)))
					for _, special := range []float64{0, 0.3} {
						if err := checkExport(t, p, irtest.InputData(rng, p, special)); err != nil {
							refused[r.Name]++
						} else {
							wrote[r.Name]++
						}
					}
				}
			}
		})
	}
	var never []string
	for name := range refused {
		if wrote[name] == 0 {
			never = append(never, name)
		}
	}
	slices.Sort(never)
	if got := strings.Join(never, " "); got != strings.Join(strings.Fields(neverExported), " ") {
		t.Errorf("rows that are not written: %s", got)
	}
	t.Logf("%d rows are written, %d are not", len(wrote), len(never))
}

// neverExported are the rows that have no counterpart in ONNX: elementary
// functions that it lacks, draws, factorizations, results whose extents depend on
// data, moments, and attention together with its statistic.
const neverExported = `
	atan2 attention attention_bias attention_grad_bias attention_grad_kv attention_grad_q bce_logits bernoulli cbrt cholesky_info copysign cummax cummin eigh erfc erfinv exp10 exp2 expm expm1 exponential floor_div fma gelu_grad
	gumbel irfft lerp log10 log1p log2 log_sigmoid logaddexp logit matrix_check nanmax nanmean nanmin nanstd nanvar nextafter nonzero normal
	normal_cdf pinv qr random_int recurrence searchsorted selu signbit slogdet solve_info std strided svd tanh_shrink triangular_solve_info uniform unique
	variance`

// TestExportRandomPrograms: programs of many rows keep their bits.
func TestExportRandomPrograms(t *testing.T) {
	never := strings.Fields(neverExported)
	var rows []*ir.Row
	for _, r := range ir.Rows() {
		if r.Decompose == nil && !slices.Contains(never, r.Name) {
			rows = append(rows, r)
		}
	}
	programs, wrote := 400, 0
	if testing.Short() {
		programs = 60
	}
	for seed := range programs {
		rng := rand.New(rand.NewPCG(uint64(seed), 7))
		p := irtest.Random(rng, irtest.Options{Nodes: 8, MaxElements: 512, Rows: rows})
		if checkExport(t, p, irtest.InputData(rng, p, 0.1)) == nil {
			wrote++
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d of %d programs are written", wrote, programs)
	if wrote < programs/4 {
		t.Errorf("only %d of %d programs are written", wrote, programs)
	}
}
