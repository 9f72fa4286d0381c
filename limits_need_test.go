package sallyport_test

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sallyport/policy"
)

// limitName is how constants that bound something are called.
var limitName = regexp.MustCompile(`^[mM]ax([A-Z0-9]|$)|(Limit|Wait|Within|Deadline|Timeout|Expiry|Depth|Mode|Perm)$`)

// region is a part of a file that a limit directive stands above.
type region struct {
	file       *ast.File
	start, end token.Pos
	function   bool
}

// need looks for limits in the code that no directive covers.
type need struct {
	p       *sourcePackage
	regions []region
	named   map[types.Object]bool // constants that a directive covers
}

// checkLimits finds what must have a row of the ledger and has none:
//
//   - a constant number whose name says that it is a limit, or that is written in octal, as file modes are;
//   - the mode of a file or directory that is made;
//   - a duration of seconds or longer written in an expression, and a shorter one that a timer or a context is given;
//   - a bound on what is read, and a bound on a length.
//
// A constant is covered by a directive above it, or above a line that uses it. Anything else is covered by a directive
// above its line or its function, or by being a covered constant.
func checkLimits(p *sourcePackage) (found []finding) {
	if p.path == "gatetest" {
		return nil // for tests
	}
	n := &need{p: p, named: map[types.Object]bool{}}
	files := p.production()
	for _, f := range files {
		n.addRegions(f)
	}
	n.nameConstants(files)
	for _, f := range files {
		n.addGroups(f)
	}
	n.nameConstants(files)
	walk(files, func(f *sourceFile, node ast.Node) {
		if what := n.missing(f, node); what != "" {
			found = append(found, p.at(node.Pos(), "%s has no //limit: directive", what))
		}
	})
	return found
}

// nameConstants notes the constants that stand in a region.
func (n *need) nameConstants(files []*sourceFile) {
	walk(files, func(f *sourceFile, node ast.Node) {
		if id, ok := node.(*ast.Ident); ok {
			if c, ok := n.p.object(id).(*types.Const); ok && n.covers(f, id, false) {
				n.named[c] = true
			}
		}
	})
}

func (p *sourcePackage) object(id *ast.Ident) types.Object {
	if o := p.info.Defs[id]; o != nil {
		return o
	}
	return p.info.Uses[id]
}

func (n *need) addRegions(f *sourceFile) {
	for _, g := range f.ast.Comments {
		if node := covered(n.p.fset, f.ast, g); directives(g) > 0 && node != nil {
			if gen, ok := node.(*ast.GenDecl); ok && len(gen.Specs) > 1 {
				continue
			}
			_, isFunc := node.(*ast.FuncDecl)
			n.regions = append(n.regions, region{f.ast, node.Pos(), node.End(), isFunc})
		}
	}
}

// addGroups lets the directives above a group of declarations cover it, if there are as many of them as there are limits
// in it that have none of their own.
func (n *need) addGroups(f *sourceFile) {
	for _, g := range f.ast.Comments {
		gen, ok := covered(n.p.fset, f.ast, g).(*ast.GenDecl)
		if !ok || len(gen.Specs) < 2 {
			continue
		}
		open := 0
		for _, s := range gen.Specs {
			spec, ok := s.(*ast.ValueSpec)
			for i := 0; ok && i < len(spec.Names); i++ {
				if c, ok := n.p.info.Defs[spec.Names[i]].(*types.Const); ok && !n.named[c] && isLimitConst(c, spec, i) {
					open++
				}
			}
		}
		if directives(g) >= open {
			n.regions = append(n.regions, region{f.ast, gen.Pos(), gen.End(), false})
		}
	}
}

func directives(g *ast.CommentGroup) (count int) {
	for _, c := range g.List {
		if limitLine.MatchString(c.Text) {
			count++
		}
	}
	return count
}

// covers says whether a directive covers a node; functions says whether one above the whole function counts.
func (n *need) covers(f *sourceFile, node ast.Node, functions bool) bool {
	return slices.ContainsFunc(n.regions, func(r region) bool {
		return r.file == f.ast && r.start <= node.Pos() && node.End() <= r.end && (functions || !r.function)
	})
}

