package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func target(harness string) Target {
	return Target{Harness: harness, Binary: "/usr/local/bin/sallyport"}
}

func harnesses() []string { return []string{"claude", "codex", "gemini", "qwen", "hermes"} }

// worst returns the worst severity and the texts that have it.
func worst(fs []Finding) (Severity, string) {
	s, texts := OK, []string(nil)
	for _, f := range fs {
		if f.Severity < s {
			s, texts = f.Severity, nil
		}
		if f.Severity == s {
			texts = append(texts, f.Text)
		}
	}
	return s, strings.Join(texts, "\n")
}

func TestPrintedSnippetIsArmed(t *testing.T) {
	for _, harness := range harnesses() {
		for _, binary := range []string{"/usr/local/bin/sallyport", "/opt/my tools/sallyport", `/opt/it's "q" $HOME/sallyport`, "/ü/sallyport"} {
			for _, dir := range []string{"", "/var/lib/sally port"} {
				for _, guards := range [][]Guard{nil, {{Match: "mcp__broker__*", Dialect: "alpaca"}, {Match: "mcp_a.b_c", Dialect: "alpaca"}, {Match: "mcp__x__get_*", Pass: true}}} {
					to := Target{Harness: harness, Binary: binary, DataDir: dir, Guards: guards}
					s, err := Print(to)
					if err != nil {
						t.Fatal(err)
					}
					found := Inspect(to, []byte(s.Text))
					if severity, texts := worst(found); severity == Fail {
						t.Errorf("%s, %s: %s\n%s", harness, binary, texts, s.Text)
					}
					okays := 0
					for _, f := range found {
						if f.Severity == OK {
							okays++
						}
					}
					if okays < 2 || s.File == "" || len(s.Notes) == 0 {
						t.Errorf("%s: %+v", harness, found)
					}
				}
			}
		}
	}
}

func TestPrintedJSONParsesAndIsWhatIsDocumented(t *testing.T) {
	want := map[string]string{
		"claude": `{"hooks":{"PreToolUse":[{"matcher":".*paper_place_order_[ab]","hooks":[{"type":"command","command":"/usr/bin/env","args":["SALLYPORT_TIER=2","/usr/local/bin/sallyport","hook","claude"],"timeout":5,"onFailure":"block"}]}],` +
			`"PostToolUse":[{"matcher":".*paper_place_order_[ab]","hooks":[{"type":"command","command":"/usr/bin/env","args":["SALLYPORT_TIER=2","/usr/local/bin/sallyport","hook","claude"],"timeout":5}]}],` +
			`"PostToolUseFailure":[{"matcher":".*paper_place_order_[ab]","hooks":[{"type":"command","command":"/usr/bin/env","args":["SALLYPORT_TIER=2","/usr/local/bin/sallyport","hook","claude"],"timeout":5}]}]}}`,
		"gemini": `{"hooks":{"BeforeTool":[{"matcher":".*paper_place_order_[ab]","hooks":[{"type":"command","name":"sallyport","command":"/usr/bin/env SALLYPORT_TIER=2 /usr/local/bin/sallyport hook gemini","timeout":5000}]}],` +
			`"AfterTool":[{"matcher":".*paper_place_order_[ab]","hooks":[{"type":"command","name":"sallyport","command":"/usr/bin/env SALLYPORT_TIER=2 /usr/local/bin/sallyport hook gemini","timeout":5000}]}]}}`,
		"qwen": `{"hooks":{"PreToolUse":[{"matcher":".*paper_place_order_[ab]","hooks":[{"type":"command","name":"sallyport","command":"/usr/bin/env SALLYPORT_TIER=2 /usr/local/bin/sallyport hook qwen","timeout":5,"failMode":"closed"}]}],` +
			`"PostToolUse":[{"matcher":".*paper_place_order_[ab]","hooks":[{"type":"command","name":"sallyport","command":"/usr/bin/env SALLYPORT_TIER=2 /usr/local/bin/sallyport hook qwen","timeout":5}]}],` +
			`"PostToolUseFailure":[{"matcher":".*paper_place_order_[ab]","hooks":[{"type":"command","name":"sallyport","command":"/usr/bin/env SALLYPORT_TIER=2 /usr/local/bin/sallyport hook qwen","timeout":5}]}]}}`,
	}
	for harness, w := range want {
		s, err := Print(target(harness))
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if err := json.Unmarshal([]byte(s.Text), &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(w), &b); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%s:\n%s", harness, s.Text)
		}
	}
}

