package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/ir"
)

// knowRows lists files and folders that name elementwise rows, and why that does
// not make them a second place of their definition.
var knowRows = map[string]string{
	"ir/graph.go":          "the operators of gradient texts, which are rows by definition",
	"lower/copy.go":        "a copy is a cast to the same dtype",
	"ir/irtest":            "the arguments of random programs are made from casts, constants and ranges",
	"backend/backendtest":  "definitions to test against, by another hand",
	"kernel":               "names of instructions, some of which are also rows",
	"internal/exact":       "oracles to test against",
	"internal/metamorphic": "tests",
	"nn":                   "a user of tensors",
	"optim":                "a user of tensors",
	"autodiff":             "a user of tensors",
	"train":                "a user of tensors",
	"onnx":                 "names of another standard",
	"cmd":                  "a user of tensors",
	"bench":                "a user of tensors",
	"examples":             "users of tensors",
}

// definesRows reports whether a file is part of the table.
func definesRows(s *source) bool {
	return s.dir() == "ir" && (strings.HasPrefix(path.Base(s.path), "ops_") || strings.HasPrefix(path.Base(s.path), "math_"))
}

// callers lists the hand-written files of the root package that call elementwise
// methods or name rows, with the reason.
var callers = map[string]string{
	"ir/build.go":          "operators for gradients in Go, which use rows",
	"ir/grad_linalg.go":    "gradients in Go, which use rows",
	"ir/grad_attention.go": "gradients in Go, which use rows",
	"ir/lang.go":           "the name of unary minus in texts",
	"create.go":            "constants and ranges are rows without operands, and have no generated method",
	"record.go":            "the rows without operands",
	"fusion/constant.go":   "a constant is a row without operands",
	"views.go":             "Cast has an attribute, and returns a tensor of the same dtype unchanged",
	"draws.go":             "an attribute is named threshold, as a row is",
	"quantized.go":         "the rows of codes have attributes, and are reached through Quantized",
	"index.go":             "Where takes constants on either side",
	"elementary.go":        "methods of rows with three operands or with attributes, which are not generated",
}

// TestOneOperationOneRow counts the hand-written files that mention an elementwise
// row by name. A new one must touch one file.
func TestOneOperationOneRow(t *testing.T) {
	rows := map[string]bool{}
	methods := map[string]string{}
	for _, r := range ir.Rows() {
		if r.Access == ir.Elementwise {
			rows[r.Name] = true
			if r.Method != "" {
				methods[r.Method] = r.Name
			}
		}
	}
	mentions := map[string]map[string]bool{} // row: files
	note := func(s *source, row string) {
		if mentions[row] == nil {
			mentions[row] = map[string]bool{}
		}
		mentions[row][s.path] = true
	}
	byFile := map[string][]string{}
	for _, s := range files(t) {
		if s.test() || s.generated || definesRows(s) || allowed(knowRows, s.dir()) || knowRows[s.path] != "" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.BasicLit:
				if x.Kind == token.STRING {
					if v, err := strconv.Unquote(x.Value); err == nil && rows[v] {
						note(s, v)
						byFile[s.path] = append(byFile[s.path], fmt.Sprintf("%d %q", s.line(x.Pos()), v))
					}
				}
			case *ast.FuncDecl: // a method of Tensor written by hand beside the generated one
				if r := methods[x.Name.Name]; r != "" && x.Recv != nil && s.dir() == "." && receiver(x) == "Tensor" {
					note(s, r)
					byFile[s.path] = append(byFile[s.path], fmt.Sprintf("%d func %s", s.line(x.Pos()), x.Name.Name))
				}
			}
			return true
		})
	}
	for file, list := range byFile {
		if callers[file] == "" {
			t.Errorf("%s names elementwise rows (%s): an operation is defined in its row alone; list the file with a reason if it must",
				file, strings.Join(list, ", "))
		}
	}
	for file := range callers {
		if byFile[file] == nil && exists(file) {
			t.Errorf("%s is listed as naming elementwise rows, and names none", file)
		}
	}
	worst := []string{}
	for row, in := range mentions {
		worst = append(worst, fmt.Sprintf("%d %s", len(in), row))
	}
	sort.Sort(sort.Reverse(sort.StringSlice(worst)))
	t.Logf("%d elementwise rows, %d of them named by files beside their own: %v", len(rows), len(mentions), worst)
}

// receiver is the name of a method's type.
func receiver(f *ast.FuncDecl) string {
	e := f.Recv.List[0].Type
	if p, ok := e.(*ast.StarExpr); ok {
		e = p.X
	}
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// TestRowsDeclare: every row says what the tests need.
func TestRowsDeclare(t *testing.T) {
	for _, r := range ir.Rows() {
		if !strings.HasSuffix(r.Doc, ".") {
			t.Errorf("%s: the doc is no sentence: %q", r.Name, r.Doc)
		}
		if len(r.Samples) == 0 && r.Access != ir.Elementwise {
			t.Errorf("%s: no sample", r.Name)
		}
	}
}
