package sallyport_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestLibcIsTheOneThatSQLiteWasMadeFor holds modernc.org/libc to the version that modernc.org/sqlite's own go.mod names.
// The generated code of the one is written against the other, and its authors support no other pair.
func TestLibcIsTheOneThatSQLiteWasMadeFor(t *testing.T) {
	goMod := goList(t, "{{.GoMod}}", "modernc.org/sqlite")
	demands, err := os.ReadFile(goMod)
	if err != nil {
		t.Fatalf("the go.mod of modernc.org/sqlite: %v", err)
	}
	want := requirement(string(demands), "modernc.org/libc")
	if want == "" {
		t.Fatalf("%s does not require modernc.org/libc", goMod)
	}
	if got := goList(t, "{{.Version}}", "modernc.org/libc"); got != want {
		t.Errorf("modernc.org/libc is at %s, and modernc.org/sqlite demands %s", got, want)
	}
}

func goList(t *testing.T, format, mod string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", format, mod).Output()
	if err != nil {
		t.Fatalf("go list -m %s: %v", mod, err)
	}
	return strings.TrimSpace(string(out))
}

// requirement returns the version that the text of a go.mod file requires of a module, or "".
func requirement(goMod, mod string) string {
	m := regexp.MustCompile(`(?m)^\s*(?:require\s+)?` + regexp.QuoteMeta(mod) + `\s+(\S+)`).FindStringSubmatch(goMod)
	if m == nil {
		return ""
	}
	return m[1]
}

func TestRequirementReadsBothFormsOfGoMod(t *testing.T) {
	for text, want := range map[string]string{
		"module a\n\nrequire example.com/b v1.2.3\n":               "v1.2.3",
		"module a\n\nrequire (\n\texample.com/b v1.0.0 // x\n)\n":  "v1.0.0",
		"module a\n\nrequire (\n\texample.com/bc v1.0.0 // x\n)\n": "",
		"module example.com/b\n":                                   "",
	} {
		if got := requirement(text, "example.com/b"); got != want {
			t.Errorf("%q requires %q, want %q", text, got, want)
		}
	}
}

// TestEveryDirectDependencyIsExplained compares go.mod with the headings of docs/dependencies.md, in both directions.
func TestEveryDirectDependencyIsExplained(t *testing.T) {
	direct := directDependencies(t)
	doc, err := os.ReadFile("docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	var explained []string
	for _, m := range regexp.MustCompile("(?m)^### `([^`]+)`$").FindAllStringSubmatch(string(doc), -1) {
		explained = append(explained, m[1])
	}
	for _, d := range direct {
		if !slices.Contains(explained, d) {
			t.Errorf("docs/dependencies.md has no heading ### `%s`: what it does, why not the standard library, what was compared", d)
		}
	}
	for _, e := range explained {
		if !slices.Contains(direct, e) {
			t.Errorf("docs/dependencies.md explains %s, which go.mod does not require directly", e)
		}
	}
	for mod := range outside {
		if !slices.Contains(direct, mod) {
			t.Errorf("the table of modules names %s, which go.mod does not require directly", mod)
		}
	}
}

// directDependencies are the modules that go.mod requires without "// indirect", and those of its tools.
func directDependencies(t *testing.T) []string {
	t.Helper()
	direct := goModTools(t)
	for mod, indirect := range goModRequires(t) {
		if !indirect && !slices.Contains(direct, mod) {
			direct = append(direct, mod)
		}
	}
	slices.Sort(direct)
	return direct
}

// goMod is what `go mod edit -json` says of go.mod.
type goMod struct {
	Require []struct {
		Path     string
		Indirect bool
	}
	Tool []struct{ Path string }
}

func readGoMod(t *testing.T) (mod goMod) {
	t.Helper()
	out, err := exec.Command("go", "mod", "edit", "-json").Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	return mod
}

// goModRequires maps each required module to whether it is called indirect.
func goModRequires(t *testing.T) map[string]bool {
	t.Helper()
	requires := map[string]bool{}
	for _, r := range readGoMod(t).Require {
		requires[r.Path] = r.Indirect
	}
	return requires
}

// goModTools are the modules of the tools.
func goModTools(t *testing.T) (mods []string) {
	t.Helper()
	required := goModRequires(t)
	for _, tool := range readGoMod(t).Tool {
		if mod, ok := moduleOf(tool.Path, required); ok {
			mods = append(mods, mod)
		}
	}
	return mods
}

// TestModuleFileNamesWhatIsImported holds go.mod to the sources, tests included: what they import is required directly,
// and what is required directly is imported or is a tool.
func TestModuleFileNamesWhatIsImported(t *testing.T) {
	used := map[string]bool{}
	for _, p := range module(t) {
		for _, f := range p.files {
			for _, spec := range f.ast.Imports {
				name, _ := strconv.Unquote(spec.Path.Value)
				used[name] = true
			}
		}
	}
	required := goModRequires(t)
	for name := range used {
		first, _, _ := strings.Cut(name, "/")
		if !strings.Contains(first, ".") || first == modulePath {
			continue
		}
		mod, ok := moduleOf(name, required)
		if !ok {
			t.Errorf("%s is imported and go.mod requires no module that has it", name)
		} else if required[mod] {
			t.Errorf("%s is imported and go.mod calls %s indirect", name, mod)
		}
	}
	for mod, indirect := range required {
		if indirect {
			continue
		}
		imported := slices.ContainsFunc(slices.Collect(maps.Keys(used)), func(name string) bool {
			m, ok := moduleOf(name, required)
			return ok && m == mod
		})
		if !imported && !slices.Contains(goModTools(t), mod) {
			t.Errorf("go.mod requires %s directly and nothing imports it", mod)
		}
	}
}

// moduleOf returns the module, of those in required, that has a package: the one with the longest path.
func moduleOf(name string, required map[string]bool) (found string, ok bool) {
	for mod := range required {
		if (name == mod || strings.HasPrefix(name, mod+"/")) && len(mod) > len(found) {
			found, ok = mod, true
		}
	}
	return found, ok
}
