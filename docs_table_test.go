package sallyport_test

import (
	"encoding/json"
	"fmt"
	"go/constant"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestREADMETiersAreTheServers starts the server of the Model Context Protocol at each tier and compares the tools that it
// lists with the table in the README.
func TestREADMETiersAreTheServers(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(t.TempDir(), "home")
	runIn(t, home, "", "init")
	var want []string
	for tier := range 3 {
		row := regexp.MustCompile(fmt.Sprintf(`(?m)^\| %d [a-z ]+ \| (.*) \|$`, tier)).FindSubmatch(readme)
		if row == nil {
			t.Fatalf("the README has no row for tier %d", tier)
		}
		for _, m := range regexp.MustCompile("`([a-z_]+)`").FindAllSubmatch(row[1], -1) {
			want = append(want, string(m[1]))
		}
		got := listedTools(t, home, fmt.Sprint(tier))
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("tier %d lists %v, and the README says %v", tier, got, want)
		}
	}
	if got := listedTools(t, home, ""); len(got) == 0 || len(got) >= len(want) {
		t.Errorf("without a tier %d of %d tools are listed", len(got), len(want))
	}
}

// listedTools asks a server of that tier for its tools.
func listedTools(t *testing.T, home, tier string) (names []string) {
	t.Helper()
	said, _, end := askServer(t, home, `"method":"tools/list"`, "SALLYPORT_TIER="+tier)
	var answer struct {
		Result struct {
			Tools []struct{ Name string }
		}
	}
	if err := json.Unmarshal([]byte(said), &answer); err != nil {
		t.Fatalf("the server answers %q: %v", said, err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	for _, tool := range answer.Result.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// TestReasonsPageNamesEveryCode looks for every constant that is a code, in any package, on the page of reasons.
func TestReasonsPageNamesEveryCode(t *testing.T) {
	page, err := os.ReadFile("docs/reasons.md")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, p := range module(t) {
		for _, code := range codesOf(p) {
			count++
			if !strings.Contains(string(page), "\n| `"+code+"` | ") {
				t.Errorf("%s has the code %s, which docs/reasons.md does not have", p.path, code)
			}
		}
	}
	if count < 50 {
		t.Errorf("only %d codes were found", count)
	}
}

// codesOf returns the codes that a package declares.
func codesOf(p *sourcePackage) (codes []string) {
	if p.info == nil {
		return nil
	}
	for id, o := range p.info.Defs {
		c, ok := o.(*types.Const)
		if !ok || strings.HasSuffix(p.fset.Position(id.Pos()).Filename, "_test.go") || c.Val().Kind() != constant.String {
			continue
		}
		if name := c.Type().String(); name == "sallyport/trade.Code" {
			codes = append(codes, constant.StringVal(c.Val()))
		}
	}
	return codes
}

func TestCodesAreFound(t *testing.T) {
	p := sample(t, "gate", "sample.go", "package gate\n\nimport \"sallyport/trade\"\n\nconst (\n\tA trade.Code = \"A_B\"\n\tb = \"C_D\"\n)\n")
	if got := codesOf(p); p.err != nil || !slices.Equal(got, []string{"A_B"}) {
		t.Errorf("found %v (%v)", got, p.err)
	}
}
