package sallyport_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// sourceFile is one Go file of the module, parsed with its comments.
type sourceFile struct {
	name      string // slash-separated, from the module's root
	test      bool
	generated bool
	src       []byte
	ast       *ast.File
}

// sourcePackage is one directory of the module: every Go file of it, whatever its build constraints, and the types of
// the files that are not tests and are built here.
type sourcePackage struct {
	path  string // slash-separated, from the module's root; "." for the root
	fset  *token.FileSet
	files []*sourceFile
	types *types.Package
	info  *types.Info
	err   error // why there are no types, or not all
}

// finding is one breach of a rule.
type finding struct {
	where string
	what  string
}

func (f finding) String() string { return f.where + ": " + f.what }

func (p *sourcePackage) at(pos token.Pos, format string, args ...any) finding {
	at := p.fset.Position(pos)
	return finding{fmt.Sprintf("%s:%d", at.Filename, at.Line), fmt.Sprintf(format, args...)}
}

// production returns the files that are not tests.
func (p *sourcePackage) production() []*sourceFile {
	return slices.DeleteFunc(slices.Clone(p.files), func(f *sourceFile) bool { return f.test })
}

// loaded is the module as it was when it was first asked for.
var loaded = sync.OnceValues(loadModule)

// module returns every package of the module, sorted by path.
func module(t testing.TB) []*sourcePackage {
	t.Helper()
	pkgs, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return pkgs
}

// listed is what `go list -json` says of one package.
type listed struct {
	ImportPath, Dir, Export string
	Standard                bool
	GoFiles                 []string
	Module                  *struct{ Main bool }
	Error                   *struct{ Err string }
}

// exports maps import paths to their compiled export data, which the type checker reads.
var exports = sync.OnceValues(listExports)

func listExports() (map[string]listed, error) {
	// The few packages of the standard library that only the deliberately bad samples use are named.
	cmd := exec.Command("go", "list", "-e", "-export", "-deps",
		"-json=ImportPath,Dir,Export,Standard,GoFiles,Module,Error",
		"./...", "math/rand", "math/big", "net", "net/http", "os/exec", "reflect", "sync/atomic", "unsafe")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.Bytes())
	}
	all := map[string]listed{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all[l.ImportPath] = l
	}
}

// newImporter reads export data through the compiler's own list.
func newImporter(fset *token.FileSet) (types.Importer, error) {
	all, err := exports()
	if err != nil {
		return nil, err
	}
	return importer.ForCompiler(fset, "gc", func(importPath string) (io.ReadCloser, error) {
		l, ok := all[importPath]
		if !ok || l.Export == "" {
			return nil, fmt.Errorf("no export data of %s (it may not compile)", importPath)
		}
		return os.Open(l.Export)
	}), nil
}

func loadModule() ([]*sourcePackage, error) {
	fset := token.NewFileSet()
	byDir := map[string]*sourcePackage{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if base := d.Name(); base != "." && (base[0] == '.' || base[0] == '_' || base == "testdata") {
				return filepath.SkipDir
			}
			return nil
		case filepath.Ext(name) != ".go":
			return nil
		}
		name = filepath.ToSlash(name)
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		f, err := parseFile(fset, name, src)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		if byDir[dir] == nil {
			byDir[dir] = &sourcePackage{path: dir, fset: fset}
		}
		byDir[dir].files = append(byDir[dir].files, f)
		return nil
	})
	if err != nil {
		return nil, err
	}
	all, err := exports()
	if err != nil {
		return nil, err
	}
	imp, err := newImporter(fset)
	if err != nil {
		return nil, err
	}
	var pkgs []*sourcePackage
	for dir, p := range byDir {
		built := all[strings.TrimSuffix(modulePath+"/"+dir, "/.")].GoFiles
		p.check(imp, built)
		pkgs = append(pkgs, p)
	}
	slices.SortFunc(pkgs, func(a, b *sourcePackage) int { return strings.Compare(a.path, b.path) })
	return pkgs, nil
}

func parseFile(fset *token.FileSet, name string, src []byte) (*sourceFile, error) {
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &sourceFile{name: name, test: strings.HasSuffix(name, "_test.go"), generated: ast.IsGenerated(f), src: src, ast: f}, nil
}

// check finds the types of the files named by built, which are those that are no tests and are built on this machine.
func (p *sourcePackage) check(imp types.Importer, built []string) {
	var files []*ast.File
	for _, f := range p.files {
		if slices.Contains(built, path.Base(f.name)) {
			files = append(files, f.ast)
		}
	}
	p.info = &types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Defs:       map[*ast.Ident]types.Object{},
		Uses:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	if len(files) > 0 {
		cfg := types.Config{Importer: imp, FakeImportC: true}
		p.types, p.err = cfg.Check(modulePath+"/"+p.path, p.fset, files, p.info)
	}
}

// checkTypes reports a package that does not compile, since most rules then see only a part of it.
func checkTypes(p *sourcePackage) []finding {
	if p.err != nil {
		return []finding{{p.path, p.err.Error()}}
	}
	return nil
}

// sample makes a package of one synthetic file, for testing a rule against what it must find and what it must not.
func sample(t *testing.T, pkgPath, fileName, src string) *sourcePackage {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parseFile(fset, path.Join(pkgPath, fileName), []byte(src))
	if err != nil {
		t.Fatalf("the sample does not parse: %v", err)
	}
	imp, err := newImporter(fset)
	if err != nil {
		t.Fatal(err)
	}
	p := &sourcePackage{path: pkgPath, fset: fset, files: []*sourceFile{f}}
	p.check(imp, []string{fileName})
	return p
}