// TestPrintedSnippetIsReadByTheRealParsers runs Python's own TOML and shell-word readers over the snippets.
func TestPrintedSnippetIsReadByTheRealParsers(t *testing.T) {
	needPython(t)
	const binary = `/opt/it's "q" \ dir/sallyport`
	texts := map[string]string{}
	for _, harness := range harnesses() {
		s, err := Print(Target{Harness: harness, Binary: binary, DataDir: "/d d"})
		if err != nil {
			t.Fatal(err)
		}
		texts[harness] = s.Text
	}
	input, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	const script = `
import json, shlex, sys
for harness, text in json.load(sys.stdin).items():
    if harness == "codex":
        try: import tomllib
        except ImportError: continue
        commands = [h["command"] for g in tomllib.loads(text)["hooks"].values() for e in g for h in e["hooks"]]
    elif harness == "hermes":
        commands = [l.split(":", 1)[1].strip()[1:-1].replace("''", "'") for l in text.splitlines() if l.strip().startswith("command:")]
    else:
        hooks = [h for g in json.loads(text)["hooks"].values() for e in g for h in e["hooks"]]
        commands = [h["command"] if "args" not in h else shlex.join([h["command"]] + h["args"]) for h in hooks]
    assert len(commands) >= 2, (harness, commands)
    for c in commands:
        assert shlex.split(c) == ["/usr/bin/env", "SALLYPORT_TIER=2", sys.argv[1], "hook", harness, "--data-dir", "/d d"], c
`
	cmd := exec.Command("python3", "-c", script, binary)
	cmd.Stdin = bytes.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, input)
	}
}

func needPython(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Fatal("python3 is needed to test the snippets with the parsers that harnesses use; install it")
	}
}

func TestPrintRefusesWhatCannotBePasted(t *testing.T) {
	for _, to := range []Target{
		{Harness: "cursor", Binary: "/bin/sallyport"},
		{Harness: "", Binary: "/bin/sallyport"},
		{Harness: "claude", Binary: "sallyport"},
		{Harness: "claude", Binary: ""},
		{Harness: "claude", Binary: "./sallyport"},
		{Harness: "claude", Binary: "/bin/sally\nport"},
		{Harness: "codex", Binary: "/bin/\u202esallyport"},
		{Harness: "hermes", Binary: "/bin/sallyport", DataDir: "data"},
	} {
		if s, err := Print(to); err == nil {
			t.Errorf("%+v was printed: %s", to, s.Text)
		}
		if severity, _ := worst(Inspect(to, []byte("{}"))); severity != Fail {
			t.Errorf("%+v was inspected", to)
		}
	}
}

