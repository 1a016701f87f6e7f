package lint

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata")

// TestGenerated: the methods made from the op table are those in the file.
func TestGenerated(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the generator")
	}
	file := filepath.Join(t.TempDir(), "methods.go")
	cmd := exec.Command("go", "run", "./internal/gen", file)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the generator: %v\n%s", err, out)
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, "tensor_ops.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("tensor_ops.go is not what the op table gives: run go generate in the root")
	}
}

// TestPublicNames: the exported names of the root package are those of a golden
// file, so that none comes or goes unseen.
func TestPublicNames(t *testing.T) {
	got := strings.Join(publicNames(t), "\n") + "\n"
	const golden = "testdata/api.txt"
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	had := map[string]bool{}
	for _, l := range strings.Split(string(want), "\n") {
		had[l] = true
	}
	for _, l := range strings.Split(got, "\n") {
		if !had[l] {
			t.Errorf("new: %s", l)
		}
		delete(had, l)
	}
	for l := range had {
		t.Errorf("gone: %s", l)
	}
	if t.Failed() {
		t.Log("if this is meant: go test ./internal/lint -run TestPublicNames -update")
	}
}

// publicNames lists the exported constants, variables, types, fields, functions
// and methods of the root package.
func publicNames(t *testing.T) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, s := range files(t) {
		if s.dir() != "." || s.test() {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				switch {
				case !d.Name.IsExported():
				case d.Recv == nil:
					add("func %s", d.Name.Name)
				case ast.IsExported(receiver(d)):
					add("method %s.%s", receiver(d), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.ValueSpec:
						for _, n := range spec.Names {
							if n.IsExported() {
								add("%s %s", d.Tok, n.Name)
							}
						}
					case *ast.TypeSpec:
						if !spec.Name.IsExported() {
							continue
						}
						add("type %s", spec.Name.Name)
						if st, ok := spec.Type.(*ast.StructType); ok {
							for _, f := range st.Fields.List {
								for _, n := range f.Names {
									if n.IsExported() {
										add("field %s.%s", spec.Name.Name, n.Name)
									}
								}
							}
						}
					}
				}
			}
		}
	}
	sort.Strings(out)
	return out
}

var (
	fence  = regexp.MustCompile("(?s)```.*?```")
	quoted = regexp.MustCompile("`([^`\n]+)`")
	name   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*(\(.*\))?$`)
	isPath = regexp.MustCompile(`^[A-Za-z0-9_.*/-]+$`)
)

// TestDocuments: what the documents quote exists: paths, and names that occur in
// the source.
func TestDocuments(t *testing.T) {
	words := map[string]bool{}
	word := regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
	for _, s := range files(t) {
		for _, w := range word.FindAllString(s.text, -1) {
			words[w] = true
		}
	}
	for _, doc := range []string{"ARCHITECTURE.md", "README.md"} {
		text, err := os.ReadFile(filepath.Join(root, doc))
		if err != nil {
			t.Logf("%v", err)
			continue
		}
		n := 0
		for _, m := range quoted.FindAllStringSubmatch(fence.ReplaceAllString(string(text), ""), -1) {
			q := strings.TrimSpace(m[1])
			base := strings.TrimSuffix(strings.SplitN(q, "(", 2)[0], "@")
			switch {
			case isPath.MatchString(q) && (strings.HasSuffix(q, "/") || strings.HasSuffix(q, ".go") || strings.HasSuffix(q, ".md")):
				n++
				if !exists(q) {
					t.Errorf("%s quotes %q, which is no file or folder", doc, q)
				}
			case name.MatchString(q):
				n++
				for _, w := range strings.Split(base, ".") {
					if !words[w] && !exists(w) {
						t.Errorf("%s quotes %q; the source has no %s", doc, q, w)
					}
				}
			}
		}
		t.Logf("%s: %d names and paths", doc, n)
	}
}

// exists reports whether a path or pattern names something in the module, from
// the root or in any of its folders.
func exists(pattern string) bool {
	pattern = strings.TrimSuffix(pattern, "/")
	for _, dir := range []string{"", "*", "*/*"} {
		if m, err := filepath.Glob(filepath.Join(root, dir, pattern)); err == nil && len(m) > 0 {
			return true
		}
	}
	return false
}