// missing names the limit that a node is, if nothing covers it.
func (n *need) missing(f *sourceFile, node ast.Node) string {
	switch x := node.(type) {
	case *ast.ValueSpec:
		for i, name := range x.Names {
			c, ok := n.p.info.Defs[name].(*types.Const)
			if ok && !n.named[c] && !n.covers(f, name, true) && isLimitConst(c, x, i) {
				return "the constant " + name.Name
			}
		}
	case *ast.CallExpr:
		if what, arg := n.boundingCall(x); what != "" && !n.covers(f, x, true) && !n.isNamed(arg) {
			return what
		}
	case *ast.SelectorExpr:
		if n.isTimeUnit(x) && !n.covers(f, x, true) && !n.harmlessUnit(f, x) {
			return "the duration of " + types.ExprString(x)
		}
	case *ast.BinaryExpr:
		if bound := n.lengthBound(x); bound != nil && !n.covers(f, x, true) {
			return "the length compared with " + types.ExprString(bound)
		}
	case *ast.CompositeLit:
		if t := n.p.info.Types[x].Type; t != nil && strings.HasSuffix(t.String(), modulePath+"/wire.Limits") && !n.covers(f, x, true) {
			for _, e := range x.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					e = kv.Value
				}
				if lit, ok := e.(*ast.BasicLit); ok && lit.Value != "0" && lit.Value != "1" { // a scalar, a flat object
					return "the limit " + lit.Value + " of what is read"
				}
			}
		}
	}
	return ""
}

func isLimitConst(c *types.Const, spec *ast.ValueSpec, i int) bool {
	if c.Val().Kind() != constant.Int && c.Val().Kind() != constant.Float {
		return false
	}
	if i >= len(spec.Values) || usesIota(spec.Values[i]) {
		return false // one of an enumeration
	}
	if lit, ok := spec.Values[i].(*ast.BasicLit); ok && isOctal(lit) {
		return true
	}
	return limitName.MatchString(c.Name())
}

func usesIota(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == "iota"
		return !found
	})
	return found
}

func isOctal(lit *ast.BasicLit) bool {
	return lit.Kind == token.INT && len(lit.Value) > 2 && lit.Value[0] == '0' && strings.ContainsAny(lit.Value[1:2], "oO01234567")
}

// boundingCall recognises a call that sets a file's mode or bounds a reading, and the argument that says how.
func (n *need) boundingCall(call *ast.CallExpr) (what string, arg ast.Expr) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return "", nil
	}
	last := call.Args[len(call.Args)-1]
	o := n.p.info.Uses[sel.Sel]
	if o == nil || o.Pkg() == nil {
		return "", nil
	}
	switch o.Pkg().Path() + "." + o.Name() {
	case "os.OpenFile", "os.Mkdir", "os.MkdirAll", "os.WriteFile", "os.Chmod", "syscall.Umask":
		if tv := n.p.info.Types[last]; tv.Value != nil && constant.Sign(tv.Value) == 0 {
			return "", nil // nothing is made
		}
		return "the mode given to " + types.ExprString(call.Fun), last
	case "os.Create": // os.CreateTemp and os.MkdirTemp make what is private
		return "the mode that " + types.ExprString(call.Fun) + " makes", nil
	case "io.LimitReader", "io.CopyN", "bufio.Buffer":
		return "the bound given to " + types.ExprString(call.Fun), last
	}
	return "", nil
}

// isNamed says whether an expression is made of a covered constant, perhaps one more or converted.
func (n *need) isNamed(e ast.Expr) (named bool) {
	if e == nil {
		return false
	}
	ast.Inspect(e, func(x ast.Node) bool {
		if id, ok := x.(*ast.Ident); ok {
			if o := n.p.info.Uses[id]; n.named[o] || o != nil && o.Pkg() != nil && o.Pkg() != n.p.types && limitName.MatchString(o.Name()) {
				named = true
			}
		}
		return !named
	})
	return named
}

func (n *need) isTimeUnit(sel *ast.SelectorExpr) bool {
	o := n.p.info.Uses[sel.Sel]
	return o != nil && o.Pkg() != nil && o.Pkg().Path() == "time" && o.Parent() == o.Pkg().Scope() &&
		slices.Contains([]string{"Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour"}, o.Name())
}

// harmlessUnit says that a unit of time is a divisor, a rounding, or in a constant that has its own rule.
func (n *need) harmlessUnit(f *sourceFile, unit *ast.SelectorExpr) (harmless bool) {
	bounding := false
	ast.Inspect(f.ast, func(node ast.Node) bool {
		if node == nil || harmless || node.Pos() > unit.Pos() || node.End() < unit.End() {
			return false
		}
		switch x := node.(type) {
		case *ast.GenDecl:
			harmless = x.Tok == token.CONST
		case *ast.BinaryExpr:
			harmless = (x.Op == token.QUO || x.Op == token.REM) && x.Y == unit
		case *ast.CallExpr:
			if sel, ok := x.Fun.(*ast.SelectorExpr); ok {
				harmless = sel.Sel.Name == "Round" || sel.Sel.Name == "Truncate"
				bounding = bounding || boundingTimer.MatchString(sel.Sel.Name)
			}
		}
		return !harmless
	})
	return harmless || !bounding && !slices.Contains(longUnits, unit.Sel.Name)
}

var (
	longUnits     = []string{"Second", "Minute", "Hour"}
	boundingTimer = regexp.MustCompile(`^(WithTimeout|WithDeadline|AfterFunc|NewTimer|Set(Read|Write)?Deadline)`)
)