// TestDisarmedSettingsAreFound takes the printed snippet, spoils one thing, and wants it found.
//
//attack:hook-harness-wait
//attack:hook-harness-wait-most
//fault:f27
func TestDisarmedSettingsAreFound(t *testing.T) {
	for _, c := range []struct {
		harness, old, new string
		want              Severity
		text              string
	}{
		// Claude Code
		{"claude", `"onFailure": "block"`, `"onFailure": "continue"`, Fail, `write "onFailure": "block"`},
		{"claude", `"onFailure": "block"`, `"x": 1`, Fail, `write "onFailure": "block"`},
		{"claude", `"onFailure": "block"`, `"onFailure": "refuse"`, Fail, "drops the whole file"},
		{"claude", `"timeout": 5,`, `"timeout": "five",`, Fail, "drops the whole file"},
		{"claude", `"timeout": 5,`, `"timeout": "5",`, Fail, "drops the whole file"},
		{"claude", `"timeout": 5,`, `"timeout": -5,`, Fail, "drops the whole file"},
		{"claude", `"timeout": 5,`, `"timeout": 0,`, Fail, "drops the whole file"},
		{"claude", `"timeout": 5,`, ``, Warn, "has no timeout"},
		{"claude", `"timeout": 5,`, `"timeout": 1,`, Fail, "timeout is 1000 milliseconds"},
		{"claude", `"timeout": 5,`, `"timeout": 2,`, Fail, "timeout is 2000 milliseconds"},
		{"claude", `"timeout": 5,`, `"timeout": 2.9,`, Fail, "timeout is 2000 milliseconds"},
		{"claude", `"timeout": 5,`, `"timeout": 600,`, Warn, "over 30 seconds"},
		{"claude", `"timeout": 5,`, `"timeout": 1e9,`, Fail, "not a number that can be read"},
		{"claude", `.*paper_place_order_[ab]`, `mcp__sallyport`, Fail, "is a plain word"},
		{"claude", `.*paper_place_order_[ab]`, `mcp__sallyport__paper_place_order_a`, Fail, "does not take mcp__sallyport__paper_place_order_b"},
		{"claude", `.*paper_place_order_[ab]`, `mcp__broker__.*`, Fail, "does not match it"},
		{"claude", `.*paper_place_order_[ab]`, `(`, Fail, "not a regular expression"},
		{"claude", `"matcher": ".*paper_place_order_[ab]"`, `"matcher": 7`, Fail, "drops the whole file"},
		{"claude", `"type": "command"`, `"type": "comand"`, Fail, "drops the whole file"},
		{"claude", `"type": "command"`, `"type": "http"`, Fail, `write "command"`},
		{"claude", `"/usr/local/bin/sallyport"`, `"sallyport"`, Fail, "depends on the directory"},
		{"claude", `"/usr/local/bin/sallyport"`, `"./bin/sallyport"`, Fail, "depends on the directory"},
		{"claude", `"/usr/local/bin/sallyport"`, `"/old/sallyport"`, Warn, "starts /old/sallyport, and this is"},
		{"claude", `"/usr/local/bin/sallyport"`, `"/usr/bin/true"`, Fail, "no PreToolUse hook starts sallyport"},
		{"claude", `"claude"`, `"codex"`, Fail, "does not run the command hook claude"},
		{"claude", `"hook",`, `"doctor",`, Fail, "does not run the command hook claude"},
		{"claude", `"SALLYPORT_TIER=2",`, ``, Warn, "sets no tier"},
		{"claude", `"SALLYPORT_TIER=2",`, `"SALLYPORT_TIER=1",`, Warn, "has tier 1"},
		{"claude", `"SALLYPORT_TIER=2",`, `"SALLYPORT_TIER=2", "SALLYPORT_TIER=0",`, Warn, "has tier 0"},
		{"claude", `"SALLYPORT_TIER=2",`, `"SALLYPORT_TIER=3",`, Warn, "which is none"},
		{"claude", `"SALLYPORT_TIER=2",`, `"SALLYPORT_TIER= 2",`, Warn, "which is none"},
		{"claude", `"SALLYPORT_TIER=2",`, `"sallyport_tier=2",`, Warn, "sets no tier"},
		{"claude", `"SALLYPORT_TIER=2",`, `"A=b", "SALLYPORT_TIER=2",`, OK, ""},
		{"claude", `"SALLYPORT_TIER=2",`, `"-i", "SALLYPORT_TIER=2",`, Fail, "no PreToolUse hook starts sallyport"},
		{"claude", `"SALLYPORT_TIER=2",`, `"SALLYPORT_TIER=2", "--",`, Fail, "no PreToolUse hook starts sallyport"},
		{"claude", `"/usr/bin/env"`, `"/usr/bin/nice"`, Fail, "no PreToolUse hook starts sallyport"},
		{"claude", `"timeout": 5,`, `"timeout": 5, "async": true,`, Fail, "does not wait"},
		{"claude", `"timeout": 5,`, `"timeout": 5, "if": "Bash(*)",`, Fail, "keeps the hook from some calls"},
		{"claude", `"timeout": 5,`, `"timeout": 5, "once": true,`, Fail, "keeps the hook from some calls"},
		{"claude", `"args": [`, `"args": [1,`, Fail, "drops the whole file"},
		{"claude", `"PreToolUse"`, `"preToolUse"`, Fail, "no PreToolUse hook"},
		{"claude", `"PostToolUse":`, `"PostToolUsed":`, Warn, "no PostToolUse hook"},
		{"claude", `"PostToolUseFailure"`, `"PostToolUseFail"`, Warn, "no PostToolUseFailure hook"},
		{"claude", `{`, `{"disableAllHooks": true,`, Fail, "disableAllHooks"},
		{"claude", `{`, `{"disableAllHooks": "false",`, OK, ""},
		{"claude", `{`, `{"allowManagedHooksOnly": true,`, Fail, "allowManagedHooksOnly"},
		{"claude", `{`, `{"permissions": {"allow": ["mcp__sallyport__paper_place_order_a"]},`, Fail, "allow rule"},
		{"claude", `{`, `{"permissions": {"allow": ["mcp__sallyport"]},`, Fail, "allow rule"},
		{"claude", `{`, `{"permissions": {"allow": ["mcp__sallyport__*"]},`, Fail, "allow rule"},
		{"claude", `{`, `{"permissions": {"allow": ["mcp__*"]},`, Fail, "allow rule"},
		{"claude", `{`, `{"permissions": {"allow": ["Read", "mcp__sallyport__trade_check"]},`, Warn, "--permission-mode dontAsk"},
		{"claude", `{`, `{"permissions": {"defaultMode": "bypassPermissions"},`, Fail, "bypassPermissions"},
		{"claude", `{`, `{"permissions": {"defaultMode": "dontAsk"},`, OK, ""},
		{"claude", `{`, `{"hooks": {},`, Fail, "given twice"},
		{"claude", `{`, `{// comment` + "\n", Fail, "cannot be read"},
		{"claude", `"hooks": {`, `"hooks": [`, Fail, "cannot be read"},
		{"claude", `"PreToolUse": [`, `"PreToolUse": [{"matcher":".*","hooks":[{"type":"command","command":"other"}]},`, Warn, "may change the order"},
		{"claude", `"PreToolUse": [`, `"PreToolUse": [{"matcher":".*"},`, Fail, "drops the whole file"},
		// Qwen Code and Gemini CLI
		{"qwen", `{`, `{"disableAllHooks": true,`, Fail, "disableAllHooks"},
		{"qwen", `"timeout": 5`, `"timeout": 1000`, Fail, "timeout is 1000 milliseconds"},
		{"qwen", `"timeout": 5`, `"timeout": 5000`, Warn, "Qwen Code makes the call when"},
		{"qwen", `{`, "{ // a comment\n /* and \n more */", Warn, "require_hook"},
		{"qwen", `/usr/local/bin/sallyport hook`, `cd /tmp && /usr/local/bin/sallyport hook`, Fail, "no PreToolUse hook starts sallyport"},
		{"qwen", `/usr/local/bin/sallyport hook`, `/usr/local/bin/sallyport hook || true; /usr/local/bin/sallyport hook`, Fail, "no PreToolUse hook starts sallyport"},
		{"gemini", `"timeout": 5000`, `"timeout": 5`, Fail, "timeout is 5 milliseconds"},
		{"gemini", `"timeout": 5000`, `"timeout": 60000`, Warn, "over 30 seconds"},
		{"gemini", `{`, `{"hooksConfig": {"enabled": false},`, Fail, "hooksConfig.enabled"},
		{"gemini", `{`, `{"hooksConfig": {"disabled": ["sallyport"]},`, Fail, "lists \"sallyport\""},
		{"gemini", `{`, `{"tools": {"enableHooks": false},`, Fail, "tools.enableHooks"},
		{"gemini", `"BeforeTool"`, `"PreToolUse"`, Fail, "no BeforeTool hook"},
		{"gemini", `"AfterTool"`, `"AfterTools"`, Warn, "no AfterTool hook"},
		{"gemini", `{`, `{`, Warn, "require_hook"},
		{"gemini", `/usr/bin/env SALLYPORT_TIER=2 `, ``, Warn, "sets no tier"},
		{"gemini", `/usr/bin/env SALLYPORT_TIER=2 `, `SALLYPORT_TIER=2 `, OK, ""},
		{"gemini", `/usr/bin/env SALLYPORT_TIER=2 `, `env SALLYPORT_TIER=2 `, OK, ""},
		{"gemini", `/usr/bin/env SALLYPORT_TIER=2 `, `SALLYPORT_TIER=$T `, Fail, "no BeforeTool hook starts sallyport"},
		// Codex
		{"codex", `timeout = 5`, `timeout = 1`, Fail, "timeout is 1000 milliseconds"},
		{"codex", `timeout = 5`, `timeout = "5"`, Fail, "not a number"},
		{"codex", `.*paper_place_order_[ab]`, `mcp__sallyport`, Fail, "is a plain word"},
		{"codex", `hooks.PermissionRequest`, `hooks.PermissionRequests`, Fail, "no PermissionRequest hook"},
		{"codex", `hooks.PostToolUse`, `hooks.PostToolUses`, Warn, "no PostToolUse hook"},
		{"codex", `# In`, "[mcp_servers.sallyport]\ncommand = \"x\"\n#", Fail, "default_tools_approval_mode"},
		{"codex", `# In`, "[mcp_servers.sallyport]\ndefault_tools_approval_mode = \"approve\"\n#", Fail, "default_tools_approval_mode"},
		{"codex", `# In`, "[mcp_servers.sallyport]\ndefault_tools_approval_mode = \"prompt\"\n[mcp_servers.sallyport.tools.paper_place_order_a]\napproval_mode = \"approve\"\n#", Fail, "another approval mode"},
		{"codex", `# In`, "[mcp_servers.sallyport]\ndefault_tools_approval_mode = \"prompt\"\n#", Warn, "/hooks"},
		{"codex", `# In`, "[features]\nhooks = false\n#", Fail, "features.hooks"},
		{"codex", `# In`, "x = \"\"\"\n", Fail, "cannot be read"},
		{"codex", `TIER=2 /usr/local/bin/sallyport hook codex"`, `TIER=2 sallyport hook codex"`, Fail, "depends on the directory"},
		{"codex", `/usr/bin/env SALLYPORT_TIER=2 `, ``, Warn, "sets no tier"},
		// Hermes
		{"hermes", `/usr/bin/env SALLYPORT_TIER=2 `, ``, Warn, "sets no tier"},
		{"hermes", `/usr/bin/env SALLYPORT_TIER=2 `, `SALLYPORT_TIER=2 `, Fail, "no pre_tool_call hook starts sallyport"},
		{"hermes", `fail_closed: true`, `fail_closed: false`, Fail, "fail_closed: true"},
		{"hermes", `fail_closed: true`, `fail_closed: "true"`, Fail, "fail_closed: true"},
		{"hermes", `fail_closed: true`, `failClosed: true`, OK, ""},
		{"hermes", "      fail_closed: true\n", "", Fail, "fail_closed: true"},
		{"hermes", `hooks_auto_accept: true`, `hooks_auto_accept: false`, Warn, "hooks_auto_accept"},
		{"hermes", `timeout: 5`, `timeout: 1`, Fail, "timeout is 1000 milliseconds"},
		{"hermes", `timeout: 5`, `timeout: 45`, Warn, "over 30 seconds"},
		{"hermes", `'.*paper_place_order_[ab]'`, `paper_place_order`, Fail, "does not match it"},
		{"hermes", `'.*paper_place_order_[ab]'`, `'*'`, Fail, "not a regular expression"},
		{"hermes", `'.*paper_place_order_[ab]'`, `mcp_.*`, Fail, "does not take paper_place_order_a"},
		{"hermes", `post_tool_call:`, `post_tool_calls:`, Warn, "no post_tool_call hook"},
		{"hermes", `hooks:`, `hook:`, Fail, "no hooks"},
		{"hermes", `hooks:`, "anchor: &a 1\nhooks:", Fail, "cannot be read"},
		{"hermes", `hooks:`, "hooks:\n  pre_tool_call: []\nhooks:", Fail, "set twice"},
		{"hermes", `hooks:`, "plugins:\n  disabled: [sallyport]\nhooks:", Fail, "plugins.disabled"},
	} {
		s, err := Print(target(c.harness))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(s.Text, c.old) {
			t.Fatalf("%s: the snippet has no %s", c.harness, c.old)
		}
		n := -1
		if c.old == "{" {
			n = 1
		}
		found := Inspect(target(c.harness), []byte(strings.Replace(s.Text, c.old, c.new, n)))
		severity, texts := worst(found)
		if c.want == OK {
			if severity == Fail {
				t.Errorf("%s: %s for %s is fine: %s", c.harness, c.new, c.old, texts)
			}
			continue
		}
		if severity != c.want || !strings.Contains(texts, c.text) {
			t.Errorf("%s: %s for %s: want %s %q, got %s\n%s", c.harness, c.new, c.old, c.want, c.text, severity, texts)
		}
		for _, f := range found {
			if strings.ContainsAny(f.Text, "\n\x1b") || f.Text == "" {
				t.Errorf("a finding that cannot be shown: %q", f.Text)
			}
		}
	}
}

