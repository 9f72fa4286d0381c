package sallyport_test

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// pure packages take values and return values: what they answer depends on nothing else.
var pure = []string{"wire", "trade", "policy", "ledger", "dialect"}

// pureImports are the packages of the standard library that a pure package may import. It is a list of what is allowed,
// so that a new package of the standard library has to be thought about.
var pureImports = []string{
	"bytes", "cmp", "crypto/sha256", "embed", "encoding/base32", "encoding/binary", "encoding/hex", "errors", "fmt",
	"hash", "io", "iter", "maps", "math/big", "math/bits", "slices", "sort", "strconv", "strings", "time", "unicode",
	"unicode/utf16", "unicode/utf8",
}

// impureUses are names of the allowed packages that look at the world all the same, or that compute with floats.
var impureUses = map[string][]string{
	"time": {
		"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTimer", "NewTicker", "Timer", "Ticker",
		"Local", "LoadLocation", "LoadLocationFromTZData",
	},
	"fmt":      {"Print", "Println", "Printf", "Scan", "Scanln", "Scanf"},
	"math/big": {"Float", "NewFloat", "ParseFloat"},
	"strconv":  {"ParseFloat", "FormatFloat", "AppendFloat", "ParseComplex", "FormatComplex"},
}

// pureIO is all that a pure package may use of io: the words for the end of an input.
var pureIO = []string{"EOF", "ErrUnexpectedEOF"}

// checkPurity finds a clock, a file, the network, a goroutine, a channel, a lock, randomness and output in the pure
// packages.
func checkPurity(p *sourcePackage) (found []finding) {
	if !slices.Contains(pure, p.path) {
		return nil
	}
	files := p.production()
	for _, f := range files {
		for _, spec := range f.ast.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			first, _, _ := strings.Cut(name, "/")
			if standard := !strings.Contains(first, ".") && first != modulePath; standard && !slices.Contains(pureImports, name) {
				found = append(found, p.at(spec.Pos(), "a pure package imports %s", name))
			}
		}
	}
	walk(files, func(_ *sourceFile, n ast.Node) {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, p.at(n.Pos(), "a pure package starts a goroutine"))
		case *ast.ChanType, *ast.SendStmt, *ast.SelectStmt:
			found = append(found, p.at(n.Pos(), "a pure package has a channel"))
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				found = append(found, p.at(n.Pos(), "a pure package has a channel"))
			}
		case *ast.Ident:
			if what := impureUse(p.info.Uses[n]); what != "" {
				found = append(found, p.at(n.Pos(), "a pure package uses %s", what))
			}
		}
	})
	return found
}

// impureUse names what is used, if a pure package must not use it.
func impureUse(o types.Object) string {
	switch o := o.(type) {
	case nil:
		return ""
	case *types.Builtin:
		if o.Name() == "print" || o.Name() == "println" {
			return o.Name()
		}
		return ""
	}
	if o.Pkg() == nil {
		return ""
	}
	from := o.Pkg().Path()
	if from == "io" && o.Parent() == o.Pkg().Scope() && !slices.Contains(pureIO, o.Name()) {
		return "io." + o.Name()
	}
	if !slices.Contains(impureUses[from], o.Name()) {
		return ""
	}
	// time.Time has a method After, which is a comparison; its method Local reads the machine's time zone.
	if o.Parent() != o.Pkg().Scope() && o.Name() != "Local" {
		return ""
	}
	return from + "." + o.Name()
}

// checkFloats finds every expression whose type holds a float, in every package: money, quantities, times and counts
// are exact on the whole way of an order.
func checkFloats(p *sourcePackage) (found []finding) {
	walk(p.production(), func(_ *sourceFile, n ast.Node) {
		e, ok := n.(ast.Expr)
		if !ok {
			return
		}
		if lit, ok := n.(*ast.BasicLit); ok && (lit.Kind == token.FLOAT || lit.Kind == token.IMAG) {
			found = append(found, p.at(n.Pos(), "the literal %s is a float", lit.Value))
			return
		}
		var t types.Type
		if tv, ok := p.info.Types[e]; ok {
			t = tv.Type
		} else if id, ok := n.(*ast.Ident); ok && p.info.Defs[id] != nil {
			t = p.info.Defs[id].Type()
		}
		if t != nil && holdsFloat(t) {
			found = append(found, p.at(n.Pos(), "%s is a float", types.ExprString(e)))
		}
	})
	return found
}

func holdsFloat(t types.Type) bool {
	switch t := types.Unalias(t).Underlying().(type) {
	case *types.Basic:
		return t.Info()&(types.IsFloat|types.IsComplex) != 0
	case *types.Slice:
		return holdsFloat(t.Elem())
	case *types.Array:
		return holdsFloat(t.Elem())
	case *types.Chan:
		return holdsFloat(t.Elem())
	case *types.Map:
		return holdsFloat(t.Key()) || holdsFloat(t.Elem())
	case *types.Signature:
		return holdsFloat(t.Params()) || holdsFloat(t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			if holdsFloat(v.Type()) {
				return true
			}
		}
	}
	return false
}

// checkSetters finds the process-wide setters of the decimal library, in tests too: they would change every number in
// the process.
func checkSetters(p *sourcePackage) (found []finding) {
	walk(p.files, func(_ *sourceFile, n ast.Node) {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if name := sel.Sel.Name; name == "SetDefaultPrecision" || name == "SetDefaultParseMode" {
				found = append(found, p.at(n.Pos(), "calls %s, which changes every decimal in the process", name))
			}
		}
	})
	return found
}
