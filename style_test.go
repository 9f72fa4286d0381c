package sallyport_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"strings"
)

// The longest that code may be, in lines.
const (
	maxFunctionLines = 70
	maxFileLines     = 500
	maxTestFileLines = 800
)

// checkPackageComment wants exactly one package comment in a package, on a file that is no test unless there are only
// tests.
func checkPackageComment(p *sourcePackage) (found []finding) {
	files := p.production()
	if len(files) == 0 {
		files = p.files
	}
	var with []*sourceFile
	for _, f := range files {
		if f.ast.Doc != nil && strings.TrimSpace(f.ast.Doc.Text()) != "" {
			with = append(with, f)
		}
	}
	if len(with) == 0 {
		return []finding{{p.path, "no file has a package comment"}}
	}
	for _, f := range with[1:] {
		found = append(found, p.at(f.ast.Package, "a second package comment, after that of %s", with[0].name))
	}
	return found
}

// checkFunctionLength leaves out generated files and tests.
func checkFunctionLength(p *sourcePackage) (found []finding) {
	for _, f := range p.files {
		if f.generated || f.test {
			continue
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := p.fset.Position(fn.End()).Line - p.fset.Position(fn.Pos()).Line + 1; n > maxFunctionLines {
				found = append(found, p.at(fn.Pos(), "%s has %d lines, at most %d are allowed", fn.Name.Name, n, maxFunctionLines))
			}
		}
	}
	return found
}

func checkFileLength(p *sourcePackage) (found []finding) {
	for _, f := range p.files {
		most := maxFileLines
		if f.test {
			most = maxTestFileLines
		}
		if n := bytes.Count(f.src, []byte{'\n'}); n > most && !f.generated {
			found = append(found, finding{f.name, fmt.Sprintf("the file has %d lines, at most %d are allowed", n, most)})
		}
	}
	return found
}