func TestGuardedNamesOfTheOperatorMustReachTheHook(t *testing.T) {
	to := target("claude")
	s, err := Print(to)
	if err != nil {
		t.Fatal(err)
	}
	to.Guards = []Guard{{Match: "mcp__broker__place_order", Dialect: "alpaca"}}
	if severity, texts := worst(Inspect(to, []byte(s.Text))); severity != Fail || !strings.Contains(texts, "does not take mcp__broker__place_order") {
		t.Errorf("a guard that the settings do not know: %s %s", severity, texts)
	}
	// Beside guards of the operator's own, Sallyport's tools may stay with its own server.
	only := strings.ReplaceAll(s.Text, ".*paper_place_order_[ab]", "mcp__broker__.*")
	if severity, texts := worst(Inspect(to, []byte(only))); severity != Warn || !strings.Contains(texts, "own server alone") {
		t.Errorf("%s %s", severity, texts)
	}
	to.Guards = []Guard{{Match: "mcp__broker__*", Dialect: "alpaca"}}
	exact := strings.ReplaceAll(s.Text, ".*paper_place_order_[ab]", "mcp__broker__place_order")
	if severity, _ := worst(Inspect(to, []byte(exact))); severity != Fail {
		t.Error("a matcher that takes one name of a guarded prefix passed")
	}
}

