package sallyport_test

import (
	"go/ast"
	"go/types"
	"path"
	"strings"
	"testing"
)

// checkPermits makes sure that a permit can come from gate's mint alone. The compiler already refuses a composite
// literal with the unexported field outside gate; what is left are ways that it takes.
func checkPermits(p *sourcePackage) (found []finding) {
	for _, f := range p.files {
		for _, g := range f.ast.Comments {
			for _, c := range g.List {
				if strings.HasPrefix(c.Text, "//go:linkname") {
					found = append(found, p.at(c.Pos(), "go:linkname reaches past what a package exports"))
				}
			}
		}
	}
	if p.path == "gate" {
		return append(found, p.checkMint()...)
	}
	mayHold := path.Dir(p.path) == "broker" || p.path == "gatetest"
	walk(p.production(), func(_ *sourceFile, n ast.Node) {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if isPermit(p.info.Types[n].Type) && len(n.Elts) > 0 {
				found = append(found, p.at(n.Pos(), "makes a gate.Permit"))
			}
		case *ast.Ident:
			if o, ok := p.info.Uses[n].(*types.TypeName); ok && !mayHold && isPermit(o.Type()) {
				found = append(found, p.at(n.Pos(), "names gate.Permit, which only gate and brokers have to do with"))
			}
		}
	})
	return found
}

func isPermit(t types.Type) bool { return isGateType(t, "Permit") }

func isGateType(t types.Type, name string) bool {
	if t == nil {
		return false
	}
	if ptr, ok := types.Unalias(t).(*types.Pointer); ok {
		t = ptr.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Name() == name && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == modulePath+"/gate"
}

// checkMint holds gate itself: permits and their clearances are made in mint only, and nothing that gate exports hands
// one out.
func (p *sourcePackage) checkMint() (found []finding) {
	for _, f := range p.production() {
		for _, d := range f.ast.Decls {
			fn, isFunc := d.(*ast.FuncDecl)
			inMint := isFunc && fn.Recv == nil && fn.Name.Name == "mint"
			ast.Inspect(d, func(n ast.Node) bool {
				lit, ok := n.(*ast.CompositeLit)
				if !ok || inMint || len(lit.Elts) == 0 {
					return true
				}
				if t := p.info.Types[lit].Type; isPermit(t) || isGateType(t, "clearance") {
					found = append(found, p.at(n.Pos(), "makes a permit outside mint"))
				}
				return true
			})
			if isFunc && fn.Name.IsExported() && fn.Type.Results != nil {
				for _, r := range fn.Type.Results.List {
					if isPermit(p.info.Types[r.Type].Type) {
						found = append(found, p.at(r.Pos(), "the exported %s hands out a permit", fn.Name.Name))
					}
				}
			}
		}
	}
	if p.types == nil {
		return found
	}
	for _, name := range p.types.Scope().Names() {
		o := p.types.Scope().Lookup(name)
		if o.Type() == nil { // it has errors
			continue
		}
		if v, ok := o.(*types.Var); ok && isPermit(v.Type()) {
			found = append(found, p.at(o.Pos(), "the variable %s keeps a permit", name))
		}
		if st, ok := o.Type().Underlying().(*types.Struct); ok {
			for f := range st.Fields() {
				if f.Exported() && isPermit(f.Type()) {
					found = append(found, p.at(f.Pos(), "the exported field %s.%s holds a permit", name, f.Name()))
				}
			}
		}
	}
	return found
}

// TestOnlyGateMakesPermits names the invariant; the rule "permits" holds every package to it.
//
//fault:f16
//fault:f121
func TestOnlyGateMakesPermits(t *testing.T) {
	seen := false
	for _, p := range module(t) {
		for _, f := range checkPermits(p) {
			t.Error(f)
		}
		if p.path == "gate" && p.types != nil {
			seen = p.types.Scope().Lookup("Permit") != nil && p.types.Scope().Lookup("mint") != nil
		}
	}
	if !seen {
		t.Error("gate has no Permit or no mint, so that the rule holds nothing")
	}
}
