package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	root   = "../.."
	module = "github.com/sinter-go/sinter"
)

// source is a Go file of the module.
type source struct {
	path      string // from the root, with slashes
	text      string
	file      *ast.File
	fset      *token.FileSet
	generated bool
}

func (s *source) test() bool { return strings.HasSuffix(s.path, "_test.go") }
func (s *source) dir() string {
	if i := strings.LastIndexByte(s.path, '/'); i >= 0 {
		return s.path[:i]
	}
	return "."
}
func (s *source) line(p token.Pos) int { return s.fset.Position(p).Line }

// sources are the Go files of the module, without test data.
var sources = sync.OnceValues(func() ([]*source, error) {
	var out []*source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (d.Name()[0] == '.' || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		s := &source{path: filepath.ToSlash(rel), text: string(text), fset: token.NewFileSet()}
		if s.file, err = parser.ParseFile(s.fset, s.path, text, parser.ParseComments); err != nil {
			return err
		}
		s.generated = ast.IsGenerated(s.file)
		out = append(out, s)
		return nil
	})
	return out, err
})

func files(t *testing.T) []*source {
	t.Helper()
	list, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestFileSizes: hand-written files have at most 1,000 lines, nine in ten at most 500.
func TestFileSizes(t *testing.T) {
	var sizes []int
	for _, s := range files(t) {
		if s.generated {
			continue
		}
		n := strings.Count(s.text, "\n")
		if n > 1000 {
			t.Errorf("%s has %d lines, at most 1000 are allowed: split it by concept", s.path, n)
		}
		sizes = append(sizes, n)
	}
	sort.Ints(sizes)
	if p90 := sizes[len(sizes)*9/10]; p90 > 500 {
		t.Errorf("one file in ten has more than %d lines, at most 500 are wanted", p90)
	} else {
		t.Logf("%d files, nine in ten of at most %d lines, the longest of %d", len(sizes), p90, sizes[len(sizes)-1])
	}
}

// TestNoCgo: no file imports C, and everything builds without it.
func TestNoCgo(t *testing.T) {
	for _, s := range files(t) {
		for _, i := range s.file.Imports {
			if i.Path.Value == `"C"` {
				t.Errorf("%s imports C", s.path)
			}
		}
	}
	if testing.Short() {
		t.Skip("listing packages takes a second")
	}
	cmd := exec.Command("go", "list", "-deps", "-f", "{{if .CgoFiles}}{{.ImportPath}}{{end}}", "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Skipf("go list: %v\n%s", err, out)
	}
	if names := strings.Fields(string(out)); len(names) > 0 {
		t.Errorf("these packages have cgo files: %v", names)
	}
}

// environment lists who may read which variables of the environment.
var environment = map[string]string{
	"cmd":            "TERM, NO_COLOR and COLUMNS are the terminal's own conventions",
	"internal/debug": "all switches of ours are here",
	"cuda/driver":    "SystemRoot says where Windows keeps its libraries",
}

// TestEnvironment: nobody else reads the environment.
func TestEnvironment(t *testing.T) {
	for _, s := range files(t) {
		if s.test() || allowed(environment, s.dir()) {
			continue
		}
		calls(s, func(pkg, name string, at token.Pos) {
			if pkg == "os" && (name == "Getenv" || name == "LookupEnv" || name == "Environ") {
				t.Errorf("%s:%d: os.%s outside %v", s.path, s.line(at), name, keys(environment))
			}
		})
	}
}

// allowed reports whether a folder or one above it is listed.
func allowed(list map[string]string, dir string) bool {
	for d := range list {
		if dir == d || strings.HasPrefix(dir, d+"/") {
			return true
		}
	}
	return false
}

func keys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// calls walks the qualified calls of a file.
func calls(s *source, f func(pkg, name string, at token.Pos)) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			if sel, ok := c.Fun.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok {
					f(x.Name, sel.Sel.Name, c.Pos())
				}
			}
		}
		return true
	})
}

// panicsElsewhere lists packages whose panics have no prefix, and why.
var panicsElsewhere = map[string]string{
	"kernel/amd64":       "refusals, and faults of generation: caught in Compile, which then refuses the kernel",
	"kernel/ptx/ptxtest": "made for tests",
	"backend/faulty":     "made for tests",
	"cuda/driver":        "calls that a caller of the driver must not make; the device's goroutine recovers",
}

// TestPanics: a panic is a fault of ours and says so, or passes on one that was
// recovered.
func TestPanics(t *testing.T) {
	for _, s := range files(t) {
		if s.test() || allowed(panicsElsewhere, s.dir()) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if id, ok := c.Fun.(*ast.Ident); !ok || id.Name != "panic" || len(c.Args) != 1 {
				return true
			}
			if text := firstString(c.Args[0]); text == "" {
				if _, isCall := c.Args[0].(*ast.CallExpr); isCall {
					t.Errorf("%s:%d: a panic without a text", s.path, s.line(c.Pos()))
				}
			} else if !strings.HasPrefix(text, "sinter") || !strings.Contains(text, "BUG") {
				t.Errorf("%s:%d: the panic says %q, which does not begin with sinter and BUG", s.path, s.line(c.Pos()), text)
			}
			return true
		})
	}
}

// firstString is the first string literal of an expression.
func firstString(e ast.Expr) string {
	text := ""
	ast.Inspect(e, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING && text == "" {
			text, _ = strconv.Unquote(l.Value)
		}
		return text == ""
	})
	return text
}

// TestNoLeftovers: nothing says that it is to be done later.
func TestNoLeftovers(t *testing.T) {
	words := []string{"TO" + "DO", "FIX" + "ME", "XX" + "X", "not imple" + "mented"}
	for _, s := range files(t) {
		for i, l := range strings.Split(s.text, "\n") {
			for _, w := range words {
				if strings.Contains(l, w) {
					t.Errorf("%s:%d: says %s", s.path, i+1, w)
				}
			}
		}
	}
}