func TestBinaryOfAnotherNameIsKnownByItsPath(t *testing.T) {
	for _, harness := range harnesses() {
		to := Target{Harness: harness, Binary: "/opt/sp-1.2"}
		s, err := Print(to)
		if err != nil {
			t.Fatal(err)
		}
		if severity, texts := worst(Inspect(to, []byte(s.Text))); severity == Fail {
			t.Errorf("%s: %s", harness, texts)
		}
	}
}

//fault:f27
func TestHookThatStartsNothingIsNotArmed(t *testing.T) {
	for _, harness := range harnesses() {
		to := Target{Harness: harness, Binary: "/old/sallyport"}
		s, err := Print(to)
		if err != nil {
			t.Fatal(err)
		}
		to.Binary = "/new/sallyport"
		for there, want := range map[bool]Severity{true: Warn, false: Fail} {
			to.Starts = func(path string) bool { return there && path == "/old/sallyport" }
			if severity, texts := worst(Inspect(to, []byte(s.Text))); severity != want || !strings.Contains(texts, "starts /old/sallyport, and") {
				t.Errorf("%s, there %v: %s", harness, there, texts)
			}
		}
	}
}

func TestHookOnAnotherDataDirectoryIsNoticed(t *testing.T) {
	const text = "another policy, other limits and another record"
	for _, c := range []struct {
		printed, looked, byDefault string
		noticed                    bool
	}{
		{"", "", "/home/a/.sallyport", false},
		{"/d", "/d", "/home/a/.sallyport", false},
		{"/d/", "/d", "/home/a/.sallyport", false},
		{"/home/a/.sallyport", "", "/home/a/.sallyport", false},
		{"/d", "/e", "/home/a/.sallyport", true},
		{"/d", "", "/home/a/.sallyport", true},
		{"", "/d", "/home/a/.sallyport", true},
		{"/d", "", "", true},
	} {
		for _, harness := range harnesses() {
			to := Target{Harness: harness, Binary: "/bin/sallyport", DataDir: c.printed}
			s, err := Print(to)
			if err != nil {
				t.Fatal(err)
			}
			to.DataDir, to.Default = c.looked, c.byDefault
			if _, texts := worst(Inspect(to, []byte(s.Text))); strings.Contains(texts, text) != c.noticed {
				t.Errorf("%s, %+v: %s", harness, c, texts)
			}
		}
	}
}

