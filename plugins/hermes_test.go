// Package plugins_test drives the plugins of harnesses from outside, with the binary that they call.
package plugins_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/mcp"
	"sallyport/trade"
)

// python returns the interpreter that the plugin is tested with. Without one the test fails: a plugin that nobody ran
// is not tested.
func python(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("python3 is needed to test the Hermes plugin; install it")
	}
	return path
}

// build makes the real binary.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sallyport")
	if out, err := exec.Command("go", "build", "-o", path, "sallyport/cmd/sallyport").CombinedOutput(); err != nil {
		t.Fatalf("building the binary: %v\n%s", err, out)
	}
	return path
}

func run(t *testing.T, tests []string, env ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, python(t), append([]string{"-m", "unittest", "-v"}, tests...)...)
	cmd.Dir = "hermes_test"
	cmd.Env = append(append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1"), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %v\n%s", tests, err, out)
	}
	return string(out)
}

func TestHermesPluginMeetsItsHostsContract(t *testing.T) {
	run(t, []string{"test_plugin.Contract", "test_plugin.Hooks", "test_plugin.Tools"})
}

func TestHermesPluginWithTheRealBinary(t *testing.T) {
	out := run(t, []string{"test_plugin.Real"}, "SALLYPORT_BINARY="+build(t))
	if strings.Contains(out, "skipped") {
		t.Errorf("a test was skipped:\n%s", out)
	}
}

var update = flag.Bool("update", false, "write plugins/hermes/tools.json anew")

// registered are the tools that the plugin brings: enough to trade, to propose, to look up what became of it, and to stop.
var registered = []string{
	"paper_place_order_a", "paper_place_order_b", "trade_check", "trade_policy_get", "trade_audit", "proposal_get", "trade_propose",
	"kill_switch_engage",
}

// TestHermesToolsAreThoseOfTheBinary compares the tools that the plugin registers with those that the binary has. The
// plugin carries a copy, since it may start nothing while it is registered.
func TestHermesToolsAreThoseOfTheBinary(t *testing.T) {
	type tool struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	table, err := mcp.New(mcp.Config{Gate: new(gate.Gate), Now: time.Now, Agent: "test", Tier: trade.TierExecute, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	var want []tool
	rows := table.List()
	for _, name := range registered {
		i := slices.IndexFunc(rows, func(row mcp.Tool) bool { return row.Name == name })
		if i < 0 {
			t.Fatalf("the binary has no tool %s", name)
		}
		want = append(want, tool{rows[i].Name, rows[i].Description, rows[i].Input})
	}
	text, err := json.MarshalIndent(want, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("hermes/tools.json", append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, got, found := strings.Cut(run(t, []string{"test_plugin.Schemas"}), "SCHEMAS ")
	got, _, _ = strings.Cut(got, "\n")
	if !found || compact(t, []byte(got)) != compact(t, text) {
		t.Errorf("plugins/hermes/tools.json is stale; go test ./plugins -update writes it anew\ngot  %s\nwant %s", got, text)
	}
}

func compact(t *testing.T, raw []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestHermesPluginTreeIsSmall(t *testing.T) {
	files, err := filepath.Glob("hermes/*")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(files, " "); got != "hermes/__init__.py hermes/plugin.yaml hermes/tools.json" {
		t.Errorf("the tree has %s", got)
	}
}
