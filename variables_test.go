package sallyport_test

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// checkInit finds init functions.
func checkInit(p *sourcePackage) (found []finding) {
	for _, f := range p.production() {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				found = append(found, p.at(fn.Pos(), "has an init function; wiring is done by hand in cmd/sallyport"))
			}
		}
	}
	return found
}

// checkVariables holds package-level variables to being constants in all but name. One of these it must be:
//
//   - blank, which asserts something to the compiler;
//   - an error made where it is declared;
//   - embedded by the compiler;
//   - unexported, no function, given its value where it is declared, and afterwards never assigned to, changed through
//     an index or a field, or lent out by its address.
func checkVariables(p *sourcePackage) (found []finding) {
	watched := map[types.Object]bool{}
	for _, f := range p.production() {
		for _, d := range f.ast.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok || gen.Tok != token.VAR {
				continue
			}
			for _, s := range gen.Specs {
				found = append(found, p.checkVariable(s.(*ast.ValueSpec), isEmbedded(gen, s.(*ast.ValueSpec)), watched)...)
			}
		}
	}
	walk(p.production(), func(_ *sourceFile, n ast.Node) {
		if o, how := p.change(n); watched[o] {
			found = append(found, p.at(n.Pos(), "%s the package-level variable %s", how, o.Name()))
		}
	})
	return found
}

func isEmbedded(gen *ast.GenDecl, spec *ast.ValueSpec) bool {
	for _, g := range []*ast.CommentGroup{gen.Doc, spec.Doc} {
		for i := 0; g != nil && i < len(g.List); i++ {
			if strings.HasPrefix(g.List[i].Text, "//go:embed ") {
				return true
			}
		}
	}
	return false
}

func (p *sourcePackage) checkVariable(spec *ast.ValueSpec, embedded bool, watched map[types.Object]bool) (found []finding) {
	for _, name := range spec.Names {
		o := p.info.Defs[name]
		if name.Name == "_" || o == nil || o.Type() == nil { // of a file that is not built here, or that has errors
			continue
		}
		watched[o] = true
		_, isFunc := o.Type().Underlying().(*types.Signature)
		switch {
		case embedded:
		case len(spec.Values) == 0:
			found = append(found, p.at(name.Pos(), "the package-level variable %s is declared without a value", name.Name))
		case isError(o.Type()):
		case name.IsExported():
			found = append(found, p.at(name.Pos(), "the package-level variable %s is exported; make it a function", name.Name))
		case isFunc:
			found = append(found, p.at(name.Pos(), "the package-level variable %s is a function value; declare a function", name.Name))
		case strings.Contains(o.Type().String(), "sync"):
			found = append(found, p.at(name.Pos(), "the package-level variable %s is shared state", name.Name))
		}
	}
	return found
}

func isError(t types.Type) bool {
	return types.Identical(t, types.Universe.Lookup("error").Type())
}

// change returns the variable that a node changes or lends out to be changed, and how.
func (p *sourcePackage) change(n ast.Node) (types.Object, string) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for _, left := range n.Lhs {
			if o := p.rootVariable(left); o != nil && n.Tok != token.DEFINE {
				return o, "assigns to"
			}
		}
	case *ast.IncDecStmt:
		return p.rootVariable(n.X), "counts"
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			return p.rootVariable(n.X), "takes the address of"
		}
	case *ast.CallExpr:
		if id, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 0 {
			if b, ok := p.info.Uses[id].(*types.Builtin); ok && (b.Name() == "delete" || b.Name() == "clear" || b.Name() == "copy") {
				return p.rootVariable(n.Args[0]), b.Name() + "s"
			}
		}
	case *ast.SelectorExpr:
		s := p.info.Selections[n]
		if s == nil || s.Kind() != types.MethodVal {
			return nil, ""
		}
		_, fromPointer := s.Recv().Underlying().(*types.Pointer)
		_, toPointer := s.Obj().Type().(*types.Signature).Recv().Type().(*types.Pointer)
		if toPointer && !fromPointer {
			return p.rootVariable(n.X), "calls a method on the address of"
		}
	}
	return nil, ""
}

// rootVariable returns the package-level variable at the root of x, x[i], x.f or *x, if it is one.
func (p *sourcePackage) rootVariable(e ast.Expr) types.Object {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.SelectorExpr:
			if o, ok := p.info.Uses[x.Sel].(*types.Var); ok && !o.IsField() {
				return o // another package's
			}
			e = x.X
		case *ast.Ident:
			if o, ok := p.info.Uses[x].(*types.Var); ok && o.Pkg() != nil && o.Parent() == o.Pkg().Scope() {
				return o
			}
			return nil
		default:
			return nil
		}
	}
}