func TestHermesPluginNeedsNoShellHooks(t *testing.T) {
	for text, want := range map[string]Severity{
		"plugins:\n  enabled: [sallyport]\n":                                 OK,
		"plugins:\n  enabled:\n  - gate\n  - sallyport\nmodel: x\n":          OK,
		"plugins:\n  enabled: [sallyport]\nhooks:\n  on_session_start: []\n": OK,
		"plugins:\n  enabled: [sallyport]\n  disabled: [sallyport]\n":        Fail,
		"plugins:\n  enabled: [other]\n":                                     Fail,
		"plugins:\n  enabled: sallyport\n":                                   Fail,
		"":                                                                   Fail,
	} {
		if severity, texts := worst(Inspect(target("hermes"), []byte(text))); severity != want {
			t.Errorf("%q: %s %s", text, severity, texts)
		}
	}
}

func TestCodexHooksFileIsReadAsJSON(t *testing.T) {
	s, err := Print(target("qwen"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("hook qwen", "hook codex", "PostToolUseFailure", "PermissionRequest").Replace(s.Text)
	if severity, texts := worst(Inspect(target("codex"), []byte(text))); severity != Warn || !strings.Contains(texts, "mcp_servers.sallyport is not in this file") {
		t.Errorf("%s %s", severity, texts)
	}
}

//attack:hook-settings-bytes
//attack:hook-settings-depth
func TestSettingsAreBounded(t *testing.T) {
	for _, harness := range harnesses() {
		s, err := Print(target(harness))
		if err != nil {
			t.Fatal(err)
		}
		pad := strings.Repeat(" ", maxSettings-len(s.Text)-1) + "\n"
		if severity, texts := worst(Inspect(target(harness), []byte(s.Text+pad))); severity == Fail {
			t.Errorf("%s: exactly the limit: %s", harness, texts)
		}
		if severity, texts := worst(Inspect(target(harness), []byte(s.Text+pad+" "))); severity != Fail || !strings.Contains(texts, "over 1048576 bytes") {
			t.Errorf("%s: a byte over the limit: %s", harness, texts)
		}
	}
	deep := map[string]func(n int) string{
		"claude": func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) },
		"codex":  func(n int) string { return "a = " + strings.Repeat("[", n) + strings.Repeat("]", n) },
		"hermes": func(n int) string {
			var b strings.Builder
			for i := range n {
				b.WriteString(strings.Repeat(" ", i) + "a:\n")
			}
			return b.String()
		},
	}
	for harness, text := range deep {
		if _, texts := worst(Inspect(target(harness), []byte(text(5)))); strings.Contains(texts, "cannot be read") {
			t.Errorf("%s: five levels: %s", harness, texts)
		}
		if _, texts := worst(Inspect(target(harness), []byte(text(2000)))); !strings.Contains(texts, "cannot be read") {
			t.Errorf("%s: 2000 levels: %s", harness, texts)
		}
	}
}