// lengthBound returns the number that an upper bound on a length compares with.
func (n *need) lengthBound(x *ast.BinaryExpr) ast.Expr {
	length, bound := x.X, x.Y
	switch x.Op {
	case token.LSS, token.LEQ:
		length, bound = bound, length
	case token.GTR, token.GEQ:
	default:
		return nil
	}
	lit, ok := bound.(*ast.BasicLit)
	if !ok || lit.Kind != token.INT {
		return nil
	}
	if v, err := strconv.ParseInt(lit.Value, 0, 64); err != nil || v <= 2 {
		return nil
	}
	isLength := false
	ast.Inspect(length, func(node ast.Node) bool {
		if call, ok := node.(*ast.CallExpr); ok {
			switch types.ExprString(call.Fun) {
			case "len", "utf8.RuneCountInString", "utf8.RuneCount":
				isLength = true
			}
		}
		return !isLength
	})
	if isLength {
		return bound
	}
	return nil
}

// TestEveryLimitInTheCodeHasARow is the completeness of the ledger.
func TestEveryLimitInTheCodeHasARow(t *testing.T) {
	for _, p := range module(t) {
		for _, f := range checkLimits(p) {
			t.Error(f)
		}
	}
}

// checkTransitions finds the methods of ledger.State that take an event and have no directive: each is a transition, and
// says which states it leaves alone.
func checkTransitions(p *sourcePackage) (found []finding) {
	if p.path != "ledger" || p.types == nil {
		return nil
	}
	event, ok := p.types.Scope().Lookup("Event").(*types.TypeName)
	if !ok {
		return []finding{{p.path, "there is no type Event"}}
	}
	iface, ok := event.Type().Underlying().(*types.Interface)
	if !ok {
		return []finding{{p.path, "Event is no interface"}}
	}
	for _, f := range p.production() {
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(funcName(fn), "State.") || fn.Name.Name == "Apply" || fn.Doc != nil && directives(fn.Doc) > 0 {
				continue
			}
			for _, param := range fn.Type.Params.List {
				if t := p.info.Types[param.Type].Type; t != nil && types.Implements(t, iface) {
					found = append(found, p.at(fn.Pos(), "the transition %s has no //limit: directive", fn.Name.Name))
				}
			}
		}
	}
	return found
}

// TestEveryTransitionHasARow holds the ledger's state machine to the ledger of limits.
func TestEveryTransitionHasARow(t *testing.T) {
	for _, p := range module(t) {
		for _, f := range checkTransitions(p) {
			t.Error(f)
		}
	}
}

// ruleWithoutRow returns the codes of policy rules that no limit of the package policy names.
func ruleWithoutRow(codes []string, limits []limitRow) (without []string) {
	for _, code := range codes {
		if !slices.ContainsFunc(limits, func(r limitRow) bool { return r.pkg == "policy" && strings.Contains(r.text, code) }) {
			without = append(without, code)
		}
	}
	return without
}

// TestEveryPolicyRuleHasARow compares the published table of rules with the ledger: a rule's limit names its code.
func TestEveryPolicyRuleHasARow(t *testing.T) {
	var codes []string
	for _, r := range policy.Rules() {
		codes = append(codes, string(r.Code))
	}
	if len(codes) == 0 {
		t.Fatal("the policy has no rules")
	}
	for _, code := range ruleWithoutRow(codes, scanModule(t).limits) {
		t.Errorf("no //limit: in policy names the code %s", code)
	}
}

func TestRuleOrTransitionWithoutARowIsFound(t *testing.T) {
	rows := []limitRow{{pkg: "policy", text: "Too much is denied: A_CODE."}, {pkg: "gate", text: "B_CODE."}}
	if got := ruleWithoutRow([]string{"A_CODE", "B_CODE"}, rows); !slices.Equal(got, []string{"B_CODE"}) {
		t.Errorf("the rules without a row are %v", got)
	}
	const types = "type Event interface{ Kind() string }\ntype Sent struct{}\nfunc (Sent) Kind() string { return \"\" }\ntype State struct{}\n"
	open := sample(t, "ledger", "sample.go", "package ledger\n\n"+types+"func (s *State) sent(e Sent) {}\n")
	if found := checkTransitions(open); !contains(found, "the transition sent") {
		t.Errorf("found %v (%v)", found, open.err)
	}
	covered := sample(t, "ledger", "sample.go", "package ledger\n\n"+types+"//limit:ledger-sent Once.\nfunc (s *State) sent(e Sent) {}\nfunc (s *State) other(n int) {}\n")
	if found := checkTransitions(covered); len(found) > 0 || covered.err != nil {
		t.Errorf("found %v (%v)", found, covered.err)
	}
}