func TestSettingsFilesOfOtherKindsAreNotGuessed(t *testing.T) {
	for _, harness := range harnesses() {
		for _, text := range []string{"\x00\x01", "<xml/>", "hooks", "[1]", "- a\n- b\n", "\xff\xfe{", "%YAML 1.2", "\t- x"} {
			if severity, _ := worst(Inspect(target(harness), []byte(text))); severity != Fail {
				t.Errorf("%s takes %q", harness, text)
			}
		}
	}
}

func TestReadersAgreeWithPythonsOwn(t *testing.T) {
	toml := `
a = "x \"y\" \\ \n" # comment
'b c' = 'lit\eral'
d.e = [1, 2, # in an array
  "three", ]
f = { g = true, h = "i" }
[t.u]
v = -5
[[w]]
x = 1
[[w]]
x = 2
[w.y]
z = "last"
`
	needPython(t)
	v, err := readTOML([]byte(toml))
	if err != nil {
		t.Fatal(err)
	}
	got := plainTree(v)
	script := `
import sys
try: import tomllib
except ImportError: sys.exit(3)
def tree(v):
    if isinstance(v, dict): return "{" + ",".join(k + "=" + tree(x) for k, x in v.items()) + "}"
    if isinstance(v, list): return "[" + ",".join(tree(x) for x in v) + "]"
    return str(v).lower() if isinstance(v, bool) else str(v)
sys.stdout.write(tree(tomllib.loads(sys.stdin.read())))
`
	cmd := exec.Command("python3", "-c", script)
	cmd.Stdin, cmd.Stderr = strings.NewReader(toml), os.Stderr
	want, err := cmd.Output()
	if cmd.ProcessState.ExitCode() == 3 {
		t.Skip("this Python has no tomllib")
	}
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
